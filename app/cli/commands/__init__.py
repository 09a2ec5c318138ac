"""One file a command of the command line; `app.cli.root` loads them by name when they are asked for."""
