"""Values as kernel-language text: sizes, shapes, parameters and literals."""

from __future__ import annotations

import keyword
import math
import re
from typing import Any

from compiler.graph.dims import Dim, substitute, symbol
from compiler.graph.dtypes import DTYPES
from compiler.language.builtins import BUILTINS
from compiler.language.syntax.definitions import KINDS
from compiler.language.values.dtypes import LANGUAGE_DTYPES

_GENERATED = re.compile(r"(in|out|v|input|view|pass|after|phase)\d+\Z|(at|epilogue|kept|row|finish)\Z")
_TAKEN = frozenset(keyword.kwlist) | LANGUAGE_DTYPES.keys() | BUILTINS.keys() | KINDS
_TAKEN |= {"Tensor", "print", "split", "target"}


class SymbolNames:
    """The names of symbolic sizes in one kernel: the graph's own, unless the kernel's text has another use for one."""

    def __init__(self, functions: frozenset[str]) -> None:
        self._functions = functions
        self.used: dict[str, str] = {}  # graph name -> name in the text
        self._clashes = False

    def size(self, value: int | Dim) -> str:
        """A size as an expression."""
        if not isinstance(value, Dim):
            return str(value)
        for name in sorted(value.symbols):
            if name not in self.used:
                self.used[name] = self._free(name)
                self._clashes |= self.used[name] != name
        return str(self.own(value))

    def own(self, value: int | Dim) -> int | Dim:
        """A size in the names of the text, once they are given."""
        return substitute(value, {name: symbol(new) for name, new in self.used.items()}) if self._clashes else value

    def _free(self, name: str) -> str:
        made = name
        while made in _TAKEN or made in self._functions or _GENERATED.match(made) or made in self.used.values():
            made += "_"
        return made

    def shape(self, sizes: tuple[int | Dim, ...]) -> str:
        """A shape as a tuple."""
        inner = ", ".join([self.size(s) for s in sizes])
        return f"({inner},)" if len(sizes) == 1 else f"({inner})"

    def parameter(self, value: Any, dtype: str) -> str:
        """An op's attribute as a compile-time value; `dtype` is the op's, for what only a dtype can spell."""
        if isinstance(value, tuple | list):
            inner = ", ".join([self.parameter(item, dtype) for item in value])
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, Dim):
            return self.size(value)
        if isinstance(value, str):
            return value if value in DTYPES else repr(value)
        if isinstance(value, float):
            return number(value, dtype)
        return repr(value)


def number(value: float, dtype: str) -> str:
    """A float as an expression, infinities and NaN through a dtype."""
    if math.isfinite(value):
        return repr(value)
    name = dtype if DTYPES[dtype].kind == "f" else "f64"
    if math.isnan(value):
        return f"{name}.nan"
    return f"{name}.inf" if value > 0 else f"-{name}.inf"


def literal(element: Any, dtype: str) -> str:
    """One element as a typed value: `f32(0.5)`."""
    kind = DTYPES[dtype].kind
    if kind == "f":
        return f"{dtype}({number(float(element), dtype)})"
    return f"{dtype}({bool(element) if kind == 'b' else int(element)})"
