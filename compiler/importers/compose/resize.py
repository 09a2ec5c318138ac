"""Resizing along axes of known size, and sampling at computed places: weighted sums of gathered neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import product
from compiler.graph.value import Value
from compiler.importers.compose.places import gather_along

_MOST_TAPS = 4  # beyond that a product with a table is less work than gathering
_LARGEST = 1 << 16  # sizes of a resized axis


def nearest(x: Value, axis: int, places: np.ndarray) -> Value:
    """The elements nearest to places along an axis."""
    size = x.shape[axis]
    assert isinstance(size, int)
    return ops.gather(x, np.clip(places, 0, size - 1).astype(np.int64), axis)


def cubic_weights(ratio: Any, a: float) -> list[Any]:
    """Keys' weights of the four neighbours of a place that is `ratio` past the second."""
    return [
        ((a * (ratio + 1) - 5 * a) * (ratio + 1) + 8 * a) * (ratio + 1) - 4 * a,
        ((a + 2) * ratio - (a + 3)) * ratio * ratio + 1,
        ((a + 2) * (1 - ratio) - (a + 3)) * (1 - ratio) * (1 - ratio) + 1,
        ((a * (2 - ratio) - 5 * a) * (2 - ratio) + 8 * a) * (2 - ratio) - 4 * a,
    ]


def neighbours(places: np.ndarray, size: int, mode: str, a: float, scale: float, outside: bool) -> tuple[Any, Any]:
    """The indices of each place's neighbours and their weights; `scale` below 1 widens them, where smoothing is asked.

    `outside` says whether neighbours beyond the edge count, as the edge.
    """
    reach = 2 if mode == "cubic" else 1
    base = np.floor(places).astype(np.int64)
    ratio = places - base
    if scale < 1:
        first = int(np.floor(-reach / scale)) + 1
        offsets = np.arange(first, 2 - first if mode == "cubic" else first + 2 - 2 * first)
        away = np.abs((offsets[None, :] - ratio[:, None]) * scale)
        weights = _cubic_curve(away, a) if mode == "cubic" else np.clip(1 - away, 0, 1)
        weights = weights / weights.sum(axis=1, keepdims=True)
    elif mode == "cubic":
        offsets, weights = np.arange(-1, 3), np.stack(cubic_weights(ratio, a), axis=1)
    else:
        offsets, weights = np.arange(0, 2), np.stack([1 - ratio, ratio], axis=1)
    index = base[:, None] + offsets[None, :]
    if not outside:
        weights = np.where((index < 0) | (index >= size), 0, weights)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(index, 0, size - 1), weights


def _cubic_curve(x: np.ndarray, a: float) -> np.ndarray:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def interpolated(x: Value, axis: int, index: np.ndarray, weights: np.ndarray) -> Value:
    """Sums of neighbours along an axis: `index` and `weights` have a row for each result."""
    count, taps = index.shape
    size = x.shape[axis]
    if isinstance(size, int) and max(count, size) > _LARGEST:
        raise GraphError(f"an axis resized from {size} to {count} is too large")
    if taps > _MOST_TAPS:
        assert isinstance(size, int)
        table = np.zeros((size, count))
        np.add.at(table, (index, np.arange(count)[:, None]), weights)
        return ops.moveaxis(ops.matmul(ops.moveaxis(x, axis, -1), ops.constant(table, x.dtype)), -1, axis)

    def weighted(tap: int) -> Value:
        weight = ops.constant(weights[:, tap].reshape(count, *(1,) * (x.rank - axis - 1)), x.dtype)
        return ops.mul(ops.gather(x, index[:, tap], axis), weight)

    return reduce(ops.add, map(weighted, range(taps)))


def sampled(
    x: Value, places: list[Value], mode: str, padding: str, aligned: bool, join: Callable[..., Value] = ops.add
) -> Value:
    """x (N, C, spatial...) at places (N, points): one value of coordinates for each spatial axis, in elements.

    `join` puts the weighted neighbours of a place together.
    """
    batch, channels, *sizes = x.shape
    if any(not isinstance(s, int) for s in sizes):
        raise GraphError("sampling needs an image of known size")
    flat = ops.reshape(x, (batch, channels, product(sizes)))
    taps = []
    for place, size in zip(places, sizes, strict=True):
        taps.append(_taps(place, int(size), mode, padding, aligned))  # type: ignore[arg-type]
    total: Value | None = None
    for chosen in itertools.product(*taps):
        index: Any = None
        weight: Any = None
        for (at, w), size in zip(chosen, sizes, strict=True):
            index = at if index is None else ops.add(ops.mul(index, int(size)), at)  # type: ignore[arg-type]
            weight = w if weight is None else ops.mul(weight, w) if w is not None else weight
        points = index.shape[1]
        wide = ops.broadcast_to(ops.expand_dims(index, 1), (batch, channels, points))
        part = gather_along(flat, wide, 2)
        part = part if weight is None else ops.mul(part, ops.cast(ops.expand_dims(weight, 1), x.dtype))
        total = part if total is None else join(total, part)
    assert total is not None
    return total


def grid_sampled(x: Value, grid: Value, mode: str, padding: str, aligned: bool) -> Value:
    """x (N, C, spatial...) at the places of a grid (N, ..., spatial), which are -1 to 1 from edge to edge."""
    spatial = x.rank - 2
    flat = ops.reshape(grid, (grid.shape[0], -1, spatial))
    places = []
    for at, size in enumerate(x.shape[2:]):
        if not isinstance(size, int):
            raise GraphError("sampling needs an image of known size")
        wide = ops.add(flat[:, :, spatial - 1 - at], 1)  # the grid names the last axis first
        if aligned:
            places.append(ops.mul(wide, (size - 1) / 2))
        else:
            places.append(ops.div(ops.sub(ops.mul(wide, float(size)), 1), 2.0))
    out = sampled(x, places, mode, padding, aligned)
    return ops.reshape(out, (*x.shape[:2], *grid.shape[1:-1]))


def _taps(place: Value, size: int, mode: str, padding: str, aligned: bool) -> list[tuple[Value, Value | None]]:
    """Indices inside the axis with their weights; what is padded with zeros has a weight of none."""
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
    if mode == "nearest":
        places: list[tuple[Value, Any]] = [(ops.round(place), None)]
    else:
        base = ops.floor(place)
        ratio = ops.sub(place, base)
        if mode == "cubic":
            weights, first = cubic_weights(ratio, -0.75), -1
        else:
            weights, first = [ops.sub(1, ratio), ratio], 0
        places = [(ops.add(base, first + at), w) for at, w in enumerate(weights)]
    out = []
    for at, weight in places:
        if padding == "reflection":
            at = reflected(at, low, high)
        elif padding == "zeros":
            inside = ops.cast(ops.logical_and(ops.greater_equal(at, 0), ops.less(at, size)), place.dtype)
            weight = inside if weight is None else ops.mul(weight, inside)
        elif padding != "border":
            raise GraphError(f"the padding {padding!r} is not zeros, border or reflection")
        out.append((ops.cast(ops.clip(at, 0, size - 1), "i64"), weight))
    return out


def reflected(x: Value, low: float, high: float) -> Value:
    """Places folded back at both edges until they are inside."""
    span = high - low
    if span <= 0:
        return ops.full_like(x, max(low, 0.0))
    turn = ops.mod(ops.sub(x, low), 2 * span)
    return ops.trunc(ops.add(ops.where(ops.greater(turn, span), ops.sub(2 * span, turn), turn), low))
