"""Normalisations."""

from __future__ import annotations

from functools import reduce
from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import product
from compiler.graph.value import Value
from compiler.importers.onnx.node import Handler, Node, axis_of
from compiler.importers.onnx.reading import type_name


def _per_channel(vector: Value, x: Value) -> Value:
    return ops.reshape(vector, (vector.shape[0], *(1,) * (x.rank - 2)))


def _batch_norm(node: Node) -> Value | list[Value]:
    if node.attr("training_mode", 0):
        return _training(node)
    x, scale, bias, mean, variance = (node.x(at) for at in range(5))
    factor = ops.mul(scale, ops.rsqrt(ops.add(variance, node.attr("epsilon", 1e-5))))
    shift = ops.sub(bias, ops.mul(mean, factor))
    return ops.add(ops.mul(x, _per_channel(factor, x)), _per_channel(shift, x))


def _training(node: Node) -> list[Value]:
    x, scale, bias, mean, variance = (node.x(at) for at in range(5))
    momentum, axes = node.attr("momentum", 0.9), (0, *range(2, x.rank))
    now, spread = ops.mean(x, axes), ops.var(x, axes)
    factor = ops.mul(scale, ops.rsqrt(ops.add(spread, node.attr("epsilon", 1e-5))))
    result = ops.add(ops.mul(ops.sub(x, _per_channel(now, x)), _per_channel(factor, x)), _per_channel(bias, x))
    running = [
        ops.add(ops.mul(old, momentum), ops.mul(new, 1 - momentum)) for old, new in ((mean, now), (variance, spread))
    ]
    return [result, *running]


def _instance_norm(node: Node) -> Value:
    x, scale, bias = (node.x(at) for at in range(3))
    axes = tuple(range(2, x.rank))
    away = ops.sub(x, ops.mean(x, axes, keepdims=True))
    spread = ops.mean(ops.mul(away, away), axes, keepdims=True)
    even = ops.mul(away, ops.rsqrt(ops.add(spread, node.attr("epsilon", 1e-5))))
    return ops.add(ops.mul(even, _per_channel(scale, x)), _per_channel(bias, x))


def _layer_norm(node: Node) -> list[Value]:
    x, scale, bias = node.x(), node.x(1), node.maybe(2)
    axis, eps = axis_of(node.attr("axis", -1), x.rank), node.attr("epsilon", 1e-5)
    dtype = x.dtype
    inner = x.shape[axis:]
    flat = ops.reshape(x, (*x.shape[:axis], product(inner)))
    if node.outputs == 1 and scale.shape == inner and (bias is None or bias.shape == inner):
        vectors = [None if v is None else ops.ravel(v) for v in (scale, bias)]
        return [ops.reshape(ops.layer_norm(flat, vectors[0], vectors[1], eps), x.shape)]
    # The statistics are results too: they are f32 unless said otherwise.
    stash = type_name(node.attr("stash_type", 1))
    wide = ops.cast(flat, stash)
    mean = ops.mean(wide, -1, keepdims=True)
    away = ops.sub(wide, mean)
    inverse = ops.rsqrt(ops.add(ops.mean(ops.mul(away, away), -1, keepdims=True), eps))
    even = ops.mul(ops.cast(ops.reshape(ops.mul(away, inverse), x.shape), dtype), scale)
    even = even if bias is None else ops.add(even, bias)
    kept = (*x.shape[:axis], *(1,) * len(inner))
    return [even, ops.reshape(mean, kept), ops.reshape(inverse, kept)]


def _rms_norm(node: Node) -> Value:
    x, scale = node.x(), node.x(1)
    axis, eps = axis_of(node.attr("axis", -1), x.rank), node.attr("epsilon", 1e-5)
    inner = x.shape[axis:]
    flat = ops.reshape(x, (*x.shape[:axis], product(inner)))
    if scale.shape == inner:
        return ops.reshape(ops.rms_norm(flat, ops.ravel(scale), eps), x.shape)
    return ops.mul(ops.reshape(ops.rms_norm(flat, None, eps), x.shape), scale)


def _lp_norm(node: Node) -> Value:
    x, p = node.x(), node.attr("p", 2)
    axis = axis_of(node.attr("axis", -1), x.rank)
    if p == 1:
        size = ops.sum(ops.abs(x), axis, keepdims=True)
    elif p == 2:
        size = ops.sqrt(ops.sum(ops.mul(x, x), axis, keepdims=True))
    else:
        raise GraphError(f"a norm with p={p}; 1 and 2 are known")
    return ops.where(ops.equal(size, 0), ops.zeros_like(x), ops.div(x, size))


def _lrn(node: Node) -> Value:
    x, size = node.x(), node.need("size")
    if size > 1024:
        raise GraphError(f"a window of {size} channels is too large")
    low = (size - 1) // 2
    squares = ops.mul(x, x)
    widths: list[Any] = [(0, 0)] * x.rank
    widths[1] = (low, size - 1 - low)
    wide = ops.pad(squares, widths)
    total = reduce(ops.add, (ops.slice(wide, [at], [x.shape[1] + at], axes=[1]) for at in range(size)))
    base = ops.add(ops.mul(total, node.attr("alpha", 1e-4) / size), node.attr("bias", 1.0))
    return ops.div(x, ops.pow(base, node.attr("beta", 0.75)))


def _mean_variance(node: Node) -> Value:
    x = node.x()
    axes = tuple(axis_of(a, x.rank) for a in node.attr("axes", [0, 2, 3]))
    away = ops.sub(x, ops.mean(x, axes, keepdims=True))
    return ops.div(away, ops.add(ops.sqrt(ops.mean(ops.mul(away, away), axes, keepdims=True)), 1e-9))


def _global(reduce: Any) -> Handler:
    return lambda node: reduce(node.x(), tuple(range(2, node.x().rank)), keepdims=True)


def _global_lp(node: Node) -> Value:
    x, p = node.x(), node.attr("p", 2)
    total = ops.sum(ops.pow(ops.abs(x), float(p)), tuple(range(2, x.rank)), keepdims=True)
    return ops.pow(total, 1 / p)


NORMS: dict[str, Handler] = {
    "BatchNormalization": _batch_norm, "InstanceNormalization": _instance_norm, "LayerNormalization": _layer_norm,
    "RMSNormalization": _rms_norm, "LpNormalization": _lp_norm, "LRN": _lrn,
    "MeanVarianceNormalization": _mean_variance, "GlobalAveragePool": _global(ops.mean),
    "GlobalMaxPool": _global(ops.max), "GlobalLpPool": _global_lp,
}  # fmt: skip
