"""Indexing by numbers, slices, None and Ellipsis, and ops that put elements in other places: concat, pad, gather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.broadcasting import common_dtype, fits
from compiler.graph.dims import Dim
from compiler.graph.dtypes import dtype_info
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, as_tensor, emit, find_graph, is_scalar, reshaped, tensors, to_dtype
from compiler.graph.ops.slicing import Part, from_end, slice_part, sliced
from compiler.graph.ops.specs import define
from compiler.graph.opspec import MANY, Demand, free, not_empty
from compiler.graph.rules import (
    Attrs,
    check_axis,
    check_dtype,
    check_length,
    normalize_axes,
    normalize_axis,
    refuse,
    sequence,
)
from compiler.graph.types import Shape, Size, TensorType, as_shape, as_size, format_shape
from compiler.graph.value import Value

__all__ = [
    "cat", "concat", "concatenate", "embedding", "gather", "getitem", "pad", "repeat", "roll", "stack", "take",
    "tile",
]  # fmt: skip


def _concat_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
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


def _pad_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """`low` elements before and `high` after each axis."""
    (x,) = types
    low, high = as_shape(attrs["low"]), as_shape(attrs["high"])
    check_length("mo.pad", "low", low, x.rank)
    check_length("mo.pad", "high", high, x.rank)
    value, kind = attrs["value"], dtype_info(x.dtype).kind
    if type(value) is not (bool if kind == "b" else float if kind == "f" else int) or not fits(value, x.dtype):
        refuse("mo.pad", f"the value {value!r} is not a {x.dtype}")
    return (TensorType.of(x.dtype, tuple(lo + s + hi for lo, s, hi in zip(low, x.shape, high, strict=True))),)


def _gather_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """The axis replaced by the shape of the indices, as np.take does."""
    x, indices = types
    check_dtype("mo.gather", indices.dtype, frozenset({"i32", "i64"}), "index")
    axis = check_axis("mo.gather", attrs["axis"], x.rank)
    if x.shape[axis] == 0 and 0 not in indices.shape:
        refuse("mo.gather", f"axis {axis} of shape {format_shape(x.shape)} is empty")
    return (TensorType.of(x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1 :]),)


def _tile_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Each axis repeated."""
    (x,) = types
    repeats = as_shape(attrs["repeats"])
    check_length("mo.tile", "repeats", repeats, x.rank)
    return (TensorType.of(x.dtype, tuple(s * r for s, r in zip(x.shape, repeats, strict=True))),)


def _something_to_gather(types: Sequence[TensorType], attrs: Attrs) -> Iterator[Demand]:
    """The axis has elements, unless none is asked for."""
    x, indices = types
    return not_empty(x.shape, attrs["axis"], indices.size)


define("concat", _concat_rule, (1, MANY), attrs={"axis": "int"}, flops=free)
define("pad", _pad_rule, attrs={"low": "dims", "high": "dims", "value": "scalar"}, flops=free)
define("gather", _gather_rule, 2, attrs={"axis": "int"}, flops=free, picks=True, demands=_something_to_gather)
define("tile", _tile_rule, attrs={"repeats": "dims"}, flops=free, repeats=True)


def _together(op: str, arrays: Sequence[Operand]) -> list[Value]:
    """Operands in their common dtype."""
    if isinstance(arrays, Value) or not isinstance(arrays, (tuple, list)) or not arrays:
        raise GraphError(f"{op}: needs a list of at least one value")
    graph = find_graph(op, arrays)
    values = [as_tensor(op, a, graph) for a in arrays if not is_scalar(a)]
    scalars: list[Any] = [a for a in arrays if is_scalar(a)]
    dtype = common_dtype([v.dtype for v in values], scalars)
    rest = iter(values)
    return [as_tensor(op, a, graph, dtype) if is_scalar(a) else to_dtype(next(rest), dtype) for a in arrays]


@builder
def concat(arrays: Sequence[Operand], axis: int = 0) -> Value:
    """Joined along an axis.

    >>> ops.concat([x, x, ops.zeros((1, 4), "f32")])
    <concat_0: f32 (2*M + 1, 4)>
    """
    values = _together("concat", arrays)
    at = normalize_axis("concat", axis, values[0].rank)
    return values[0] if len(values) == 1 else emit("concat", values, {"axis": at})


@builder
def stack(arrays: Sequence[Operand], axis: int = 0) -> Value:
    """Joined along a new axis.

    >>> ops.stack([x, x], axis=1)
    <concat_0: f32 (M, 2, 4)>
    """
    values = _together("stack", arrays)
    shape = values[0].shape
    for other in values[1:]:
        if other.shape != shape:
            raise GraphError(f"stack: shapes {format_shape(shape)} and {format_shape(other.shape)} differ")
    at = normalize_axis("stack", axis, len(shape) + 1)
    wide = [reshaped(v, (*shape[:at], 1, *shape[at:])) for v in values]
    return wide[0] if len(wide) == 1 else emit("concat", wide, {"axis": at})


@builder
def pad(x: Operand, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Value:
    """Constants put around: `pad_width` is a number, a pair (before, after), or a pair for each axis.

    >>> ops.pad(x, ((1, 1), (0, 0)))
    <pad_0: f32 (M + 2, 4)>
    """
    (value,) = tensors("pad", x)
    if mode != "constant":
        raise GraphError(f"pad: mode must be 'constant', not {mode!r}")
    if not is_scalar(constant_values):
        raise GraphError(f"pad: constant_values must be one number, not {constant_values!r}")
    low, high = _pad_pairs(pad_width, value.rank)
    if all(size == 0 for size in low + high):
        return value
    return emit("pad", (value,), {"low": low, "high": high, "value": _pad_value(constant_values, value.dtype)})


def _pad_pairs(width: Any, rank: int) -> tuple[Shape, Shape]:
    def is_size(value: Any) -> bool:
        return isinstance(value, Dim) or (hasattr(value, "__index__") and not hasattr(value, "__len__"))

    if is_size(width):
        pairs: list[Any] = [(width, width)] * rank
    else:
        pairs = [tuple(p) if not is_size(p) else p for p in sequence("pad", "pad_width", width)]
        if len(pairs) == 2 and all(is_size(p) for p in pairs):
            pairs = [tuple(pairs)] * rank
        pairs = [(p[0], p[0]) if isinstance(p, tuple) and len(p) == 1 else p for p in pairs]
        pairs = pairs * rank if len(pairs) == 1 else pairs
    if len(pairs) != rank or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
        raise GraphError(f"pad: pad_width {width!r} does not give a pair (before, after) for each of {rank} axes")
    return tuple(as_size(p[0]) for p in pairs), tuple(as_size(p[1]) for p in pairs)


def _pad_value(number: bool | int | float, dtype: str) -> bool | int | float:
    """The number as the dtype has it, so that the attribute says what is stored."""
    kind = dtype_info(dtype).kind
    if kind == "b":
        return bool(number)
    if kind == "f":
        return float(number)
    if (isinstance(number, float) and number != int(number)) or not fits(int(number), dtype):
        raise GraphError(f"pad: the number {number} does not fit in {dtype}")
    return int(number)


@builder
def gather(x: Operand, indices: Operand, axis: int = 0) -> Value:
    """The elements at some places along an axis (np.take); an index below 0 counts from the end, others are clamped.

    >>> ops.gather(x, [0, 2, 2], axis=1)
    <gather_0: f32 (M, 3)>
    """
    graph = find_graph("gather", (x, indices))
    value, index = as_tensor("gather", x, graph), as_tensor("gather", indices, graph)
    kind = dtype_info(index.dtype).kind
    if kind not in "iu":
        raise GraphError(
            f"gather: indices must be integers, not {index.dtype}" + ("; use ops.where" if kind == "b" else "")
        )
    index = index if index.dtype in ("i32", "i64") else to_dtype(index, "i64")
    return emit("gather", (value, index), {"axis": normalize_axis("gather", axis, value.rank)})


@builder
def getitem(x: Value, index: Any) -> Value:
    """What `x[index]` is: numbers drop an axis, slices keep it, None adds one, one array or value of integers gathers.

    >>> x[..., ::2]
    <slice_0: f32 (M, 2)>
    >>> x[1:, None, -1]
    <slice_1: f32 (M - 1, 1)>
    """
    (value,) = tensors("getitem", x)
    entries = list(index) if isinstance(index, tuple) else [index]
    entries = _without_ellipsis(value, entries)
    parts: list[Part] = []
    shape: list[Size] = []
    taken: tuple[int, Any] | None = None
    for entry in entries:
        if entry is None:
            shape.append(1)
            continue
        size = value.shape[len(parts)]
        if isinstance(entry, slice):
            parts.append(slice_part("getitem", entry.start, entry.stop, entry.step, size))
            shape.append(parts[-1][2])
        elif isinstance(entry, (Value, np.ndarray, list)):
            if taken is not None:
                raise GraphError("getitem: at most one index may be an array or a value")
            taken = (len(shape), entry)
            parts.append((0, 1, size))
            shape.append(size)
        else:
            parts.append((_number(value, entry, len(parts), size), 1, 1))
    if taken is not None and len(parts) + sum(e is None for e in entries) != len(shape):
        raise GraphError("getitem: an array index does not go with a number; index twice")
    result = reshaped(sliced(value, parts), tuple(shape))
    return result if taken is None else gather(result, taken[1], axis=taken[0])


def _without_ellipsis(value: Value, entries: list[Any]) -> list[Any]:
    used = sum(1 for e in entries if e is not None and e is not Ellipsis)
    dots = [at for at, e in enumerate(entries) if e is Ellipsis]
    if used > value.rank:
        raise GraphError(f"getitem: {used} indices for {value!r}")
    if len(dots) > 1:
        raise GraphError("getitem: at most one '...'")
    at = dots[0] if dots else len(entries)
    return entries[:at] + [slice(None)] * (value.rank - used) + entries[at + 1 :]


def _number(value: Value, entry: Any, axis: int, size: Size) -> Size:
    if isinstance(entry, Dim):
        return entry
    if isinstance(entry, (bool, np.bool_)) or not hasattr(entry, "__index__"):
        raise GraphError(
            f"getitem: an index is a number, slice, None, '...' or integer array, not {type(entry).__name__}"
        )
    number = entry.__index__()
    if isinstance(size, int) and not -size <= number < size:
        raise GraphError(f"getitem: index {number} is outside axis {axis} of shape {format_shape(value.shape)}")
    return from_end(number, size)


@builder
def take(x: Operand, indices: Operand, axis: int | None = None) -> Value:
    """gather with NumPy's default: without an axis, of the flat array.

    >>> ops.take(n, [0, 5])
    <gather_0: i32 (2,)>
    """
    (value,) = tensors("take", x)
    return gather(reshaped(value, (value.size,)), indices, 0) if axis is None else gather(value, indices, axis)


@builder
def embedding(input: Operand, weight: Operand) -> Value:
    """The rows of `weight` that `input` names, as torch.nn.functional.embedding.

    >>> ops.embedding(n, np.ones((10, 8), np.float32))
    <gather_0: f32 (2, 3, 8)>
    """
    return gather(weight, input, 0)


@builder
def tile(x: Operand, reps: Any) -> Value:
    """Repeated along each axis; missing axes are put in front.

    >>> ops.tile(x, (2, 3))
    <tile_0: f32 (2*M, 12)>
    """
    (value,) = tensors("tile", x)
    repeats: list[Size] = [as_size(r) for r in (reps if isinstance(reps, (tuple, list)) else (reps,))]
    rank = max(len(repeats), value.rank)
    repeats = [1] * (rank - len(repeats)) + repeats
    wide = reshaped(value, (1,) * (rank - value.rank) + value.shape)
    return wide if all(r == 1 for r in repeats) else emit("tile", (wide,), {"repeats": tuple(repeats)})


@builder
def repeat(x: Operand, repeats: int, axis: int | None = None) -> Value:
    """Each element repeated so many times along an axis (of the flat array when None), as np.repeat.

    >>> ops.repeat(x, 2, axis=1)
    <reshape_1: f32 (M, 8)>
    """
    (value,) = tensors("repeat", x)
    value = reshaped(value, (value.size,)) if axis is None else value
    at = normalize_axis("repeat", 0 if axis is None else axis, value.rank)
    count, shape = as_size(repeats), value.shape
    apart = reshaped(value, (*shape[: at + 1], 1, *shape[at + 1 :]))
    wide = emit("broadcast_to", (apart,), {"shape": (*shape[: at + 1], count, *shape[at + 1 :])})
    return reshaped(wide, (*shape[:at], shape[at] * count, *shape[at + 1 :]))


@builder
def roll(x: Operand, shift: int, axis: int | None = None) -> Value:
    """Moved along an axis, what falls off coming back at the start (of the flat array when None).

    >>> ops.roll(x, 1, axis=1)
    <concat_0: f32 (M, 4)>
    """
    (value,) = tensors("roll", x)
    if axis is None:
        return reshaped(roll(reshaped(value, (value.size,)), shift, 0), value.shape)
    (at,) = normalize_axes("roll", axis, value.rank)
    size = value.shape[at]
    if not isinstance(shift, int) or (isinstance(size, Dim) and shift < 0):
        raise GraphError(f"roll: cannot shift axis {at} of {value!r} by {shift!r}")
    shift = shift % size if isinstance(size, int) and size else shift
    if shift == 0 or size == 0:
        return value
    ends = []
    for start, stop in ((-shift, None), (None, -shift)):
        parts: list[Part] = [(0, 1, s) for s in value.shape]
        parts[at] = slice_part("roll", start, stop, 1, size)
        ends.append(sliced(value, parts))
    return emit("concat", ends, {"axis": at})


concatenate = cat = concat
