"""The `kernelglass` command: what takes longest begins, and only then the command line is loaded."""

from __future__ import annotations

import sys

from app.cli import interrupts

TYPE_CHECKING = False  # typing's own takes a moment to load, in which nothing has begun
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; as the program itself, end with it."""
    if arguments is None and interrupts.is_program():
        return interrupts.run_program(_program)
    from app.cli.root import run

    return run(arguments)


def _program() -> int:
    from app.cli import head_start

    head_start.begin(sys.argv[1:])
    head_start.load_sooner(sys.argv[1:])
    from app.cli.root import run

    status = run(None)
    head_start.loaded()
    return status


if __name__ == "__main__":
    sys.exit(main())
