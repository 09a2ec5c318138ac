"""What a command has begun before the rest of it is loaded: a sweep's process that loads the compiler.

Loading it takes longer than all that a sweep does before its first cell. It is a fork of the program, of which the
command line is not a part yet.
"""

from __future__ import annotations

from app.cli.interrupts import is_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from compiler.processes.nursery import Nursery

_COMPILES_NOTHING = {"-h", "--help", "--table", "--scheduler"}
"""Options with which no process here compiles anything."""
_begun: list[Nursery] = []


def begin(arguments: Sequence[str]) -> None:
    """Begin what a command of these words will want."""
    words = {word.partition("=")[0] for word in arguments}
    if arguments[:1] == ["sweep"] and not words & _COMPILES_NOTHING:
        _begun.append(_loading())


def sweep_nursery() -> Nursery:
    """A process that loads the compiler for a sweep: the one that was begun, or one that begins now."""
    return _begun.pop() if _begun else _loading()


def _loading() -> Nursery:
    from compiler.collector_pauses import rare_collection

    with rare_collection():
        from compiler.processes.nursery import Nursery

    nursery = Nursery("app.sweep.child", keep_methods=True)
    nursery.start(fork=is_program())
    return nursery
