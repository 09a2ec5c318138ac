"""Slices over sizes that may be symbolic, and the ops made of them."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.dims import Dim, ceildiv, minimum, surely_nonnegative
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, emit, tensors
from compiler.graph.ops.specs import define
from compiler.graph.opspec import Demand, free
from compiler.graph.rules import Attrs, check_length, normalize_axes, normalize_axis, refuse, sequence
from compiler.graph.types import Size, TensorType, as_shape, format_shape
from compiler.graph.value import Value

__all__ = ["chunk", "flip", "slice", "split"]


def _slice_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
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


def _inside(types: Sequence[TensorType], attrs: Attrs) -> Iterator[Demand]:
    """The first and the last element must be there, unless none is taken."""
    for start, step, length, size in zip(attrs["starts"], attrs["steps"], attrs["shape"], types[0].shape, strict=True):
        if not any(isinstance(v, Dim) for v in (start, length, size)):
            continue
        for index in (start, start + (length - 1) * step):
            message = f"element {index} is outside a size of {size}"
            yield index, message, length
            yield size - 1 - index, message, length


define(
    "slice", _slice_rule, attrs={"starts": "dims", "steps": "ints", "shape": "dims"}, flops=free, view=True, picks=True,
    demands=_inside,
)  # fmt: skip


Part = tuple[Size, int, Size]  # start, step, length


def _bound(op: str, value: Any) -> Size | None:
    if value is None or isinstance(value, Dim):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise GraphError(f"{op}: a slice is made of whole numbers and dims, not {value!r}")
    return value.__index__()


def slice_part(op: str, start: Any, stop: Any, step: Any, size: Size) -> Part:
    """Where a slice starts, its step and its length. On a symbolic size a start is taken to be inside; a stop that is a
    number may reach beyond the end, as in NumPy."""
    start, stop, step = (_bound(op, v) for v in (start, stop, step))
    step = 1 if step is None else step
    if not isinstance(step, int) or step == 0:
        raise GraphError(f"{op}: a slice step is a whole number other than 0, not {step}")
    if isinstance(size, int) and not isinstance(start, Dim) and not isinstance(stop, Dim):
        first, last, _ = builtins.slice(start, stop, step).indices(size)
        length = len(range(first, last, step))
        return (first if length else 0), step, length
    return _symbolic_part(op, start, stop, step, size)


def from_end(value: Size, size: Size) -> Size:
    """A negative number counts from the end; an expression over symbols is taken as it is."""
    return size + value if isinstance(value, int) and value < 0 else value


def _symbolic_part(op: str, start: Size | None, stop: Size | None, step: int, size: Size) -> Part:
    if step > 0:
        first = 0 if start is None else from_end(start, size)
        last = size if stop is None else from_end(stop, size)
        if isinstance(stop, int) and stop >= 0:
            last = minimum(last, size)
        span = last - first
    else:
        first = size - 1 if start is None else from_end(start, size)
        if isinstance(start, int) and start >= 0:
            first = minimum(first, size - 1)
        last = -1 if stop is None else from_end(stop, size)
        span = first - last
    length = ceildiv(span, builtins.abs(step))
    if isinstance(length, int) and length < 0:
        length = 0
    return first, step, length


def sliced(value: Value, parts: list[Part]) -> Value:
    """One slice op, unless every part is the whole axis."""
    if builtins.all(p == (0, 1, s) for p, s in zip(parts, value.shape, strict=True)):
        return value
    starts, steps, shape = zip(*parts, strict=True)
    return emit("slice", (value,), {"starts": starts, "steps": steps, "shape": shape})


@builder
def slice(x: Operand, starts: Any, stops: Any, steps: Any = None, axes: Any = None) -> Value:
    """A slice of each given axis (the first ones when no axes are given); None and negative numbers as in `x[a:b:c]`.

    >>> ops.slice(x, [1], [None])
    <slice_0: f32 (M - 1, 4)>
    """
    (value,) = tensors("slice", x)
    starts, stops = sequence("slice", "starts", starts), sequence("slice", "stops", stops)
    chosen = (
        list(range(len(starts)))
        if axes is None
        else [normalize_axis("slice", a, value.rank) for a in sequence("slice", "axes", axes)]
    )
    steps = [1] * len(chosen) if steps is None else sequence("slice", "steps", steps)
    if not len(starts) == len(stops) == len(steps) == len(chosen) or len(set(chosen)) != len(chosen):
        raise GraphError("slice: starts, stops, steps and axes must pair up, each axis once")
    if builtins.any(a >= value.rank for a in chosen):
        raise GraphError(f"slice: {len(chosen)} axes are sliced, but the shape is {format_shape(value.shape)}")
    parts: list[Part] = [(0, 1, s) for s in value.shape]
    for axis, start, stop, step in zip(chosen, starts, stops, steps, strict=True):
        parts[axis] = slice_part("slice", start, stop, step, value.shape[axis])
    return sliced(value, parts)


@builder
def flip(x: Operand, axis: Any = None) -> Value:
    """The order reversed along some axes, or all.

    >>> ops.flip(x, axis=0)
    <slice_0: f32 (M, 4)>
    """
    (value,) = tensors("flip", x)
    axes = normalize_axes("flip", axis, value.rank)
    parts: list[Part] = [(s - 1, -1, s) if at in axes and s != 0 else (0, 1, s) for at, s in enumerate(value.shape)]
    return sliced(value, parts)


@builder
def split(x: Operand, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Cut into so many equal parts, or at the given places.

    >>> ops.split(x, 2, axis=1)
    [<slice_0: f32 (M, 2)>, <slice_1: f32 (M, 2)>]
    """
    (value,) = tensors("split", x)
    at = normalize_axis("split", axis, value.rank)
    size = value.shape[at]
    if isinstance(indices_or_sections, (tuple, list, np.ndarray)):
        cuts = list(indices_or_sections)
        edges = list(zip([None, *cuts], [*cuts, None], strict=True))
    else:
        count = indices_or_sections
        if not isinstance(count, int) or count < 1 or size % count != 0:
            raise GraphError(
                f"split: axis {at} of shape {format_shape(value.shape)} does not split into {count!r} equal parts"
            )
        width = size // count
        edges = [(width * i, width * (i + 1)) for i in range(count)]
    out: list[Value] = []
    for start, stop in edges:
        parts: list[Part] = [(0, 1, s) for s in value.shape]
        parts[at] = slice_part("split", start, stop, 1, size)
        out.append(sliced(value, parts))
    return out


@builder
def chunk(x: Operand, chunks: int, dim: int = 0) -> list[Value]:
    """Cut into at most so many parts of one size (the last may be smaller), as torch.chunk.

    >>> ops.chunk(x, 2, dim=1)
    [<slice_0: f32 (M, 2)>, <slice_1: f32 (M, 2)>]
    """
    (value,) = tensors("chunk", x)
    size = value.shape[normalize_axis("chunk", dim, value.rank)]
    if not isinstance(chunks, int) or chunks < 1:
        raise GraphError(f"chunk: the number of chunks is at least 1, not {chunks!r}")
    if isinstance(size, Dim) or size % chunks == 0:
        return split(value, chunks, dim)
    width = -(-size // chunks)
    return split(value, list(range(width, size, width)), dim)
