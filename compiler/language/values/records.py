"""Values that are records of the language's own: run-time values, positions, ranges, functions and methods.

Everything else a name can hold (int, float, bool, str, None, tuple, list, Dim, DType, Target) is itself: a compile-time
value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.graph.dims import Dim
from compiler.language.values.dtypes import DType
from compiler.targets.target import Target

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

StaticSize = int | Dim


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


@dataclass(slots=True, unsafe_hash=True)  # not frozen: that takes four times as long to make, and many are made
class Position:
    """Where a lambda is asked for values: start indices, how many lanes, along which axis."""

    index: tuple[Any, ...]
    width: int = 1
    axis: int = -1


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


class Function:
    """Whatever a kernel calls a function: a builtin, a definition in kernel source, or one nested in another."""

    __slots__ = ()

    def captured(self) -> tuple[Any, ...]:
        """The values of names around it that it reads."""
        return ()

    def read_at_position(self) -> tuple[Any, ...] | None:
        """What a function of a position reads there, if it does nothing else with the position; None if it may."""
        return None

    def iterates(self, find: Callable[[str], Any], seen: set[Any]) -> bool:
        """Whether it, or a function it calls, has a `while` loop. `find`: what a name means outside of functions."""
        return False


@dataclass(slots=True, eq=False)
class Bound:
    """A method taken from a value, not yet called."""

    owner: Any
    name: str


_NAMES: dict[type, str] = {
    type(None): "None", Bound: "a method", Unroll: "unroll(...)", RuntimeRange: "range(...)", Target: "the target",
    Position: "a position",
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
    if isinstance(value, Function):
        return "a function"
    name = type(value).__name__
    return f"{name} {value!r}" if isinstance(value, (int, float)) else _NAMES.get(type(value), name)
