"""What the views show, as plain Python: no module here imports Qt."""
