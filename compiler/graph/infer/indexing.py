"""Rules of ops that compute where an element comes from: concat, pad, gather, tile, iota; and of constants."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.broadcasting import fits
from compiler.graph.dtypes import dtype_info, from_numpy
from compiler.graph.infer.rules import NUMBERS, Attrs, check_axis, check_dtype, check_length, refuse
from compiler.graph.types import Size, TensorType, as_shape, format_shape


def concat(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Same dtype and same sizes except along the axis, where sizes add up."""
    first, axis = types[0], attrs["axis"]
    check_axis("mo.concat", axis, first.rank)
    total: Size = 0
    for other in types:
        if other.dtype != first.dtype:
            refuse("mo.concat", f"operand dtypes {first.dtype} and {other.dtype} differ")
        if other.rank != first.rank or any(
            a != b for at, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if at != axis
        ):
            shapes = f"{format_shape(first.shape)} and {format_shape(other.shape)}"
            refuse("mo.concat", f"shapes {shapes} do not agree outside axis {axis}")
        total = total + other.shape[axis]
    return (TensorType.of(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])),)


def pad(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """`low` elements before and `high` after each axis."""
    (x,) = types
    low, high = as_shape(attrs["low"]), as_shape(attrs["high"])
    check_length("mo.pad", "low", low, x.rank)
    check_length("mo.pad", "high", high, x.rank)
    value, kind = attrs["value"], dtype_info(x.dtype).kind
    if type(value) is not (bool if kind == "b" else float if kind == "f" else int) or not fits(value, x.dtype):
        refuse("mo.pad", f"the value {value!r} is not a {x.dtype}")
    return (TensorType.of(x.dtype, tuple(lo + s + hi for lo, s, hi in zip(low, x.shape, high, strict=True))),)


def gather(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """The axis replaced by the shape of the indices, as np.take does."""
    x, indices = types
    check_dtype("mo.gather", indices.dtype, frozenset({"i32", "i64"}), "index")
    axis = check_axis("mo.gather", attrs["axis"], x.rank)
    if x.shape[axis] == 0 and 0 not in indices.shape:
        refuse("mo.gather", f"axis {axis} of shape {format_shape(x.shape)} is empty")
    return (TensorType.of(x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1 :]),)


def tile(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Each axis repeated."""
    (x,) = types
    repeats = as_shape(attrs["repeats"])
    check_length("mo.tile", "repeats", repeats, x.rank)
    return (TensorType.of(x.dtype, tuple(s * r for s, r in zip(x.shape, repeats, strict=True))),)


def iota(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """The index along an axis."""
    shape = as_shape(attrs["shape"])
    dtype_info(attrs["dtype"])
    check_dtype("mo.iota", attrs["dtype"], NUMBERS, "result")
    check_axis("mo.iota", attrs["axis"], len(shape))
    return (TensorType.of(attrs["dtype"], shape),)


def constant(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """The type of the array."""
    value = attrs["value"]
    return (TensorType.of(from_numpy(value.dtype), tuple(value.shape)),)
