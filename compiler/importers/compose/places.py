"""Elements at computed places: gather and scatter along an axis or by coordinates, one-hot, the largest few.

Scattering is written from the result's side (which update arrives here?), so that it needs no op that writes to
computed places. Where results times updates along the axis are few, all are compared, which fuses with what is around;
many are sorted by their places first. The same holds of the largest few: beyond some thousands they are sorted. A size
that is not known yet may be many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim, product
from compiler.graph.dtypes import dtype_info, numpy_dtype
from compiler.graph.ops.ordering import argsort, scatter_sorted
from compiler.graph.types import Shape, Size
from compiler.graph.value import Value
from compiler.importers.compose.functions import size_value

_MOST_ROUNDS = 16  # of the largest by searching again and again; beyond that places are counted
_MOST_COUNTED = 2048  # elements of a row whose places are counted; longer rows are sorted
_UNKNOWN = 1 << 16  # what a size is taken for that is not known yet
_MOST_COMPARED = 1 << 22  # results times updates that are all compared; more are sorted


def wrapped(index: Value, size: Size) -> Value:
    """Indices below 0 count from the end."""
    index = ops.cast(index, "i64")
    return ops.where(ops.less(index, 0), ops.add(index, as_number(size)), index)


def as_number(size: Size) -> Any:
    """A size as an operand: a symbolic one as a value."""
    return size_value(size) if isinstance(size, Dim) else size


def gather_along(x: Value, index: Value, axis: int) -> Value:
    """result[.., i, ..] = x[.., index[.., i, ..], ..]: both have the same rank."""
    return ops.gather(ops.ravel(x), _flat_place(x, wrapped(index, x.shape[axis]), axis))


def _flat_place(x: Value, along: Value, axis: int) -> Value:
    """The number among all elements of x of the one at `along` on the axis, and at its own place on the others."""
    strides = _strides(x.shape)
    place = ops.mul(along, as_number(strides[axis]))
    for at in range(x.rank):
        if at != axis:
            place = ops.add(place, ops.mul(ops.iota(along.shape, at), as_number(strides[at])))
    return place


def _strides(shape: Shape) -> list[Size]:
    return [product(shape[at + 1 :]) for at in range(len(shape))]


def gather_coordinates(x: Value, index: Value, batch: int = 0) -> Value:
    """ONNX's GatherND: the last axis of `index` has coordinates of x after `batch` axes that both share."""
    depth = index.shape[-1]
    if isinstance(depth, Dim):
        raise GraphError("gather by coordinates: how many there are must be a number")
    lead, picked, rest = x.shape[:batch], x.shape[batch : batch + depth], x.shape[batch + depth :]
    strides = _strides((*lead, *picked))
    shape = index.shape[:-1]
    place = _place_of(index, picked, strides[batch:])
    for at in range(batch):
        place = ops.add(place, ops.mul(ops.iota(shape, at), as_number(strides[at])))
    return ops.gather(ops.reshape(x, (product((*lead, *picked)), *rest)), place, 0)


def _place_of(index: Value, sizes: Shape, strides: Sequence[Size]) -> Any:
    """Coordinates, along the last axis, as one number."""
    place: Any = None
    for at, size in enumerate(sizes):
        part = ops.mul(wrapped(index[..., at], size), as_number(strides[at]))
        place = part if place is None else ops.add(place, part)
    return place


def one_hot(index: Value, depth: int | Dim, axis: int = -1) -> Value:
    """Booleans: whether the place along a new axis is the one that `index` names."""
    at = axis % (index.rank + 1)
    places = ops.reshape(ops.iota((depth,)), (depth, *(1,) * (index.rank - at)))
    return ops.equal(ops.expand_dims(wrapped(index, depth), at), places)


_NEUTRAL = {"add": 0, "mul": 1}


def scatter_along(x: Value, index: Value, updates: Value, axis: int, reduction: str = "none") -> Value:
    """x with x[.., index[.., j, ..], ..] replaced by updates[.., j, ..], or combined with it; later updates win."""
    if _many(x.shape[axis], index.shape[axis]) and _combines(x, reduction):
        return _scatter_by_sorting(x, index, updates, axis, reduction)
    # Axis by axis the updates may be fewer than x has: those places are left alone.
    low = [0] * x.rank
    high = [0 if at == axis else x.shape[at] - index.shape[at] for at in range(x.rank)]
    index = wrapped(index, x.shape[axis])
    if any(h != 0 for h in high):
        widths = list(zip(low, high, strict=True))
        index, updates = ops.pad(index, widths, constant_values=-1), ops.pad(updates, widths)
    size = x.shape[axis]
    # arrives[.., i, j, ..]: update j goes to place i.
    places = ops.reshape(ops.iota((size,)), (size, 1, *(1,) * (x.rank - axis - 1)))
    arrives = ops.equal(ops.expand_dims(index, axis), places)
    return _arrived(x, updates, arrives, axis, reduction)


def _many(results: Size, updates: Size) -> bool:
    return _taken_for(results) * _taken_for(updates) > _MOST_COMPARED


def _taken_for(size: Size) -> int:
    return size if isinstance(size, int) else _UNKNOWN


def _combines(x: Value, reduction: str) -> bool:
    return x.dtype != "bool" or reduction == "none"


def _scatter_by_sorting(x: Value, index: Value, updates: Value, axis: int, reduction: str) -> Value:
    """Every update with the number of its place among all elements of x."""
    size = x.shape[axis]
    along = wrapped(index, size)
    inside = ops.logical_and(ops.greater_equal(along, 0), ops.less(along, as_number(size)))
    place = ops.where(inside, _flat_place(x, along, axis), -1)
    flat, new = ops.reshape(x, (product(x.shape), 1)), ops.reshape(updates, (product(updates.shape), 1))
    return ops.reshape(_sorted_in(flat, ops.ravel(place), new, reduction), x.shape)


def _sorted_in(x: Value, place: Value, updates: Value, reduction: str) -> Value:
    """Rows of x with updates at places."""
    if reduction not in ("none", "add", "mul", "min", "max"):
        raise GraphError(f"scatter: the reduction {reduction!r} is not none, add, mul, min or max")
    order = argsort(place)
    return scatter_sorted(x, ops.gather(place, order, 0), order, updates, reduction)


def _arrived(x: Value, updates: Value, arrives: Value, axis: int, reduction: str) -> Value:
    """Combine x with the updates that arrive; `arrives` has the updates' axis right after `axis`."""
    wide = ops.expand_dims(updates, axis)
    if reduction == "none":
        count = updates.shape[axis]
        number = ops.reshape(ops.iota((count,)), (count, *(1,) * (x.rank - axis - 1)))
        last = ops.max(ops.where(arrives, number, -1), axis=axis + 1)
        found = gather_along(updates, ops.maximum(last, 0), axis) if updates.rank == x.rank else updates
        return ops.where(ops.greater_equal(last, 0), found, x)
    if reduction in _NEUTRAL:
        fill = ops.cast(ops.constant(_NEUTRAL[reduction]), x.dtype)
        kept = ops.where(arrives, wide, fill)
        if reduction == "add":
            return ops.add(x, ops.sum(kept, axis=axis + 1, dtype=x.dtype))
        return ops.mul(x, ops.prod(kept, axis=axis + 1, dtype=x.dtype))
    if reduction not in ("min", "max"):
        raise GraphError(f"scatter: the reduction {reduction!r} is not none, add, mul, min or max")
    reduce, join = (ops.max, ops.maximum) if reduction == "max" else (ops.min, ops.minimum)
    best = reduce(ops.where(arrives, wide, extreme(x.dtype, reduction == "min")), axis=axis + 1)
    return ops.where(ops.any(arrives, axis=axis + 1), join(x, best), x)


def extreme(dtype: str, largest: bool) -> Value:
    """The largest or smallest number of a dtype, infinity for floats."""
    info = dtype_info(dtype)
    if info.kind == "f":
        return ops.cast(ops.constant(np.array(np.inf if largest else -np.inf, np.float64)), dtype)
    if info.kind == "b":
        return ops.constant(np.array(largest))
    limits = np.iinfo(numpy_dtype(dtype))
    return ops.constant(np.array(limits.max if largest else limits.min, numpy_dtype(dtype)))


def scatter_coordinates(x: Value, index: Value, updates: Value, reduction: str = "none") -> Value:
    """ONNX's ScatterND: each row of coordinates names a place, or a whole slice, of x."""
    depth = index.shape[-1]
    if isinstance(depth, Dim):
        raise GraphError("scatter by coordinates: how many there are must be a number")
    picked, rest = x.shape[:depth], x.shape[depth:]
    place = _place_of(index, picked, _strides(picked))
    rows, count, width = product(picked), product(index.shape[:-1]), product(rest)
    flat = ops.reshape(x, (rows, width))
    new = ops.reshape(updates, (count, width))
    if _many(rows, count) and _combines(x, reduction):
        return ops.reshape(_sorted_in(flat, ops.reshape(place, (count,)), new, reduction), x.shape)
    to = ops.broadcast_to(ops.reshape(place, (count, 1)), (count, width))
    return ops.reshape(scatter_along(flat, to, new, 0, reduction), x.shape)


def top_k(x: Value, k: Size, axis: int, largest: bool = True) -> tuple[Value, Value]:
    """The k largest (or smallest) along an axis in order, and where they are; of equal ones the first comes first.

    Of all there are, whether known yet or not, it is a sort.
    """
    at = axis % x.rank
    if k == 0:
        none = ops.slice(x, [0], [0], axes=[at])
        return none, ops.cast(none, "i64")
    size = x.shape[at]
    if isinstance(k, int) and k <= _MOST_ROUNDS:
        order = _by_searching(x, k, at, largest)
    elif isinstance(k, Dim) or _taken_for(size) > _MOST_COUNTED:
        order = ops.moveaxis(argsort(ops.moveaxis(x, at, -1), largest), -1, at)
        if k != size:  # as many as were asked for, whatever size a row turns out to have
            order = ops.gather(order, ops.iota((k,)), at)
    else:
        order = _by_counting(x, k, at, largest)
    return gather_along(x, order, at), order


def _by_searching(x: Value, k: int, axis: int, largest: bool) -> Value:
    """Where the extreme is, again and again without those found before."""
    search = ops.argmax if largest else ops.argmin
    numbers = ops.iota(x.shape, axis)
    taken: Value | None = None
    found = []
    for _ in range(k):
        if taken is None:
            place = search(x, axis=axis, keepdims=True)
        else:
            # What is taken is out of the race even where all that is left is equal to the worst there is.
            left = ops.where(taken, extreme(x.dtype, not largest), x)
            place = search(left, axis=axis, keepdims=True)
            again = ops.any(ops.logical_and(taken, ops.equal(numbers, place)), axis=axis, keepdims=True)
            first_left = ops.argmin(ops.cast(taken, "u8"), axis=axis, keepdims=True)
            place = ops.where(again, first_left, place)
        found.append(place)
        hit = ops.equal(numbers, place)
        taken = hit if taken is None else ops.logical_or(taken, hit)
    return ops.concat(found, axis)


def _by_counting(x: Value, k: int, axis: int, largest: bool) -> Value:
    """The place of each element is how many come before it."""
    a, b = ops.expand_dims(x, axis + 1), ops.expand_dims(x, axis)  # a: this one, b: the others, along axis + 1
    before = ops.greater(b, a) if largest else ops.less(b, a)
    size = x.shape[axis]
    mine = ops.reshape(ops.iota((size,)), (size, 1, *(1,) * (x.rank - axis - 1)))
    theirs = ops.reshape(ops.iota((size,)), (1, size, *(1,) * (x.rank - axis - 1)))
    first = ops.logical_and(ops.equal(b, a), ops.less(theirs, mine))
    rank = ops.sum(ops.logical_or(before, first), axis=axis + 1)
    wanted = ops.reshape(ops.iota((k,)), (k, 1, *(1,) * (x.rank - axis - 1)))
    here = ops.equal(ops.expand_dims(rank, axis), wanted)  # (.., k, size, ..)
    return ops.sum(
        ops.where(here, ops.reshape(ops.iota((size,)), (size, *(1,) * (x.rank - axis - 1))), 0), axis=axis + 1
    )
