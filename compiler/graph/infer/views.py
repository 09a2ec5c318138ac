"""Rules of views: the same elements under another shape."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.broadcasting import check_broadcasts_to
from compiler.graph.dims import product, surely_nonnegative
from compiler.graph.infer.rules import Attrs, check_length, refuse
from compiler.graph.types import TensorType, as_shape, format_shape


def reshape(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Row-major order kept, number of elements equal (for symbols: provably equal)."""
    (x,) = types
    shape = as_shape(attrs["shape"])
    if product(x.shape) != product(shape):
        refuse("mo.reshape", f"shape {format_shape(x.shape)} does not have as many elements as {format_shape(shape)}")
    return (TensorType.of(x.dtype, shape),)


def transpose(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Axes permuted: result axis i is operand axis perm[i]."""
    (x,) = types
    perm = attrs["perm"]
    if sorted(perm) != list(range(x.rank)):
        refuse("mo.transpose", f"{format_shape(perm)} is not a permutation of the axes of {format_shape(x.shape)}")
    return (TensorType.of(x.dtype, tuple(x.shape[p] for p in perm)),)


def broadcast_to(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """NumPy's broadcasting to a given shape."""
    (x,) = types
    shape = as_shape(attrs["shape"])
    check_broadcasts_to(x.shape, shape, "mo.broadcast_to")
    return (TensorType.of(x.dtype, shape),)


def slice(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Element i of the result is element start + i * step; every index that is a number must be inside."""
    (x,) = types
    starts, steps, shape = attrs["starts"], attrs["steps"], as_shape(attrs["shape"])
    for what, values in (("starts", starts), ("steps", steps), ("shape", shape)):
        check_length("mo.slice", what, values, x.rank)
    for axis, (start, step, length, size) in enumerate(zip(starts, steps, shape, x.shape, strict=True)):
        if isinstance(start, int) and start < 0:
            refuse("mo.slice", f"start {start} of axis {axis} is negative")
        if step == 0:
            refuse("mo.slice", f"the step of axis {axis} is 0")
        if length == 0:
            continue
        last = start + (length - 1) * step
        beyond = (start - size, last - size)
        if not surely_nonnegative(length):
            continue  # it may be empty, or the sizes may not do: known once they are bound
        if (isinstance(last, int) and last < 0) or any(isinstance(b, int) and b >= 0 for b in beyond):
            refuse("mo.slice", f"elements {start} to {last} of axis {axis} are outside shape {format_shape(x.shape)}")
    return (TensorType.of(x.dtype, shape),)
