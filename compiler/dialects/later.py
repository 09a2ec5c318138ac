"""xDSL's operations, defined as the first of a kind is made and not as its class is; and their formats, parsed as one
is printed or read.

Loading the dialects defines some 150 kinds of operations, a hundred more where a kernel has raw instructions; a
compilation makes forty of these kinds, and prints and reads hardly any. Each of the two is up to a tenth of the time
that loading the compiler takes.
"""

from __future__ import annotations

import threading
from functools import cache, cached_property
from typing import Any, cast

import xdsl.irdl
from xdsl.irdl import operations

_OURS = {"compiler", "xdsl"}
"""Packages whose operations are; who defines some of their own wants to hear of mistakes at once."""
_defined: Any = operations.irdl_op_definition
_lock = threading.RLock()
_waiting: dict[type, Any] = {}
"""Classes that are not defined yet, each with the traits that it has of its own."""


@cache
def define_operations_later() -> None:
    """For processes of our own, before dialects are loaded."""
    operations.irdl_op_definition = xdsl.irdl.irdl_op_definition = _defined_later
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    parsed = FormatProgram.from_str
    FormatProgram.from_str = cast(Any, lambda text, definition: _Format(lambda: parsed(text, definition)))


class _Format:
    """What a format says, once somebody asks."""

    def __init__(self, parse: Any) -> None:
        self._parse = parse

    @cached_property
    def _program(self) -> Any:
        return self._parse()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)


def _defined_later(cls: Any) -> Any:
    """In place of xDSL's decorator: a class that is defined once it is asked what it is. Each way to make one asks."""
    if cls.__module__.partition(".")[0] not in _OURS:
        return _defined(cls)
    _waiting[cls] = vars(cls).get("traits")
    cls.get_irdl_definition = classmethod(_definition)
    cls.traits = _Traits()
    if cls.assembly_format is not None and "parse" not in vars(cls):
        cls.parse = classmethod(_parse)
    return cls


def _define(cls: Any) -> None:
    """Define a class that waits, after those that it is made from."""
    with _lock:
        for each in reversed(cls.__mro__):
            if each in _waiting:
                traits = _waiting.pop(each)
                if traits is None:
                    del each.traits
                else:
                    each.traits = traits
                if getattr(vars(each).get("parse"), "__func__", None) is _parse:
                    del each.parse
                _defined(each)  # which puts its own in place of ours


def _definition(cls: Any) -> Any:
    _define(cls)
    return cls.get_irdl_definition()


def _parse(cls: Any, parser: Any) -> Any:
    _define(cls)
    return cls.parse(parser)


class _Traits:
    """What stands for the traits of a class."""

    def __get__(self, operation: object, cls: Any) -> Any:
        _define(cls)
        return cls.traits
