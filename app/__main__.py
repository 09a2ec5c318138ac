"""`python -m app` is the `kernelglass` command."""

import sys

from app.cli.main import main

sys.exit(main())
