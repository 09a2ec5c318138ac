"""Graphs written out in plain ops, as imported models have them: norms, softmax, attention, losses, a Llama layer."""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler import Graph, TensorType, ops

Build = Callable[[], Graph]


def f32(*shape: int | str) -> TensorType:
    return TensorType("f32", shape)


def layer_norm(x, weight, bias, axis=-1):
    mean = ops.mean(x, axis=axis, keepdims=True)
    centred = x - mean
    variance = ops.mean(ops.square(centred), axis=axis, keepdims=True)
    return centred * ops.rsqrt(variance + 1e-5) * weight + bias


def rms_norm(x, weight):
    return x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6) * weight


def softmax(x, axis=-1):
    e = ops.exp(x - ops.max(x, axis=axis, keepdims=True))
    return e / ops.sum(e, axis=axis, keepdims=True)


def residual_layer_norm() -> Graph:
    with Graph("g", inputs=[f32("M", 256), f32("M", 256), f32(256), f32(256)]) as g:
        x, y, w, b = g.inputs
        g.output(layer_norm(x + y, w, b))
    return g


def group_norm() -> Graph:
    with Graph("g", inputs=[f32(2, 32, 8, 8), f32(32), f32(32)]) as g:
        x, w, b = g.inputs
        groups = ops.reshape(x, (2, 8, 256))
        mean = ops.mean(groups, axis=-1, keepdims=True)
        centred = groups - mean
        variance = ops.mean(centred * centred, axis=-1, keepdims=True)
        normed = ops.reshape(centred / ops.sqrt(variance + 1e-5), (2, 32, 8, 8))
        g.output(normed * ops.reshape(w, (1, 32, 1, 1)) + ops.reshape(b, (1, 32, 1, 1)))
    return g


def embedding_layer_norm() -> Graph:
    types = [TensorType("i64", ("B", 64)), f32(1000, 128), f32(64, 128), f32(128), f32(128)]
    with Graph("g", inputs=types) as g:
        ids, table, position, w, b = g.inputs
        g.output(layer_norm(ops.embedding(ids, table) + position, w, b))
    return g


def masked_softmax() -> Graph:
    with Graph("g", inputs=[f32("M", 128), f32("M", 128), TensorType("bool", ("M", 128))]) as g:
        x, y, mask = g.inputs
        g.output(ops.where(mask, softmax(x + y), 0.0))
    return g


def plain_softmax() -> Graph:
    with Graph("g", inputs=[f32("M", 256)]) as g:
        g.output(softmax(g.inputs[0]))
    return g


def attention() -> Graph:
    with Graph("g", inputs=[f32("B", 4, 64, 32)] * 3) as g:
        q, k, v = g.inputs
        scores = q @ ops.swapaxes(k, -1, -2) / math.sqrt(32)
        g.output(softmax(scores) @ v)
    return g


def masked_attention() -> Graph:
    with Graph("g", inputs=[*[f32("B", 4, 64, 32)] * 3, TensorType("bool", (64, 64))]) as g:
        q, k, v, mask = g.inputs
        scores = q @ ops.swapaxes(k, -1, -2) * (1 / math.sqrt(32))
        g.output(softmax(ops.where(mask, scores, -math.inf)) @ v)
    return g


def three_reductions() -> Graph:
    with Graph("g", inputs=[f32("M", 256)]) as g:
        x = g.inputs[0]
        g.output(ops.sum(x, axis=1), ops.max(x, axis=1), ops.mean(x, axis=1))
    return g


def two_axes() -> Graph:
    with Graph("g", inputs=[f32("M", 256)]) as g:
        x = g.inputs[0]
        g.output(ops.sum(x, axis=0), ops.sum(x, axis=1))
    return g


def rms_norm_product() -> Graph:
    with Graph("g", inputs=[f32("M", 256), f32(256), f32(256, 128)]) as g:
        x, weight, w = g.inputs
        g.output(rms_norm(x, weight) @ w)
    return g


def llama_layer() -> Graph:
    heads, shared, features, model, hidden = 8, 2, 32, 256, 512
    types = [f32("B", "S", model), f32("S", features), f32("S", features)]
    types += [f32(model), f32(model, model), f32(model, shared * features), f32(model, shared * features)]
    types += [f32(model, model), f32(model), f32(model, hidden), f32(model, hidden), f32(hidden, model)]

    def split(t, count):
        return ops.transpose(ops.reshape(t, ("B", "S", count, features)), (0, 2, 1, 3))

    def rotate(t, cos, sin):
        half = features // 2
        turned = ops.concat([-t[..., half:], t[..., :half]], axis=-1)
        return t * cos + turned * sin

    def repeated(t):
        return ops.reshape(
            ops.broadcast_to(t[:, :, None], ("B", shared, heads // shared, "S", features)),
            ("B", heads, "S", features),
        )

    with Graph("g", inputs=types) as g:
        x, cos, sin, g1, wq, wk, wv, wo, g2, gate, up, down = g.inputs
        h = rms_norm(x, g1)
        q = rotate(split(h @ wq, heads), cos, sin)
        k = repeated(rotate(split(h @ wk, shared), cos, sin))
        v = repeated(split(h @ wv, shared))
        scores = q @ ops.swapaxes(k, -1, -2) / math.sqrt(features)
        rows, columns = ops.iota(("S", "S"), 0), ops.iota(("S", "S"), 1)
        scores = ops.where(rows >= columns, scores, -math.inf)
        seen = ops.reshape(ops.transpose(softmax(scores) @ v, (0, 2, 1, 3)), ("B", "S", model))
        x = x + seen @ wo
        h = rms_norm(x, g2)
        gated = h @ gate
        g.output(x + (gated * ops.sigmoid(gated) * (h @ up)) @ down)
    return g


def cross_entropy() -> Graph:
    with Graph("g", inputs=[f32("M", 128), TensorType("i64", ("M",))]) as g:
        x, target = g.inputs
        top = ops.max(x, axis=1, keepdims=True)
        shifted = x - top
        logs = shifted - ops.log(ops.sum(ops.exp(shifted), axis=1, keepdims=True))
        hot = ops.iota(("M", 128), 1) == ops.reshape(target, ("M", 1))
        g.output(-ops.mean(ops.sum(ops.where(hot, logs, 0.0), axis=1)))
    return g


def cross_entropy_of_log_softmax() -> Graph:
    with Graph("g", inputs=[f32("M", 128), TensorType("i64", ("M",))]) as g:
        x, target = g.inputs
        hot = ops.cast(ops.iota(("M", 128), 1) == ops.reshape(target, ("M", 1)), "f32")
        g.output(ops.mean(-ops.sum(ops.log_softmax(x, axis=-1) * hot, axis=1)))
    return g


def forty_outputs() -> Graph:
    with Graph("g", inputs=[f32("M", 64)]) as g:
        base = ops.tanh(g.inputs[0])
        g.output(*[base * float(k + 1) for k in range(40)])
    return g


def log_sum_exp() -> Graph:
    with Graph("g", inputs=[f32("M", 256)]) as g:
        x = g.inputs[0]
        top = ops.max(x, axis=1, keepdims=True)
        g.output(ops.log(ops.sum(ops.exp(x - top), axis=1)) + top[:, 0])
    return g


def quantised_rows() -> Graph:
    with Graph("g", inputs=[f32("M", 256)]) as g:
        x = g.inputs[0]
        scale = ops.max(ops.abs(x), axis=1, keepdims=True) / 127.0
        g.output(ops.cast(ops.round(x / scale), "i8"), scale)
    return g


def transposed_softmax() -> Graph:
    with Graph("g", inputs=[f32(64, "M")]) as g:
        g.output(ops.softmax(ops.transpose(g.inputs[0]), axis=-1))
    return g


def adam() -> Graph:
    with Graph("g", inputs=[f32("M", 64)] * 4) as g:
        w, d, m, v = g.inputs
        m = 0.9 * m + 0.1 * d
        v = 0.999 * v + 0.001 * d * d
        g.output(w - 1e-3 * m / (ops.sqrt(v) + 1e-8), m, v)
    return g


def conv_batch_norm_relu() -> Graph:
    with Graph("g", inputs=[f32("N", 8, 10, 10), f32(16, 8, 3, 3), *[f32(16)] * 4]) as g:
        x, w, *norm = g.inputs
        scale, shift, mean, variance = (ops.reshape(p, (1, 16, 1, 1)) for p in norm)
        g.output(ops.relu((ops.conv2d(x, w, padding=1) - mean) * ops.rsqrt(variance + 1e-5) * scale + shift))
    return g


def resnet_block() -> Graph:
    types = [f32("N", 16, 8, 8), f32(16, 16, 3, 3), f32(16, 16, 3, 3), *[f32(16)] * 8]
    with Graph("g", inputs=types) as g:
        x, w1, w2, *norms = g.inputs

        def normed(t, scale, shift, mean, variance):
            scale, shift, mean, variance = (ops.reshape(p, (1, 16, 1, 1)) for p in (scale, shift, mean, variance))
            return (t - mean) * ops.rsqrt(variance + 1e-5) * scale + shift

        h = ops.relu(normed(ops.conv2d(x, w1, padding=1), *norms[:4]))
        g.output(ops.relu(normed(ops.conv2d(h, w2, padding=1), *norms[4:]) + x))
    return g


MOST_KERNELS: dict[Build, int] = {
    residual_layer_norm: 1, group_norm: 1, embedding_layer_norm: 1, masked_softmax: 1, attention: 1,
    masked_attention: 3, three_reductions: 1, two_axes: 1, plain_softmax: 1, rms_norm_product: 2, llama_layer: 14,
    cross_entropy: 1, cross_entropy_of_log_softmax: 1,
    forty_outputs: 1, log_sum_exp: 1, quantised_rows: 1, transposed_softmax: 1, adam: 1, conv_batch_norm_relu: 1,
    resnet_block: 2,
}  # fmt: skip
"""The graphs, and how many kernels each may become: what the best compilers make of it."""
