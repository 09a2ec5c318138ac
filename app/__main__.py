"""`python -m app` is the `kernelglass` command."""

import sys

from app.cli import main

sys.exit(main())
