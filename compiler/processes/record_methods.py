"""Methods of records, compiled once and kept from one process to the next, as `.pyc` files keep modules.

Of every dataclass Python writes some methods as text and compiles them each time the class is made: more than a quarter
of the time in which the compiler is loaded, most of it for xDSL's. What a text compiles to depends on the interpreter
alone, so it is kept by its text, in the user's cache, whose signature says that nobody else wrote it. And of a record
that nobody described Python writes down what it is made of, which nobody reads here.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib.util
import inspect
import marshal
import sys
from types import CodeType
from typing import Any

from compiler.cache import default_cache, key_of

_KIND = "methods"


class _NoSignatures:
    """What `dataclasses` asks of `inspect`, but for the signature that describes a class without a description."""

    def signature(self, *_asked: object, **_how: object) -> str:
        return "(...)"

    def __getattr__(self, name: str) -> Any:
        return getattr(inspect, name)


class RecordMethods:
    """The methods that processes of one kind need; from here on this process makes its records with them."""

    def __init__(self, name: str) -> None:
        self._key = key_of(name, sys.version, importlib.util.MAGIC_NUMBER)
        found = default_cache().get(_KIND, self._key)
        self._kept: dict[str, CodeType] = marshal.loads(found) if found else {}
        self._used: dict[str, CodeType] = {}
        self._new = False
        dataclasses.__dict__["exec"] = self._execute  # found before the built-in one, by nobody but that module
        dataclasses.__dict__["inspect"] = _NoSignatures()

    def _execute(self, text: str, names: dict[str, Any] | None = None, made: dict[str, Any] | None = None) -> None:
        code = self._used.get(text) or self._kept.get(text)
        if code is None:
            code = compile(text, "<string>", "exec", dont_inherit=True)
            self._new = True
        self._used[text] = code
        builtins.exec(code, names, made)

    def keep(self) -> None:
        """What was used up to now is what the next process finds, and no more, so that nothing old piles up."""
        if self._new or len(self._used) != len(self._kept):
            default_cache().put(_KIND, self._key, marshal.dumps(self._used))
            self._kept, self._new = dict(self._used), False
