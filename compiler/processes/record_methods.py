"""Methods of records, compiled once and kept from one process to the next, as `.pyc` files keep modules.

Of every dataclass Python writes some methods as text and compiles them each time the class is made: more than a quarter
of the time in which the compiler is loaded, most of it for xDSL's. What a text compiles to depends on the interpreter
alone, so it is kept by its text, in the user's cache, whose signature says that nobody else wrote it. And of a record
that nobody described Python writes down what it is made of, which nobody reads here.

A compilation calls one in nine of them. `MethodsWhenCalled` compiles a method as it is first called, so that the first
process of all, which finds nothing in the cache, loads in hardly more time than the next.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib.util
import inspect
import marshal
import sys
from collections.abc import Collection
from types import CodeType, FunctionType
from typing import Any

from compiler.cache import default_cache, key_of

_KIND = "methods"
_FEW = 8
"""Methods that are compiled again sooner than they are kept."""
_MOST = 2000
"""Methods that are kept of processes that call different ones; past it nothing is left of those before."""


OURS = frozenset({"app", "compiler", "profiler", "xdsl"})
"""Packages of whose records nobody asks what their methods take, as others may: libraries that a user's file loads."""

_when_called: list[MethodsWhenCalled] = []
"""Those of this process."""


class _NoSignatures:
    """What `dataclasses` asks of `inspect`, but for the signature that describes a class without a description."""

    def __init__(self, packages: Collection[str]) -> None:
        self._packages = packages

    def signature(self, asked: Any, **how: Any) -> Any:
        return "(...)" if _is_of(asked.__module__, self._packages) else inspect.signature(asked, **how)

    def __getattr__(self, name: str) -> Any:
        return getattr(inspect, name)


class RecordMethods:
    """The methods that processes of one kind need; from here on this process makes its records with them, or those of
    some packages."""

    def __init__(self, name: str, packages: Collection[str] = ()) -> None:
        self._packages = packages
        self._key = key_of(name, sys.version, importlib.util.MAGIC_NUMBER)
        self._kept = self._found()
        self._used: dict[str, CodeType] = {}
        self._new = 0
        dataclasses.__dict__["exec"] = self._execute  # found before the built-in one, by nobody but that module
        dataclasses.__dict__["inspect"] = _NoSignatures(packages)

    def _found(self) -> dict[str, CodeType]:
        found = default_cache().get(_KIND, self._key)
        return marshal.loads(found) if found else {}

    def _execute(self, text: str, names: dict[str, Any] | None = None, made: dict[str, Any] | None = None) -> None:
        builtins.exec(self._code(text) if self._are_ours(names) else _compiled(text), names, made)

    def _are_ours(self, names: dict[str, Any] | None) -> bool:
        """Whether a record is made so, by the names of its module."""
        return _is_of((names or {}).get("__name__", ""), self._packages)

    def _code(self, text: str) -> CodeType:
        code = self._used.get(text) or self._kept.get(text)
        if code is None:
            code = _compiled(text)
            self._new += 1
        self._used[text] = code
        return code

    def keep(self) -> None:
        """What was used up to now is what the next process finds, and no more, so that nothing old piles up."""
        if self._new or len(self._used) != len(self._kept):
            self._put(dict(self._used))

    def _put(self, methods: dict[str, CodeType]) -> None:
        default_cache().put(_KIND, self._key, marshal.dumps(methods))
        self._kept, self._new = methods, 0


class MethodsWhenCalled(RecordMethods):
    """The same for processes that make many more records than they use: a method is there once it is called."""

    def __init__(self, name: str, packages: Collection[str] = ()) -> None:
        super().__init__(name, packages)
        _when_called.append(self)

    def _execute(self, text: str, names: dict[str, Any] | None = None, made: dict[str, Any] | None = None) -> None:
        name = text.rpartition(" return ")[2]
        # Some Pythons have all methods of a record in one text.
        if made is None or not name.isidentifier() or not self._are_ours(names):
            return super()._execute(text, names, made)
        made["__create_fn__"] = lambda **around: self._when_called(name, text, names, around)

    def _when_called(
        self, name: str, text: str, names: dict[str, Any] | None, around: dict[str, Any]
    ) -> FunctionType:  # fmt: skip
        """What stands for a method until then, and puts it into the classes that have this one in its place."""
        known: list[Any] = []

        def method(self_: Any, /, *given: Any, **named: Any) -> Any:
            if not known:
                made: dict[str, Any] = {}
                builtins.exec(self._code(text), names, made)
                known.append(made["__create_fn__"](**around))
                known[0].__qualname__ = method.__qualname__
            for each in type(self_).__mro__:
                if each.__dict__.get(name) is method:
                    setattr(each, name, known[0])
            return known[0](self_, *given, **named)

        method.__name__ = name
        return method

    def keep(self) -> None:
        """What processes of this kind have called, this one and others, is what the next one finds."""
        if self._new > _FEW:
            others = self._found()
            self._put({**(others if len(others) < _MOST else {}), **self._used})


def _compiled(text: str) -> CodeType:
    return compile(text, "<string>", "exec", dont_inherit=True)


def _is_of(module: str, packages: Collection[str]) -> bool:
    return not packages or module.partition(".")[0] in packages


def keep_called() -> None:
    """Leave the methods that were called to the next process, where this one makes its records so."""
    for methods in _when_called:
        methods.keep()
