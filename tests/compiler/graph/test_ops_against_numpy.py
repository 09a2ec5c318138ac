"""What the builders make means what NumPy (or a few lines of it) means, through the reference interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.graph import ops
from compiler.graph.dtypes import from_numpy
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.reference import reference

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
N = RNG.integers(-5, 6, (3, 4)).astype(np.int32)


def check(ours: Any, numpys: Any, *arrays: np.ndarray) -> None:
    with Graph("g", [TensorType(from_numpy(a.dtype), a.shape) for a in arrays]) as g:
        g.output(ours(*g.inputs))
    g.verify()
    (got,), wanted = reference(g, *arrays), np.asarray(numpys(*arrays))
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    for array in (X, N.reshape(2, 3, 2)):
        check(
            lambda x: getattr(ops, name)(x, axis=axis, keepdims=keepdims),
            lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims),
            array,
        )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_arg_reductions(name: str, axis: Any, keepdims: bool) -> None:
    check(
        lambda x: getattr(ops, name)(x, axis=axis, keepdims=keepdims),
        lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims),
        X,
    )


@pytest.mark.parametrize(
    ("ours", "numpys", "arrays"),
    [
        (lambda x: ops.var(x, 1), lambda a: a.var(1), [X]),
        (lambda x: ops.std(x, (0, 1), ddof=1, keepdims=True), lambda a: a.std((0, 1), ddof=1, keepdims=True), [X]),
        (lambda x: ops.cumsum(x), lambda a: np.cumsum(a), [N]),
        (lambda x: ops.cumsum(x, axis=1), lambda a: np.cumsum(a, axis=1), [X]),
        (lambda x: ops.any(x > 1, axis=0), lambda a: (a > 1).any(0), [X]),
        (lambda x: ops.all(x > -3), lambda a: (a > -3).all(), [X]),
        (lambda x: ops.max(x > 0, axis=0), lambda a: (a > 0).max(0), [X]),
        (lambda x: ops.clip(x, -0.5, 0.5), lambda a: np.clip(a, np.float32(-0.5), np.float32(0.5)), [X]),
        (lambda x: ops.round(x, 2), lambda a: np.round(a, 2), [X]),
        (lambda x: ops.round(x * 100, -1), lambda a: np.round(a * 100, -1), [X]),
        (lambda x: ops.reciprocal(ops.maximum(x, 1)), lambda a: np.reciprocal(np.maximum(a, 1)), [N]),
        (lambda x: x // 2 + x % 3, lambda a: a // 2 + a % 3, [N]),
        (lambda x: 2 - x, lambda a: 2 - a, [X]),
        (lambda x: 2 / (x + 10), lambda a: 2 / (a + 10), [X]),
        (lambda x: 2**x, lambda a: 2**a, [X]),
        (lambda x: 7 // (ops.abs(x) + 1), lambda a: 7 // (np.abs(a) + 1), [N]),
        (lambda x: ~x & 3 | x ^ 1, lambda a: ~a & 3 | a ^ 1, [N]),
        (lambda x: ~(x > 0), lambda a: ~(a > 0), [X]),
        (lambda x: (x > 0) + (x > 1), lambda a: (a > 0) + (a > 1), [X]),
        (lambda x: ops.logical_xor(x, 1), lambda a: np.logical_xor(a, 1), [N]),
        (lambda x: x < 1000, lambda a: a < 1000, [N.astype(np.int8)]),
        (lambda x: ops.where(x > 0, x, 0), lambda a: np.where(a > 0, a, np.float32(0)), [X]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X, RNG.standard_normal((4, 5)).astype(np.float32)]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X, RNG.standard_normal((2, 4, 5)).astype(np.float32)]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X[0], RNG.standard_normal((6, 4, 5)).astype(np.float32)]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X[:, None], RNG.standard_normal((1, 7, 4, 5)).astype(np.float32)]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X, X[0, 0]]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X[0, 0], X[1, 1]]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [X[0, 0], RNG.standard_normal((2, 4, 3)).astype(np.float32)]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [N > 0, (N > 1).T]),
        (lambda x, y: x @ y, lambda a, b: a @ b, [N.astype(np.int8), N.T.copy()]),
        (lambda x, w, b: ops.linear(x, w, b), lambda a, w, b: a @ w.T + b, [X, X[0], X[0, :, 0]]),
        (lambda x, y: ops.outer(x, y), lambda a, b: np.outer(a, b), [X[0, 0], X[0, :, 1]]),
        (lambda x: ops.isfinite(x / 0), lambda a: np.isfinite(a / np.float32(0)), [X * 0]),
    ],
)  # fmt: skip
def test_composed_ops(ours: Any, numpys: Any, arrays: list[np.ndarray]) -> None:
    with np.errstate(all="ignore"):
        check(ours, numpys, *[np.ascontiguousarray(a) for a in arrays])


def softmax(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(a: np.ndarray) -> np.ndarray:
    return (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + np.float32(1e-5))


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / np.float32(np.sqrt(q.shape[-1]))
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return (softmax(scores) @ v).astype(np.float32)


Q = RNG.standard_normal((2, 4, 5, 8)).astype(np.float32)
KV = RNG.standard_normal((2, 2, 5, 8)).astype(np.float32)


@pytest.mark.parametrize(
    ("ours", "numpys", "arrays"),
    [
        (lambda q: ops.scaled_dot_product_attention(q, q, q), lambda q: attention(q, q, q), [Q]),
        (lambda q: ops.scaled_dot_product_attention(q, q, q, is_causal=True),
         lambda q: attention(q, q, q, causal=True), [Q]),
        (lambda q: ops.scaled_dot_product_attention(q, q, q, np.tril(np.ones((5, 5), bool))),
         lambda q: attention(q, q, q, causal=True), [Q]),
        (lambda q, m: ops.scaled_dot_product_attention(q, q, q, m),
         lambda q, m: attention(q, q, q, m), [Q, Q[0, 0, :, :5]]),
        (lambda q, k: ops.scaled_dot_product_attention(q, k, k, enable_gqa=True),
         lambda q, k: attention(q, np.repeat(k, 2, 1), np.repeat(k, 2, 1)), [Q, KV]),
        (lambda x: ops.softmax(x, dim=-1), softmax, [X]),
        (lambda x: ops.log_softmax(x), lambda a: np.log(softmax(a)), [X]),
        (lambda x: ops.layer_norm(x), layer_norm, [X]),
        (lambda x, w: ops.rms_norm(x, w, 1e-6),
         lambda a, w: a / np.sqrt((a * a).mean(-1, keepdims=True) + np.float32(1e-6)) * w, [X, X[0, 0]]),
        (lambda x: ops.silu(x) + ops.relu(x), lambda a: a / (1 + np.exp(-a)) + np.maximum(a, 0), [X]),
    ],
)  # fmt: skip
def test_network_ops(ours: Any, numpys: Any, arrays: list[np.ndarray]) -> None:
    check(ours, numpys, *[np.ascontiguousarray(a) for a in arrays])


def convolve(x: np.ndarray, w: np.ndarray, stride: int = 1, pad: int = 0) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w).astype(np.float32)


IMAGE = RNG.standard_normal((2, 3, 7, 6)).astype(np.float32)
WEIGHT = RNG.standard_normal((4, 3, 3, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("ours", "numpys", "arrays"),
    [
        (lambda x, w: ops.conv2d(x, w), lambda x, w: convolve(x, w), [IMAGE, WEIGHT]),
        (lambda x, w: ops.conv2d(x, w, np.ones(4, np.float32), stride=2, padding=1),
         lambda x, w: convolve(x, w, 2, 1) + 1, [IMAGE, WEIGHT]),
        (lambda x, w: ops.conv2d(x, w, padding="same"), lambda x, w: convolve(x, w, 1, 1), [IMAGE, WEIGHT]),
        (lambda x, w: ops.conv2d(x, w, padding="valid"), lambda x, w: convolve(x[None], w)[0], [IMAGE[0], WEIGHT]),
        (lambda x: ops.max_pool2d(x, 2), lambda x: x[:, :, :6].reshape(2, 3, 3, 2, 3, 2).max((3, 5)), [IMAGE]),
        (lambda x: ops.avg_pool2d(x, (1, 2)), lambda x: x.reshape(2, 3, 7, 3, 2).mean(-1), [IMAGE]),
    ],
)  # fmt: skip
def test_image_ops(ours: Any, numpys: Any, arrays: list[np.ndarray]) -> None:
    check(ours, numpys, *arrays)


def test_same_padding_of_an_even_window_puts_the_odd_one_after() -> None:
    check(
        lambda x: ops.conv2d(x, np.ones((1, 3, 2, 2), np.float32), padding="same"),
        lambda x: convolve(np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 1))), np.ones((1, 3, 2, 2), np.float32)),
        IMAGE,
    )


def test_many_rows_by_one_matrix_is_one_large_product() -> None:
    with Graph("g", [TensorType("f32", ("B", "S", 8)), TensorType("f32", (8, 16))]) as g:
        g.output(g.inputs[0] @ g.inputs[1])
    assert [str(t) for t in g.output_types] == ["!mo.tensor<[B, S, 16], f32>"]
    (product,) = [op for op in g.ops if op.name == "mo.matmul"]
    assert str(product.results[0].type) == "!mo.tensor<[B*S, 16], f32>"
