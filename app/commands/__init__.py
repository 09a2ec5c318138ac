"""One file a command of the command line; `app.cli` loads them by name when they are asked for."""
