"""One file a view: widgets that are given their model and emit what the user wants."""
