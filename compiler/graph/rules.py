"""What the rules of ops share. A rule gives an op's result types from its operand types and its attributes.

Each check raises a GraphError that names the op and what it broke.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from compiler.errors import GraphError
from compiler.graph.dtypes import DTYPES
from compiler.graph.types import Shape, TensorType, Type, format_shape

Attrs = Mapping[str, Any]
Infer = Callable[[Sequence[Any], Attrs], tuple[Type, ...]]
FLOATS = frozenset(name for name, info in DTYPES.items() if info.kind == "f")
INTEGERS = frozenset(name for name, info in DTYPES.items() if info.kind in "iu")
NUMBERS = FLOATS | INTEGERS
ANY = frozenset(DTYPES)
BITS = INTEGERS | {"bool"}
BOOL = frozenset({"bool"})
_SAID = {
    FLOATS: "a float dtype",
    INTEGERS: "an integer dtype",
    NUMBERS: "a number dtype",
    BITS: "an integer or bool dtype",
    BOOL: "dtype bool",
}


def refuse(op: str, rule: str) -> NoReturn:
    """Say which op broke which rule."""
    raise GraphError(f"{op}: {rule}")


def check_dtype(op: str, dtype: str, allowed: frozenset[str], what: str = "operand") -> None:
    """The dtype must be one of the allowed."""
    if dtype not in allowed:
        said = _SAID.get(allowed) or "one of " + " ".join(sorted(allowed))
        refuse(op, f"the {what} must have {said}, not {dtype}")


def check_same(op: str, types: Sequence[TensorType]) -> TensorType:
    """All operands must have one dtype and one shape."""
    first = types[0]
    for other in types[1:]:
        if other.dtype != first.dtype:
            refuse(op, f"operand dtypes {first.dtype} and {other.dtype} differ")
        if other.shape != first.shape:
            refuse(op, f"operand shapes {format_shape(first.shape)} and {format_shape(other.shape)} differ")
    return first


def check_axis(op: str, axis: int, rank: int) -> int:
    """The axis must be a normalised one: 0 <= axis < rank."""
    if not 0 <= axis < rank:
        refuse(op, f"axis {axis} is outside a tensor of rank {rank}")
    return axis


def check_rank(op: str, type: TensorType, rank: int, what: str) -> Shape:
    """The operand must have exactly this many axes."""
    if type.rank != rank:
        refuse(op, f"{what} must have {rank} axes, not shape {format_shape(type.shape)}")
    return type.shape


def check_length(op: str, what: str, values: Sequence[Any], length: int) -> None:
    """An attribute that has one entry an axis must have as many as there are axes."""
    if len(values) != length:
        refuse(op, f"{what} has {len(values)} entries for {length} axes")


def whole_number(op: str, what: str, value: Any) -> int:
    """A whole number as a user gives it: an int, or what counts as one."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    refuse(op, f"{what} is a whole number, not {type(value).__name__} {value!r}")


def sequence(op: str, what: str, value: Any) -> list[Any]:
    """A list or tuple, as a user gives it."""
    if not isinstance(value, (list, tuple)) and getattr(value, "ndim", 0) != 1:
        refuse(op, f"{what} must be a list or tuple, not {type(value).__name__} {value!r}")
    return list(value)


def normalize_axis(op: str, axis: Any, rank: int) -> int:
    """The axis as a user gives it (negative counts from the end) as a number from 0."""
    axis = whole_number(op, "an axis", axis)
    if not -rank <= axis < rank:
        refuse(op, f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank


def normalize_axes(op: str, axis: Any, rank: int) -> tuple[int, ...]:
    """None (all axes), one axis or several, as a sorted tuple of numbers from 0."""
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = sorted(normalize_axis(op, a, rank) for a in axes)
    if len(set(out)) != len(out):
        refuse(op, f"axis {axis} names an axis twice")
    return tuple(out)


def unary(op: str, allowed: frozenset[str], result: str | None = None) -> Infer:
    """One operand of an allowed dtype; the result has its shape, and its dtype unless `result` says otherwise."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_dtype(op, x.dtype, allowed)
        return (x if result is None else TensorType.of(result, x.shape),)

    return infer


def binary(op: str, allowed: frozenset[str], result: str | None = None) -> Infer:
    """Two operands of the same allowed dtype and the same shape."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        a, b = types
        if a is not b and a != b:
            check_same(op, types)
        if a.dtype not in allowed:
            check_dtype(op, a.dtype, allowed)
        return (a if result is None else TensorType.of(result, a.shape),)

    return infer
