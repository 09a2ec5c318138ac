"""ATen ops of networks: convolutions, pools, norms, attention, resizing."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim, product
from compiler.graph.value import Value
from compiler.importers.compose import resize, windows
from compiler.importers.torch.call import Call, Handler


def _each(numbers: Any, count: int) -> list[int]:
    """One number for each axis."""
    listed = list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]
    return listed * count if len(listed) == 1 else listed


def _convolution(call: Call) -> Value:
    x, w, bias, stride, padding, dilation, transposed, extra, groups = call.args
    count = x.rank - 2
    pads = [(p, p) for p in _each(padding, count)]
    if transposed:
        return windows.conv_transpose(x, w, bias, _each(stride, count), pads, _each(dilation, count), groups,
                                      _each(extra, count))  # fmt: skip
    return windows.conv(x, w, bias, _each(stride, count), pads, _each(dilation, count), groups)


def _conv(call: Call) -> Value:
    x, w = call.x(0), call.x(1)
    count = w.rank - 2
    single = x.rank == count + 1
    x = ops.expand_dims(x, 0) if single else x
    stride, dilation = _each(call.arg(3, "stride", 1), count), _each(call.arg(5, "dilation", 1), count)
    padding = call.arg(4, "padding", 0)
    if isinstance(padding, str):
        kernel = [int(k) for k in w.shape[2:]]  # type: ignore[arg-type]
        pads = (
            [(0, 0)] * count if padding == "valid" else windows.same_pads(x.shape[2:], kernel, stride, dilation, True)
        )
    else:
        pads = [(p, p) for p in _each(padding, count)]
    made = windows.conv(x, w, call.arg(2, "bias"), stride, pads, dilation, call.arg(6, "groups", 1))
    return ops.squeeze(made, 0) if single else made


def _window(call: Call, x: Value, dilated: bool) -> tuple[list[int], list[int], list[tuple[int, int]], list[int], bool]:
    count = len(call.args[1]) if isinstance(call.args[1], list) else x.rank - 2
    kernel = _each(call.args[1], count)
    stride = _each(call.arg(2, "stride", []) or kernel, count)
    pads = [(p, p) for p in _each(call.arg(3, "padding", 0), count)]
    dilation = _each(call.arg(4, "dilation", 1), count) if dilated else [1] * count
    ceil = bool(call.arg(5, "ceil_mode", False) if dilated else call.arg(4, "ceil_mode", False))
    return kernel, stride, pads, dilation, ceil


def _max_pool(call: Call) -> Any:
    x = call.x()
    kernel, stride, pads, dilation, ceil = _window(call, x, True)
    single = x.rank == len(kernel) + 1
    x = ops.expand_dims(x, 0) if single else x
    grown = windows.ceil_pads(x.shape[2:], kernel, stride, dilation, pads) if ceil else pads
    best = windows.max_pool(x, kernel, stride, grown, dilation)
    best = ops.squeeze(best, 0) if single else best
    if not isinstance(call.node.meta["val"], tuple):
        return best
    if not any(user.args[1] == 1 for user in call.node.users):
        return best, None
    places = windows.max_pool_places(x, kernel, stride, grown, dilation, False)
    size = product(x.shape[2:])  # PyTorch counts within each image's plane
    if isinstance(size, Dim):
        raise GraphError("where the largest are needs an image of known size")
    return best, ops.mod(places, size)


def _avg_pool(call: Call) -> Value:
    x = call.x()
    kernel, stride, pads, dilation, ceil = _window(call, x, False)
    if call.arg(6, "divisor_override") is not None:
        raise GraphError("divisor_override is not known")
    single = x.rank == len(kernel) + 1
    x = ops.expand_dims(x, 0) if single else x
    grown = windows.ceil_pads(x.shape[2:], kernel, stride, dilation, pads) if ceil else pads
    counted = pads if call.arg(5, "count_include_pad", True) else None
    made = windows.average_pool(x, kernel, stride, grown, dilation, counted)
    return ops.squeeze(made, 0) if single else made


def _adaptive(call: Call) -> Value:
    sizes = call.shape[-len(call.args[1]) :]
    return windows.adaptive_average(call.x(), [int(s) for s in sizes])  # type: ignore[arg-type]


def _layer_norm(call: Call) -> Value:
    x, shape = call.x(), call.args[1]
    return _normed(x, len(shape), call.arg(2, "weight"), call.arg(3, "bias"), call.arg(4, "eps", 1e-5))


def _normed(x: Value, inner: int, weight: Value | None, bias: Value | None, eps: float) -> Value:
    if inner == 1:
        return ops.layer_norm(x, weight, bias, eps)
    flat = ops.reshape(x, (*x.shape[: x.rank - inner], product(x.shape[x.rank - inner :])))
    vectors = [None if v is None else ops.ravel(v) for v in (weight, bias)]
    return ops.reshape(ops.layer_norm(flat, vectors[0], vectors[1], eps), x.shape)


def _native_layer_norm(call: Call) -> tuple[Value, None, None]:
    x, shape, weight, bias, eps = call.args
    if any(user.args[1] != 0 for user in call.node.users):
        raise GraphError("the statistics of a layer norm are for training")
    return _normed(x, len(shape), weight, bias, eps), None, None


def _rms_norm(call: Call) -> Value:
    x, shape = call.x(), call.args[1]
    if len(shape) != 1:
        raise GraphError("an RMS norm over more than the last axis")
    return ops.rms_norm(x, call.arg(2, "weight"), call.arg(3, "eps"))


def _per_channel(vector: Value, x: Value) -> Value:
    return ops.reshape(vector, (vector.shape[0], *(1,) * (x.rank - 2)))


def _batch_norm(call: Call) -> Any:
    """Inference: the running statistics."""
    named = call.node.target._schema.name
    x, weight, bias, mean, variance = call.args[:5]
    if named == "aten::batch_norm":
        training, eps = call.args[5], call.args[7]
        if training:
            raise GraphError("batch norm in training mode; call module.eval() first")
    else:
        eps = call.args[-1]
    factor = ops.rsqrt(ops.add(variance, eps))
    factor = factor if weight is None else ops.mul(weight, factor)
    shift = ops.neg(ops.mul(mean, factor))
    shift = shift if bias is None else ops.add(bias, shift)
    out = ops.add(ops.mul(x, _per_channel(factor, x)), _per_channel(shift, x))
    return (out, None, None) if isinstance(call.node.meta["val"], tuple) else out


def _batch_norm_of_batch(call: Call) -> Any:
    """By the statistics of what is given, as an instance norm has them of each image."""
    x, weight, bias = call.args[:3]
    training, eps = call.args[-3], call.args[-1]
    if len(call.args) != 6 or not training:
        raise GraphError("batch norm in training mode; call module.eval() first")
    others = tuple(at for at in range(x.rank) if at != 1)
    centred = ops.sub(x, ops.mean(x, others, keepdims=True))
    variance = ops.mean(ops.mul(centred, centred), others, keepdims=True)
    out = ops.mul(centred, ops.rsqrt(ops.add(variance, eps)))
    out = out if weight is None else ops.mul(out, _per_channel(weight, x))
    return (out if bias is None else ops.add(out, _per_channel(bias, x))), None, None


def _group_norm(call: Call) -> Value:
    x, groups, weight, bias = call.x(), call.args[1], call.arg(2, "weight"), call.arg(3, "bias")
    return _grouped(x, groups, weight, bias, call.arg(4, "eps", 1e-5))


def _native_group_norm(call: Call) -> tuple[Value, None, None]:
    x, weight, bias, _n, _c, _hw, groups, eps = call.args
    return _grouped(x, groups, weight, bias, eps), None, None


def _grouped(x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float) -> Value:
    flat = ops.reshape(x, (x.shape[0], groups, product(x.shape[1:]) // groups))
    even = ops.reshape(ops.layer_norm(flat, None, None, eps), x.shape)
    even = even if weight is None else ops.mul(even, _per_channel(weight, x))
    return even if bias is None else ops.add(even, _per_channel(bias, x))


def _attention(call: Call) -> Value:
    q, k, v = (call.x(at) for at in range(3))
    if call.arg(4, "dropout_p", 0.0):
        raise GraphError("attention with dropout is for training; call module.eval() first")
    grouped = call.kwargs.get("enable_gqa", False)
    return ops.scaled_dot_product_attention(
        q, k, v, call.arg(3, "attn_mask"), is_causal=call.arg(5, "is_causal", False), scale=call.kwargs.get("scale"),
        enable_gqa=bool(grouped),
    )  # fmt: skip


def _resized(call: Call, mode: str, aligned: bool) -> Value:
    x, wanted = call.x(), call.shape
    for axis in range(2, x.rank):
        size, count = x.shape[axis], wanted[axis]
        if size == count:
            continue
        if isinstance(size, Dim) or isinstance(count, Dim):
            raise GraphError("resizing needs known sizes")
        i = np.arange(count, dtype=np.float64)
        if mode == "nearest":
            x = resize.nearest(x, axis, np.floor(i * size / count))
            continue
        if aligned:
            places = i * (size - 1) / (count - 1) if count > 1 else np.zeros(1)
        else:
            places = np.maximum((i + 0.5) * size / count - 0.5, 0.0 if mode == "linear" else -np.inf)
        x = resize.interpolated(x, axis, *resize.neighbours(places, size, mode, -0.75, 1.0, True))
    return x


NETWORKS: dict[str, Handler] = {
    "convolution": _convolution, "conv1d": _conv, "conv2d": _conv, "conv3d": _conv,
    "max_pool2d_with_indices": _max_pool, "max_pool2d": _max_pool, "max_pool1d": _max_pool, "max_pool3d": _max_pool,
    "max_pool3d_with_indices": _max_pool, "avg_pool1d": _avg_pool, "avg_pool2d": _avg_pool, "avg_pool3d": _avg_pool,
    "adaptive_avg_pool1d": _adaptive, "adaptive_avg_pool2d": _adaptive, "_adaptive_avg_pool2d": _adaptive,
    "adaptive_avg_pool3d": _adaptive, "_adaptive_avg_pool3d": _adaptive,
    "layer_norm": _layer_norm, "native_layer_norm": _native_layer_norm, "rms_norm": _rms_norm,
    "batch_norm": _batch_norm, "_native_batch_norm_legit_no_training": _batch_norm, "group_norm": _group_norm,
    "_native_batch_norm_legit": _batch_norm_of_batch,
    "native_group_norm": _native_group_norm, "scaled_dot_product_attention": _attention,
    "upsample_nearest2d": lambda call: _resized(call, "nearest", False),
    "upsample_bilinear2d": lambda call: _resized(call, "linear", call.arg(2, "align_corners", False)),
    "upsample_bicubic2d": lambda call: _resized(call, "cubic", call.arg(2, "align_corners", False)),
}  # fmt: skip
