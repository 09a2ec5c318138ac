"""Elements at other places: slices, padding, gather and scatter, one-hot, sequences turned around."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.value import Value
from compiler.importers.compose.functions import kind
from compiler.importers.compose.padding import padded
from compiler.importers.compose.places import (
    as_number,
    gather_along,
    gather_coordinates,
    one_hot,
    scatter_along,
    scatter_coordinates,
)
from compiler.importers.onnx.node import Handler, Node, axis_of

_FAR = 2**31 - 1  # what stands for "to the end" in older exporters; newer ones use 2**63 - 1


def _gather(node: Node) -> Value:
    x = node.x()
    return ops.gather(x, node.x(1), axis_of(node.attr("axis", 0), x.rank))


def _gather_elements(node: Node) -> Value:
    x = node.x()
    return gather_along(x, node.x(1), axis_of(node.attr("axis", 0), x.rank))


def _slice(node: Node) -> Value:
    x = node.x()
    if node.opset < 10:
        starts, stops = list(node.need("starts")), list(node.need("ends"))
        axes, steps = node.attr("axes"), None
    else:
        starts, stops = node.sizes(1), node.sizes(2)
        axes = node.ints(3) if node.has(3) else None
        steps = node.ints(4) if node.has(4) else None
    axes = [axis_of(a, x.rank) for a in (range(len(starts)) if axes is None else axes)]
    steps = [1] * len(starts) if steps is None else steps
    firsts: list[Any] = []
    lasts: list[Any] = []
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        first, last = _bounds(start, stop, x.shape[axis], step)
        firsts.append(first)
        lasts.append(last)
    return ops.slice(x, firsts, lasts, steps, axes)


def _bounds(start: Any, stop: Any, size: Any, step: int) -> tuple[Any, Any]:
    """Start and stop as Python has them: far away means the end."""
    if (
        (isinstance(stop, int) and abs(stop) >= _FAR)
        or (step < 0 and isinstance(stop, int) and isinstance(size, int) and stop < -size)
        or (step > 0 and stop == size)
    ):
        stop = None
    if isinstance(start, int) and abs(start) >= _FAR:
        start = None if (start > 0) == (step < 0) else start
    return start, stop


def _pad(node: Node) -> Value:
    x = node.x()
    if node.opset < 11:
        pads, value = list(node.need("pads")), node.attr("value", 0.0)
    else:
        pads = node.sizes(1)
        value = node.number(2) if node.has(2) and node.tensor(2).content is not None else node.maybe(2)
    axes = [axis_of(a, x.rank) for a in (node.ints(3) if node.has(3) else range(x.rank))]
    if len(pads) != 2 * len(axes):
        raise GraphError(f"{len(pads)} pads for {len(axes)} axes")
    low: list[Any] = [0] * x.rank
    high: list[Any] = [0] * x.rank
    for at, axis in enumerate(axes):
        low[axis], high[axis] = pads[at], pads[len(axes) + at]
    mode = node.attr("mode", "constant")
    for axis in range(x.rank):  # a negative padding cuts off
        if any(isinstance(p, int) and p < 0 for p in (low[axis], high[axis])):
            first, last = max(-low[axis], 0), -max(-high[axis], 0)
            x = ops.slice(x, [first], [last or None], axes=[axis])
            low[axis], high[axis] = max(low[axis], 0), max(high[axis], 0)
    if mode == "constant":
        return _constant_pad(x, low, high, value)
    for axis in range(x.rank):
        if low[axis] != 0 or high[axis] != 0:
            x = padded(x, axis, low[axis], high[axis], mode)
    return x


def _constant_pad(x: Value, low: list[Any], high: list[Any], value: Any) -> Value:
    widths = list(zip(low, high, strict=True))
    if not isinstance(value, Value):
        return ops.pad(x, widths, constant_values=0 if value is None else value)
    inside = ops.pad(ops.ones(x.shape, "bool"), widths, constant_values=False)
    return ops.where(inside, ops.pad(x, widths), ops.reshape(value, ()))


def _scatter_elements(node: Node) -> Value:
    x = node.x()
    axis = axis_of(node.attr("axis", 0), x.rank)
    return scatter_along(x, node.x(1), node.x(2), axis, node.attr("reduction", "none"))


def _tensor_scatter(node: Node) -> Value:
    """A cache with new rows written from a place of its own in each batch."""
    cache, new = node.x(), node.x(1)
    axis = axis_of(node.attr("axis", -2), cache.rank)
    length, count = cache.shape[axis], new.shape[axis]
    start = node.maybe(2)
    batch = cache.shape[0]
    first = ops.zeros((batch,), "i64") if start is None else ops.cast(start, "i64")
    first = ops.reshape(first, (batch, *(1,) * (cache.rank - 1)))
    number = ops.iota(cache.shape, axis)
    offset = ops.sub(number, first)
    if node.attr("mode", "linear") == "circular":
        offset = ops.mod(offset, as_number(length))
    inside = ops.logical_and(ops.greater_equal(offset, 0), ops.less(offset, as_number(count)))
    found = gather_along(new, ops.clip(offset, 0, as_number(count - 1)), axis)
    return ops.where(inside, found, cache)


def _one_hot(node: Node) -> Value:
    index, depth, values = node.x(), int(node.number(1)), node.x(2)
    axis = node.attr("axis", -1)
    if kind(index) == "f":
        index = ops.cast(index, "i64")
    return ops.where(one_hot(index, depth, axis), values[1], values[0])


def _compress(node: Node) -> Value:
    x, keep = node.x(), np.flatnonzero(node.known(1))
    axis = node.attr("axis")
    return ops.gather(ops.ravel(x), keep, 0) if axis is None else ops.gather(x, keep, axis_of(axis, x.rank))


def _reverse_sequence(node: Node) -> Value:
    x, lengths = node.x(), ops.cast(node.x(1), "i64")
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    shape = [1] * x.rank
    shape[batch] = x.shape[batch]  # type: ignore[call-overload]
    lengths = ops.reshape(lengths, shape)
    number = ops.iota(x.shape, time)
    turned = ops.sub(ops.sub(lengths, 1), number)
    return gather_along(x, ops.where(ops.less(number, lengths), turned, number), time)


INDEXING: dict[str, Handler] = {
    "Gather": _gather, "GatherElements": _gather_elements,
    "GatherND": lambda node: gather_coordinates(node.x(), node.x(1), node.attr("batch_dims", 0)),
    "Slice": _slice, "Pad": _pad,
    "ScatterElements": _scatter_elements, "Scatter": _scatter_elements,
    "ScatterND": lambda node: scatter_coordinates(node.x(), node.x(1), node.x(2), node.attr("reduction", "none")),
    "TensorScatter": _tensor_scatter, "OneHot": _one_hot, "Compress": _compress,
    "ReverseSequence": _reverse_sequence, "NonZero": lambda node: np.array(np.nonzero(node.known(0)), np.int64),
}  # fmt: skip
