"""Who to blame: the user's source line, for a GraphError once something went wrong, and of every op."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

from compiler.errors import GraphError, Location

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_P = ParamSpec("_P")
_R = TypeVar("_R")
BUILDERS: dict[str, Callable[..., Any]] = {}
"""By name, for what lies below the builders and adds ops all the same: Value."""


def user_location() -> Location | None:
    """The first stack frame outside the compiler package, or None when the whole stack is ours."""
    frame = sys._getframe(1)
    while frame is not None:
        if not os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
            return Location(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def user_place() -> tuple[str, int]:
    """The same as a plain file and line, fast: it is asked for with every op of a graph."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def fail(message: str) -> NoReturn:
    """Raise a GraphError that points at the user's line."""
    raise GraphError(message, user_location())


def located(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function add the user's line to any GraphError that comes out of it without one."""

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except GraphError as error:
            if error.location is None:
                error.location = user_location()
            raise

    return wrapper


def builder(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`located` for op builders, where an argument of a wrong kind or number is a GraphError too."""
    placed = located(function)

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return placed(*args, **kwargs)
        except (TypeError, ValueError, OverflowError) as error:
            reason = " ".join(str(error).split())
            raise GraphError(f"{function.__name__}: wrong argument: {reason}", user_location()) from error

    BUILDERS[function.__name__] = wrapper
    return wrapper
