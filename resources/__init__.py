"""What ships beside the code: sample graphs. Read as files, never imported."""
