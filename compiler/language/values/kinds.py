"""What a name can hold while a kernel is elaborated: run-time values, positions and functions.

Everything else (int, float, bool, str, None, tuple, list, Dim, DType) is itself: a compile-time value.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compiler.graph.dims import Dim
from compiler.language.values.dtypes import DType

if TYPE_CHECKING:
    from xdsl.ir import SSAValue


class Simd:
    """A run-time value: `width` lanes of `dtype`; width 1 is a scalar."""

    __slots__ = ("dtype", "ssa", "width")

    def __init__(self, ssa: SSAValue, dtype: DType, width: int) -> None:
        self.ssa = ssa
        self.dtype = dtype
        self.width = width

    @property
    def type_name(self) -> str:
        """How messages call its type."""
        return self.dtype.name if self.width == 1 else f"SIMD[{self.dtype.name}, {self.width}]"


_KIND_NAMES = {
    "NoneType": "None", "Generator": "a function", "Closure": "a function", "Builtin": "a function",
    "Bound": "a method", "Unroll": "unroll(...)", "RuntimeRange": "range(...)", "LanguageTarget": "the target",
    "Position": "a position",
}  # fmt: skip


def describe(value: Any) -> str:
    """How messages name a value: its type, and what it is where that is short."""
    if isinstance(value, Simd):
        return value.type_name
    if isinstance(value, Dim):
        text = str(value)
        return f"the size {text}" if len(text) <= 80 else "a size"
    if isinstance(value, DType):
        return f"the dtype {value.name}"
    if isinstance(value, int) and value.bit_length() > 512:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return f"str {value!r}" if len(value) <= 60 else f"str {value[:57]!r}..."
    name = type(value).__name__
    return f"{name} {value!r}" if isinstance(value, (int, float)) else _KIND_NAMES.get(name, name)


@dataclass(slots=True, unsafe_hash=True)  # not frozen: that takes four times as long to make, and many are made
class Position:
    """Where a lambda is asked for values: start indices, how many lanes, along which axis."""

    index: tuple[Any, ...]
    width: int = 1
    axis: int = -1


@dataclass(frozen=True)
class Parameter:
    """A keyword-only, compile-time parameter of a generator."""

    name: str
    default: ast.expr | None


@dataclass(frozen=True, eq=False)
class Generator:
    """A function of the kernel language before elaboration: a signature and a body with open parameters."""

    name: str
    kind: str  # function, inline, elementwise, view, pointwise, kernel, closure
    registers: str  # the op it implements, or ""
    arguments: tuple[tuple[str, ast.expr | None], ...]
    variadic: str | None
    parameters: tuple[Parameter, ...]
    body: tuple[ast.stmt, ...]
    file: str
    line: int
    raw: bool = False
    line_slots: tuple[tuple[int, ...], ...] = ()  # generated source only: slots of each line, from line 1
    constants: dict[str, Any] = field(default_factory=dict)  # the file's top-level constants
    own: frozenset[str] = frozenset()  # of a closure: names it assigns, which therefore never mean outer ones


class Frame:
    """The names of one function being elaborated; `parent` is where a closure was defined."""

    __slots__ = ("env", "generator", "parent")

    def __init__(self, generator: Generator, parent: Frame | None) -> None:
        self.generator = generator
        self.parent = parent
        self.env: dict[str, Any] = {}

    def find(self, name: str) -> Frame | None:
        """The nearest frame that defines `name`."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                return frame
            frame = frame.parent
        return None


@dataclass(slots=True, eq=False)
class Closure:
    """A nested def or lambda: elaborated into whoever calls it, seeing the names of the frame it was made in."""

    generator: Generator
    frame: Frame


class Undefined:
    """Stands for a name without a value; `why` completes the sentence that starts with the name."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


UNDEFINED = Undefined("has no value on every way to this line")
StaticSize = int | Dim


@dataclass(frozen=True)
class Unroll:
    """What `unroll(...)` evaluates to: the values a loop is repeated for at elaboration."""

    values: tuple[Any, ...]


@dataclass(slots=True, unsafe_hash=True)
class RuntimeRange:
    """What `range(...)` evaluates to as the iterable of a `for`."""

    start: Any
    stop: Any
    step: Any


@dataclass(slots=True, eq=False)
class Returned:
    """The outcome of a block that ended in `return`."""

    value: Any
