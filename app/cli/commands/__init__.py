"""One file a command of the command line; `app.cli.main` loads them by name when they are asked for."""
