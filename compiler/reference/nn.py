"""References of the neural-network ops: normalisation, softmax, attention, rotary embedding, pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.reference.linalg import frame, windows
from compiler.reference.precision import is_float, widely


def softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    """exp(x) normalised to sum 1 along `axis`."""
    if x.size == 0:
        return x
    weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return weights / np.sum(weights, axis=axis, keepdims=True)


def log_softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    """The logarithm of softmax, without going through its rounding."""
    if x.size == 0:
        return x
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, *, eps: float) -> np.ndarray:
    """Mean 0 and variance 1 along the last axis, then scaled and shifted."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * weight + bias


def rms_norm(x: np.ndarray, weight: np.ndarray, *, eps: float) -> np.ndarray:
    """Root mean square 1 along the last axis, then scaled."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rope(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, *, interleaved: bool = False) -> np.ndarray:
    """Rotate pairs of features by the angle of their position: neighbours if interleaved, else halves apart."""
    half = x.shape[-1] // 2
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = first * cos - second * sin, first * sin + second * cos
    if interleaved:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def scaled_dot_product_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> np.ndarray:
    """softmax(q k^T * scale + mask) v; a row that sees nothing gives zeros, as in torch."""
    if enable_gqa:
        k, v = (np.repeat(t, q.shape[-3] // max(t.shape[-3], 1), axis=-3) for t in (k, v))
    scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if scores.shape[-1] == 0:
        return np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    blind = np.all(np.isneginf(scores), axis=-1, keepdims=True)
    return np.matmul(np.where(blind, 0.0, softmax(scores, axis=-1)), v)


def max_pool2d(
    x: np.ndarray,
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
) -> np.ndarray:
    """The largest element of each window of NCHW `x`; padding never wins, NaN does."""
    lowest = -np.inf if is_float(x) else False if x.dtype.kind == "b" else np.iinfo(x.dtype).min
    return np.max(windows(frame(x, padding, lowest), kernel, stride, dilation), axis=(4, 5))


def avg_pool2d(
    x: np.ndarray,
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int] = (0, 0),
    count_include_pad: bool = True,
) -> np.ndarray:
    """The mean of each window of NCHW `x`; padding counts as zeros, or not at all."""
    total = np.sum(windows(frame(x, padding, 0), kernel, stride, (1, 1)), axis=(4, 5))
    if count_include_pad:
        return total / (kernel[0] * kernel[1])
    inside = frame(np.ones((1, 1, *x.shape[2:]), dtype=x.dtype), padding, 0)
    return total / np.sum(windows(inside, kernel, stride, (1, 1)), axis=(4, 5))


NN: dict[str, Callable[..., Any]] = {
    "mo.softmax": widely(softmax),
    "mo.log_softmax": widely(log_softmax),
    "mo.layer_norm": widely(layer_norm),
    "mo.rms_norm": widely(rms_norm),
    "mo.rope": widely(rope),
    "mo.scaled_dot_product_attention": widely(scaled_dot_product_attention),
    "mo.max_pool2d": widely(max_pool2d),
    "mo.avg_pool2d": widely(avg_pool2d),
}
