"""The language put together: what each kind of syntax means, how each value is called, the names every kernel knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from compiler.errors import KernelError, Location
from compiler.language.builtins import BUILTINS
from compiler.language.builtins.registry import Builtin, call_builtin
from compiler.language.context import Host
from compiler.language.syntax.branches import branch
from compiler.language.syntax.calls import CALLS
from compiler.language.syntax.expressions import EXPRESSIONS
from compiler.language.syntax.loops import loop
from compiler.language.syntax.run import Language, Run
from compiler.language.syntax.statements import STATEMENTS
from compiler.language.values.dtypes import LANGUAGE_DTYPES

_LANGUAGE = Language(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    branch=branch,
    loop=loop,
    calls=CALLS | {Builtin: call_builtin},
    names={**LANGUAGE_DTYPES, **BUILTINS},
)


def interpret(host: Host) -> Run:
    """A new elaboration."""
    return Run(_LANGUAGE, host)


@contextmanager
def at_compile_time(
    file: str, line: int, *, value: str, calls: str = "", find: Callable[[str], Any] = lambda name: None
) -> Iterator[Run]:
    """An elaboration of what is known at compile time: functions are found, but nothing is emitted (`value` says what
    is computed) nor instantiated (`calls` says what may be called). An error without a place is at the line in hand."""
    run = interpret(_Refusing(calls or value, lookup=find, hint=lambda name, file: ""))  # pyright: ignore[reportArgumentType]
    run.b = _Refusing(value, file="", line=0, provenance=0, scopes=())  # pyright: ignore[reportAttributeAccessIssue]
    run.file = file
    try:
        yield run
    except KernelError as problem:
        if problem.location is None:
            problem.location = run.where() if run.node is not None else Location(file, line, 1)
        raise


class _Refusing:
    """Stands in for a builder or an elaborator: it has this much, and whatever else is asked of it is an error."""

    def __init__(self, why: str, **has: Any) -> None:
        self.__dict__.update(has)
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise KernelError(self._why)
