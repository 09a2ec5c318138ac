"""Reductions, and what works along one axis: softmax, running sums, where the largest is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import product
from compiler.graph.value import Value
from compiler.importers.compose.functions import kind, log_sum_exp, size_value
from compiler.importers.compose.places import extreme, top_k
from compiler.importers.onnx.node import Handler, Node, axis_of

Along = Callable[[Value, Any, bool], Value]


def _reduction(build: Along) -> Handler:
    """Axes are an attribute before opset 18 (13 for sums) and an input after."""

    def run(node: Node) -> Value:
        x, axes = node.x(), node.listed("axes", 1)
        if axes is not None and not axes:
            axes = None
        if axes is None and node.attr("noop_with_empty_axes", 0):
            return build(x, (), True)
        if axes is not None:
            axes = [axis_of(a, x.rank) for a in axes]
        return build(x, None if axes is None else tuple(axes), bool(node.attr("keepdims", 1)))

    return run


def _sum(x: Value, axes: Any, keep: bool) -> Value:
    return x if axes == () else ops.sum(x, axes, dtype=x.dtype, keepdims=keep)


def _prod(x: Value, axes: Any, keep: bool) -> Value:
    return x if axes == () else ops.prod(x, axes, dtype=x.dtype, keepdims=keep)


def _mean(x: Value, axes: Any, keep: bool) -> Value:
    return x if axes == () else ops.cast(ops.mean(x, axes, keepdims=keep), x.dtype)


def _extreme(largest: bool) -> Along:
    reduce = ops.max if largest else ops.min

    def run(x: Value, axes: Any, keep: bool) -> Value:
        if axes == ():
            return x
        every = range(x.rank) if axes is None else axes
        if any(x.shape[a] == 0 for a in every):  # of nothing it is the worst there is
            shape = [1 if at in every else s for at, s in enumerate(x.shape) if keep or at not in every]
            return ops.broadcast_to(extreme(x.dtype, not largest), tuple(shape))
        return reduce(x, axes, keep)

    return run


def _l1(x: Value, axes: Any, keep: bool) -> Value:
    return _sum(ops.abs(x), axes, keep)


def _l2(x: Value, axes: Any, keep: bool) -> Value:
    total = _sum(ops.mul(x, x), axes, keep)
    return ops.cast(ops.sqrt(ops.cast(total, "f64") if kind(x) != "f" else total), x.dtype)


def _log_sum(x: Value, axes: Any, keep: bool) -> Value:
    return ops.cast(ops.log(_sum(x, axes, keep)), x.dtype)


def _log_sum_exp(x: Value, axes: Any, keep: bool) -> Value:
    if axes == ():
        return x
    every = range(x.rank) if axes is None else axes
    if any(x.shape[a] == 0 for a in every):
        return ops.log(_sum(ops.exp(x), axes, keep))
    wide = x if kind(x) == "f" else ops.cast(x, "f64")
    total = log_sum_exp(wide, axes)
    if not keep:
        total = ops.squeeze(total, tuple(every))
    return ops.cast(total, x.dtype)


def _sum_square(x: Value, axes: Any, keep: bool) -> Value:
    return _sum(ops.mul(x, x), axes, keep)


def _arg(search: Callable[..., Value]) -> Handler:
    def run(node: Node) -> Value:
        x = node.x()
        axis = axis_of(node.attr("axis", 0), x.rank)
        keep = bool(node.attr("keepdims", 1))
        if not node.attr("select_last_index", 0):
            return search(x, axis, keep)
        size = x.shape[axis]
        back = search(ops.flip(x, axis), axis, keep)
        return ops.sub(size_value(size - 1), back)

    return run


def _along(build: Callable[..., Value]) -> Handler:
    """Before opset 13 everything from the axis on is one axis."""

    def run(node: Node) -> Value:
        x = node.x()
        axis = axis_of(node.attr("axis", -1 if node.opset >= 13 else 1), x.rank)
        if node.opset >= 13 or axis == x.rank - 1:
            return build(x, axis)
        flat = ops.reshape(x, (product(x.shape[:axis]), product(x.shape[axis:])))
        return ops.reshape(build(flat, 1), x.shape)

    return run


def _hardmax(x: Value, axis: int) -> Value:
    return ops.cast(ops.equal(ops.iota(x.shape, axis), ops.argmax(x, axis, True)), x.dtype)


def _running(node: Node, build: Callable[[Value, int], Value], first: int) -> Value:
    x = node.x()
    axis = axis_of(int(node.number(1)), x.rank)
    if node.attr("reverse", 0):
        x = ops.flip(x, axis)
    total = build(x, axis)
    if node.attr("exclusive", 0):
        widths = [(0, 0)] * x.rank
        widths[axis] = (1, 0)
        total = ops.pad(ops.slice(total, [0], [-1], axes=[axis]), widths, constant_values=first)
    return ops.flip(total, axis) if node.attr("reverse", 0) else total


def _products(x: Value, axis: int) -> Value:
    """Running products by doubling: each step joins spans twice as long."""
    size = x.shape[axis]
    if not isinstance(size, int):
        raise GraphError(f"a running product needs a known size, not {size}")
    step = 1
    while step < size:
        widths = [(0, 0)] * x.rank
        widths[axis] = (step, 0)
        x = ops.mul(x, ops.pad(ops.slice(x, [0], [size - step], axes=[axis]), widths, constant_values=1))
        step *= 2
    return x


def _top_k(node: Node) -> tuple[Value, Value]:
    x = node.x()
    count = int(node.number(1)) if node.opset >= 10 else node.need("k")
    axis = axis_of(node.attr("axis", -1), x.rank)
    size = x.shape[axis]
    if count < 0 or (isinstance(size, int) and count > size):
        raise GraphError(f"the {count} largest of {size}")
    return top_k(x, count, axis, bool(node.attr("largest", 1)))


REDUCTIONS: dict[str, Handler] = {
    "ReduceSum": _reduction(_sum), "ReduceProd": _reduction(_prod), "ReduceMean": _reduction(_mean),
    "ReduceMax": _reduction(_extreme(True)), "ReduceMin": _reduction(_extreme(False)), "ReduceL1": _reduction(_l1),
    "ReduceL2": _reduction(_l2), "ReduceLogSum": _reduction(_log_sum), "ReduceLogSumExp": _reduction(_log_sum_exp),
    "ReduceSumSquare": _reduction(_sum_square), "ArgMax": _arg(ops.argmax), "ArgMin": _arg(ops.argmin),
    "Softmax": _along(ops.softmax), "LogSoftmax": _along(ops.log_softmax), "Hardmax": _along(_hardmax),
    "CumSum": lambda node: _running(node, lambda x, axis: ops.cumsum(x, axis, x.dtype), 0),
    "CumProd": lambda node: _running(node, _products, 1),
    "TopK": _top_k,
}  # fmt: skip
