"""What builtins, methods and brackets were given, checked: dtypes, shapes, widths, axes, lanes and items."""

from __future__ import annotations

from typing import Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language import limits
from compiler.language.values.dtypes import LANGUAGE_DTYPES, DType
from compiler.language.values.records import Simd, StaticSize, describe


def runtime_value(name: str, value: Any) -> Simd:
    """An argument that must be a run-time value."""
    if not isinstance(value, Simd):
        raise KernelError(f"{name} needs a run-time value, not {describe(value)}")
    return value


def to_dtype(value: Any) -> DType:
    """A dtype from itself or its name."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in LANGUAGE_DTYPES:
        return LANGUAGE_DTYPES[value]
    raise KernelError(f"{describe(value)} is not a dtype")


def to_shape(value: Any) -> tuple[StaticSize, ...]:
    """A shape from a tuple of sizes."""
    if isinstance(value, (int, Dim)):
        value = (value,)
    if not isinstance(value, (tuple, list)) or not all(
        isinstance(size, (int, Dim)) and not isinstance(size, bool) for size in value
    ):
        raise KernelError("a shape is a tuple of compile-time sizes")
    count = 1
    for size in value:
        if isinstance(size, int):
            if size < 0:
                raise KernelError(f"a size of {describe(size)} is below zero")
            count *= max(size, 1)
    if count > limits.MAX_ELEMENTS:
        raise KernelError("a shape of too many elements")
    return tuple(value)


def to_width(width: Any) -> int:
    """A number of lanes."""
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= limits.MAX_WIDTH:
        raise KernelError(f"a width is a compile-time number from 1 to {limits.MAX_WIDTH}, not {describe(width)}")
    return width


def axis_number(axis: Any, rank: int) -> int:
    """A compile-time axis, counted from the end when below zero."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise KernelError(f"an axis is a compile-time whole number, not {describe(axis)}")
    if not -rank <= axis < rank:
        raise KernelError(f"axis {axis} of {rank} axes")
    return axis % rank


def lane_number(lane: Any, width: int) -> int:
    """A compile-time lane, counted from the end when below zero."""
    if isinstance(lane, bool) or not isinstance(lane, int):
        raise KernelError(f"a lane is a whole number, not {describe(lane)}")
    if not -width <= lane < width:
        raise KernelError(f"lane {lane} of a value of {width} lanes")
    return lane % width


def static_index(index: Any, length: int) -> int:
    """A compile-time place in a sequence of `length` items."""
    if isinstance(index, bool) or not isinstance(index, int):
        raise KernelError(f"a compile-time index is needed here, not {describe(index)}")
    if not -length <= index < length:
        raise KernelError(f"index {index} of {length} items")
    return index
