"""What a command does before the rest of it is loaded, as loading is most of what short ones do.

A sweep begins a process that loads the compiler, which takes longer than all that a sweep does before its first cell;
or, where a cluster compiles, one that loads what reads sources, while the command loads Dask. Either is a fork of the
program, of which the command line is not a part yet. Other commands load the compiler themselves, as such a process
does: methods of records are there once they are called (`compiler/processes/record_methods.py`), operations once one
of a kind is made, their formats once one is printed.
"""

from __future__ import annotations

import sys

from app.cli.interrupts import is_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from compiler.processes.nursery import Nursery

_DOES_NOTHING = {"-h", "--help", "--table"}
"""Options with which no cell is done."""
_SPREADS = "--scheduler"
"""The option with which a cluster does them."""
_DASKS = frozenset({"dask", "distributed"})
"""Packages whose records are made as ours are where a command does nothing with Dask but send cells."""
_LOAD_LITTLE = {"samples", "completion", "cache", "cluster", "sweep", "export", "--version", "-h", "--help"}
"""Words of commands that make few records themselves."""
_begun: list[Nursery] = []


def begin(arguments: Sequence[str]) -> None:
    """Begin what a command of these words will want."""
    if arguments[:1] == ["sweep"] and not _options(arguments) & _DOES_NOTHING:
        _begun.append(_loading(spread=_SPREADS in _options(arguments)))


def _options(arguments: Sequence[str]) -> set[str]:
    """The words of a command, options without their values."""
    return {word.partition("=")[0] for word in arguments}


def load_sooner(arguments: Sequence[str]) -> None:
    """Load what a command of these words will want in less time; nothing else is different for it."""
    spreads = arguments[:1] == ["sweep"] and _SPREADS in _options(arguments)
    if (_LOAD_LITTLE.intersection(arguments[:1]) and not spreads) or {"-h", "--help"}.intersection(arguments):
        return
    from compiler.collector_pauses import rare_collection

    with rare_collection():
        from compiler.processes import own_program
        from compiler.processes.record_methods import OURS, MethodsWhenCalled

        MethodsWhenCalled(__name__, OURS | _DASKS if spreads else OURS)
        own_program.operations_later = True


def loaded() -> None:
    """The command has ended: leave to the next what helps it to load sooner."""
    methods = sys.modules.get("compiler.processes.record_methods")
    if methods is not None:
        methods.keep_called()


def sweep_nursery(spread: bool = False) -> Nursery:
    """A process that loads what a sweep needs here, `spread` over a cluster or not: the one that was begun, or one that
    begins now."""
    return _begun.pop() if _begun else _loading(spread)


def _loading(spread: bool) -> Nursery:
    from compiler.collector_pauses import rare_collection

    with rare_collection():
        from compiler.processes.nursery import Nursery

    nursery = Nursery("app.sweep.packing" if spread else "app.sweep.child", keep_methods=True)
    nursery.start(fork=is_program())
    return nursery
