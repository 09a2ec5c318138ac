"""Element types as the kernel language sees them: the graph's, plus `index`, the type of run-time positions.

xDSL is loaded by who asks for the IR type of one; to know a library's functions does not take it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from compiler.graph.dtypes import DTYPES

if TYPE_CHECKING:
    from xdsl.ir import Attribute

_FLOAT_LIMITS = {
    "f64": 1.7976931348623157e308,
    "f32": 3.4028234663852886e38,
    "f16": 65504.0,
    "bf16": 3.3895313892515355e38,
}


@dataclass(frozen=True, eq=False)
class DType:
    """An element type, one object each: `kind` is 'f' float, 'i' signed, 'u' unsigned, 'b' boolean, 'x' index."""

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @cached_property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return max(self.bits // 8, 1)

    @cached_property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "f"

    @cached_property
    def is_int(self) -> bool:
        """Whether it is an integer type (booleans are not)."""
        return self.kind in "iux"

    @cached_property
    def is_bool(self) -> bool:
        """Whether it is the boolean type."""
        return self.kind == "b"

    @cached_property
    def is_signed(self) -> bool:
        """Whether values below zero exist."""
        return self.kind in "fix"

    @property
    def inf(self) -> float:
        """Infinity, a weak literal."""
        return float("inf")

    @property
    def nan(self) -> float:
        """Not a number, a weak literal."""
        return float("nan")

    @property
    def max(self) -> int | float:
        """The largest finite value."""
        if self.kind == "f":
            return _FLOAT_LIMITS[self.name]
        return 2 ** (self.bits - (1 if self.is_signed else 0)) - 1

    @property
    def min(self) -> int | float:
        """The smallest finite value."""
        if self.kind == "f":
            return -_FLOAT_LIMITS[self.name]
        return -(2 ** (self.bits - 1)) if self.is_signed else 0

    @property
    def acc(self) -> DType:
        """The type sums are kept in: f32 for the 16-bit floats, itself otherwise."""
        return LANGUAGE_DTYPES["f32"] if self.kind == "f" and self.bits == 16 else self

    @cached_property
    def memory(self) -> DType:
        """The type it has in memory: a boolean takes a byte."""
        return LANGUAGE_DTYPES["u8"] if self.kind == "b" else self


LANGUAGE_DTYPES: dict[str, DType] = {
    **{info.name: DType(info.name, info.kind, info.bits) for info in DTYPES.values()},
    "index": DType("index", "x", 64),
}
INDEX = LANGUAGE_DTYPES["index"]
BOOL = LANGUAGE_DTYPES["bool"]
F32 = LANGUAGE_DTYPES["f32"]
BF16 = LANGUAGE_DTYPES["bf16"]


@cache
def element_type(dtype: DType) -> Attribute:
    """The IR type of one element in a register."""
    from xdsl.dialects import builtin

    if dtype.kind == "f":
        return getattr(builtin, dtype.name)
    return builtin.IndexType() if dtype.kind == "x" else builtin.IntegerType(dtype.bits)


@cache
def register_type(dtype: DType, width: int) -> Attribute:
    """The IR type of a value: a scalar for width 1, a one-dimensional vector otherwise."""
    from xdsl.dialects.builtin import VectorType

    return element_type(dtype) if width == 1 else VectorType(element_type(dtype), [width])


@lru_cache(maxsize=256)
def one_object(kind: Attribute) -> Attribute:
    """The same object for equal types: the builder tells types apart by identity."""
    return kind
