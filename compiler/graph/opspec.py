"""What an op is: its operands, attributes, rule, and every fact about it that passes, checks and counts go by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.dtypes import DTYPES
from compiler.graph.rules import Attrs, Infer
from compiler.graph.types import Shape, Size, TensorType, Type, format_shape

MANY = 1 << 30
Demand = tuple[Size, str, Size]
"""What an op takes for granted of sizes: what must not be negative, why, and the size that, being 0, lifts it."""
Demands = Callable[[Sequence[Any], Attrs], Iterator[Demand]]


@dataclass(frozen=True)
class Shapes:
    """An op with its sizes filled in: the shapes of its operands and results, and its attributes."""

    operands: Sequence[tuple[int, ...]]
    results: Sequence[tuple[int, ...]]
    attrs: Mapping[str, Any]

    @property
    def elements(self) -> int:
        """How many elements the first result has."""
        return math.prod(self.results[0]) if self.results else 0


Flops = Callable[[Shapes], int | None]


def free(shapes: Shapes) -> int:
    """The FLOPs of an op that only moves or converts elements."""
    return 0


def per_result(shapes: Shapes) -> int:
    """One for each element of the result."""
    return shapes.elements


def per_element(count: int) -> Flops:
    """So many for each element of the result."""
    return lambda shapes: count * shapes.elements


def per_input(shapes: Shapes) -> int:
    """One for each element of the first operand: what a reduction does."""
    return math.prod(shapes.operands[0])


def not_empty(shape: Shape, axis: int, unless_empty: Size = 1) -> Iterator[Demand]:
    """There must be something along an axis."""
    size = shape[axis]
    if isinstance(size, Dim):
        yield size - 1, f"axis {axis} of shape {format_shape(shape)} would be empty", unless_empty


@dataclass(frozen=True)
class OpSpec:
    """What an op is. `attrs` maps each attribute's name to its kind; `infer` is None when result types are declared.

    `flops` counts as is usual: an elementwise op 1 an element whatever it costs, a multiply-add 2, views and casts 0;
    None is for a kernel that alone knows.
    """

    name: str
    infer: Infer | None
    attrs: Mapping[str, str] = field(default_factory=dict)
    operands: tuple[int, int] = (1, 1)
    effects: bool = False
    open_attrs: bool = False
    elementwise: bool = False  # an element of the result comes of the elements at the same place, and of nothing else
    commutative: bool = False  # the order of the operands does not matter
    view: bool = False  # the operand's elements under other indices: what is the same everywhere stays so
    repeats: bool = False  # the result holds elements of the operand several times
    picks: bool = False  # of the first operand, only as many elements are read as the result has
    flops: Flops = per_result
    demands: Demands | None = None  # of symbolic sizes, besides that no size is negative

    @property
    def short(self) -> str:
        """The name without the dialect: `add`."""
        return self.name[3:]

    def completed(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The attributes with None for those that are absent."""
        absent = [name for name in self.attrs if name not in attrs]
        return {**attrs, **dict.fromkeys(absent)} if absent else attrs

    def disagreement(self, operands: Sequence[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> str:
        """What is wrong with an op whose results were declared to have these types; nothing if all is well."""
        types = self.check(operands, attrs)
        if types is None or tuple(types) == tuple(results):
            return ""
        said, wanted = (", ".join(map(str, t)) for t in (results, types))
        return f"{self.name}: result type must be {wanted}, not {said}"

    def check(self, operand_types: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Type, ...] | None:
        """Everything `infer` takes for granted, then `infer`: for ops that come from text. None: types are declared."""
        low, high = self.operands
        if not low <= len(operand_types) <= high:
            wanted = f"{low}" if low == high else f"at least {low}" if high == MANY else f"{low} to {high}"
            raise GraphError(f"{self.name}: takes {wanted} operands, not {len(operand_types)}")
        for name, kind in self.attrs.items():
            if attrs.get(name) is None and not kind.endswith("?"):
                raise GraphError(f"{self.name}: lacks the attribute {name!r}")
        for name, value in attrs.items():
            if name not in self.attrs and not self.open_attrs:
                raise GraphError(f"{self.name}: has no attribute {name!r}")
            kind = self.attrs.get(name)
            if kind is not None and not _KINDS[kind](value):
                raise GraphError(f"{self.name}: attribute {name!r} must be {_SAID[kind]}")
        if self.infer is None:
            return None
        if not self.effects:
            for type in operand_types:
                if not isinstance(type, TensorType):
                    raise GraphError(f"{self.name}: takes tensors, not {type}")
        return self.infer(operand_types, attrs)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sizes(value: Any) -> bool:
    return isinstance(value, tuple) and all(_whole(v) or isinstance(v, Dim) for v in value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": _whole,
    "ints": lambda v: isinstance(v, tuple) and all(map(_whole, v)),
    "dims": _sizes,
    "float": lambda v: isinstance(v, float),
    "float?": lambda v: v is None or isinstance(v, float),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "dtype": lambda v: isinstance(v, str) and v in DTYPES,
    "scalar": lambda v: isinstance(v, (bool, int, float)),
    "array": lambda v: isinstance(v, np.ndarray),
}
_SAID = {"int": "a whole number", "ints": "a list of whole numbers", "dims": "a list of sizes", "float": "a float",
         "float?": "a float", "bool": "true or false", "str": "a string", "dtype": "a dtype name", "scalar": "a number",
         "array": "an array"}  # fmt: skip
