"""Who to blame: the user's source line for a GraphError, looked up only once something went wrong."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from compiler.errors import GraphError, Location

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_P = ParamSpec("_P")
_R = TypeVar("_R")


def user_location() -> Location | None:
    """The first stack frame outside the compiler package, or None when the whole stack is ours."""
    frame = sys._getframe(1)
    while frame is not None:
        if not os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
            return Location(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def fail(message: str) -> NoReturn:
    """Raise a GraphError that points at the user's line."""
    raise GraphError(message, user_location())


def located(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a public builder add the user's line to any GraphError that comes out of it without one."""

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except GraphError as error:
            if error.location is None:
                error.location = user_location()
            raise
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
            raise GraphError(str(error), user_location()) from None  # the call itself: an argument too many or too few

    return wrapper
