"""The command line: `main` finds a command, `commands/` has one file each."""
