"""The desktop program and the command line."""

import app.cli.interrupts  # noqa: F401  the first line of the program: from here on Ctrl+C is one line
