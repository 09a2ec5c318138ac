"""Steps of random graphs as models have them: norms, products, attention, pictures, patterns that are recognised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from compiler import ops
from compiler.graph.dtypes import DTYPES, numpy_dtype

Build = Callable[[Sequence[Any], dict[str, str]], Any]
Found = tuple[Build, bool] | None
"""What builds a value, and whether it is the same to the bit everywhere; None where nothing fits."""


def _norm(drawn: Any, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    if not rank or drawn.kind(k) != "f":
        return None
    name, axis = drawn.pick(("softmax", "log_softmax", "layer_norm", "rms_norm")), int(drawn.random.integers(rank))
    if name in ("softmax", "log_softmax"):
        return lambda v, w: getattr(ops, name)(v[k], axis=axis), False
    return lambda v, w: getattr(ops, name)(v[k], eps=0.1), False


def _by_hand(drawn: Any, k: int) -> Found:
    """Rows and activations as models write them out: mean, difference, square, mean, root."""
    rank = len(drawn.values[k].shape)
    if not rank or drawn.kind(k) != "f" or drawn.empty(k):
        return None
    written = drawn.pick((_norm_written, _softmax_written, _gelu_written, _gate_written, _quantised, _statistics))
    return lambda v, w: written(v[k]), False


def _norm_written(x: Any) -> Any:
    centred = x - ops.mean(x, axis=-1, keepdims=True)
    return centred * ops.rsqrt(ops.mean(centred * centred, axis=-1, keepdims=True) + 0.1)


def _softmax_written(x: Any) -> Any:
    e = ops.exp((x - ops.max(x, axis=-1, keepdims=True)) * 0.5)
    return e / ops.sum(e, axis=-1, keepdims=True)


def _gelu_written(x: Any) -> Any:
    return 0.5 * x * (1 + ops.erf(x / math.sqrt(2)))


def _gate_written(x: Any) -> Any:
    return x * ops.sigmoid(x) * (x + 0.5)


def _quantised(x: Any) -> Any:
    return x / (ops.max(ops.abs(x), axis=-1, keepdims=True) / 127 + 0.25)


def _statistics(x: Any) -> Any:
    """Several reductions of one operand."""
    return (
        ops.sum(x, axis=-1, keepdims=True) * 0.25 + ops.max(x, axis=-1, keepdims=True) - ops.mean(x, axis=-1)[..., None]
    )


def _product(drawn: Any, k: int) -> Found:
    other = drawn.pick(drawn.tensors())
    exact = drawn.exact[k] and drawn.exact[other] and drawn.kind(k) != "f" and drawn.kind(other) != "f"
    form = drawn.pick(("matmul", "linear", "self", "turned", "vector", "shared"))
    if form == "self":  # with its own transposition, so that sizes fit
        if len(drawn.values[k].shape) < 2:
            return None
        return lambda v, w: ops.matmul(v[k], ops.swapaxes(v[k], -1, -2)) * _quarter(v[k]), exact
    if form == "vector":  # of one column of its own
        if len(drawn.values[k].shape) < 2:
            return None
        return lambda v, w: ops.matmul(ops.swapaxes(v[k], -1, -2), v[k][..., :1]) * _quarter(v[k]), exact
    if form == "shared":  # products that share an operand
        if len(drawn.values[k].shape) != 2 or drawn.kind(k) != "f" or not isinstance(drawn.values[k].shape[-1], int):
            return None
        return _shared_product(drawn, k), False
    if form == "turned":
        return lambda v, w: ops.matmul(v[k], ops.swapaxes(v[other], -1, -2)), exact
    return lambda v, w: getattr(ops, form)(v[k], v[other]), exact


def _shared_product(drawn: Any, k: int) -> Build:
    size, dtype, width = drawn.values[k].shape[-1], drawn.values[k].dtype, drawn.pick((4, 8, 17))
    arrays = [drawn.random.integers(-4, 5, (size, width)) / 8 for _ in range(2)]

    def shared(v: Sequence[Any], w: dict[str, str]) -> Any:
        gate, up = (v[k] @ ops.constant(a.astype(numpy_dtype(w.get(dtype, dtype)))) for a in arrays)
        return ops.silu(gate) * up

    return shared


def _quarter(x: Any) -> float | int:
    return 0.25 if DTYPES[x.dtype].kind == "f" else 1


def _attention(drawn: Any, k: int) -> Found:
    shape = drawn.values[k].shape
    if len(shape) < 2 or drawn.kind(k) != "f" or not isinstance(shape[-1], int) or shape[-1] == 0:
        return None
    form, causal = drawn.pick(("named", "grouped", "masked", "written")), drawn.chance(0.4)
    if form == "grouped":  # one head of keys and values for two of queries
        if len(shape) < 3:
            return None
        attend = ops.scaled_dot_product_attention

        def grouped(v: Sequence[Any], w: dict[str, str]) -> Any:
            q = ops.concat([v[k], v[k] * 0.25], axis=-3)
            return attend(q, v[k] * 0.5, v[k], is_causal=causal, enable_gqa=True)

        return grouped, False
    if form == "masked":

        def masked(v: Sequence[Any], w: dict[str, str]) -> Any:
            x = v[k]
            seen = (*x.shape[:-1], x.shape[-2])
            keep = ops.iota(seen, -1) <= ops.iota(seen, -2) + 1
            return ops.scaled_dot_product_attention(x, x * 0.5, x, keep)

        return masked, False
    if form == "written":

        def written(v: Sequence[Any], w: dict[str, str]) -> Any:
            x = v[k]
            scores = x @ ops.swapaxes(x * 0.5, -1, -2) / math.sqrt(shape[-1])
            e = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
            return e / ops.sum(e, axis=-1, keepdims=True) @ x

        return written, False
    return lambda v, w: ops.scaled_dot_product_attention(v[k], v[k] * 0.5, v[k], is_causal=causal), False


def _rotated(drawn: Any, k: int) -> Found:
    shape = drawn.values[k].shape
    if len(shape) < 2 or drawn.kind(k) != "f" or not isinstance(shape[-1], int) or shape[-1] % 2 or not shape[-1]:
        return None
    between, half, dtype = drawn.chance(0.4), shape[-1] // 2, drawn.values[k].dtype

    def rotated(v: Sequence[Any], w: dict[str, str]) -> Any:
        angles = ops.iota((v[k].shape[-2], half), 1, w.get(dtype, dtype)) * 0.25
        return ops.rope(v[k], ops.cos(angles), ops.sin(angles), interleaved=between)

    return rotated, False


def _picture(drawn: Any, k: int) -> Found:
    shape = drawn.values[k].shape
    if len(shape) != 4 or drawn.kind(k) != "f":
        return None
    form, stride, padding = drawn.pick(("conv", "max", "avg")), drawn.pick((1, 2)), drawn.pick((0, 1))
    if form == "conv":
        if not isinstance(shape[1], int) or shape[1] == 0:
            return None
        array = drawn.random.integers(-4, 5, (3, shape[1], 3, 3)) / 8
        dtype = drawn.values[k].dtype

        def conv(v: Sequence[Any], w: dict[str, str]) -> Any:
            weight = ops.constant(array.astype(numpy_dtype(w.get(dtype, dtype))))
            return ops.conv2d(v[k], weight, stride=stride, padding=padding)

        return conv, False
    if form == "max":
        return lambda v, w: ops.max_pool2d(v[k], 2, stride, padding), drawn.exact[k]
    return lambda v, w: ops.avg_pool2d(v[k], 2, stride, padding), False


FAMILIES = (_product, _product, _norm, _by_hand, _by_hand, _attention, _rotated, _picture)
