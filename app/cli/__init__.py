"""The command line: `main` begins, `root` finds a command, `commands/` has one file each."""
