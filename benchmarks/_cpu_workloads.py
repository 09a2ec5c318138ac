"""The workloads of the CPU benchmark: each as a graph of ours, in torch and in JAX, with the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Build = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """One computation. `ours` is given `ops`, `torch` torch's modules, `jax` (jax, jax.numpy); then the inputs."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    ours: Build
    torch: Build
    jax: Build
    floats: float  # operations, counting a multiply-add as two; 0 where bytes are what counts
    indices: tuple[int, ...] = ()  # inputs that are row numbers below 1000
    relative: float = 2e-5  # the largest error over the largest value


def _product(name: str, *shapes: tuple[int, ...]) -> Workload:
    (*lead, m, k), n = shapes[0], shapes[1][-1]
    batch = 1
    for size in lead:
        batch *= size
    return Workload(
        name, shapes, lambda ops, x, w: x @ w, lambda t, x, w: x @ w, lambda j, n, x, w: x @ w, 2.0 * batch * m * k * n
    )


def _simple(name: str, shape: tuple[int, ...], ours: Build, torch: Build, jax: Build, **more: Any) -> Workload:
    return Workload(name, (shape,), ours, torch, jax, 0.0, **more)


def _gelu_tanh_jax(jax: Any, jnp: Any, x: Any) -> Any:
    return jax.nn.gelu(x, approximate=True)


def _layer_norm_jax(jax: Any, jnp: Any, x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def _attention_jax(jax: Any, jnp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    return jax.nn.softmax(scores, axis=-1) @ v


def _convolution(name: str, shape: tuple[int, ...], weight: tuple[int, ...], stride: int, padding: int) -> Workload:
    out = [(size + 2 * padding - weight[2]) // stride + 1 for size in shape[2:]]
    work = 2.0 * shape[0] * weight[0] * weight[1] * weight[2] * weight[3] * out[0] * out[1]
    return Workload(
        name,
        (shape, weight),
        lambda ops, x, w: ops.conv2d(x, w, stride=stride, padding=padding),
        lambda t, x, w: t.nn.functional.conv2d(x, w, stride=stride, padding=padding),
        lambda j, n, x, w: j.lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2),
        work,
    )


def _block_ours(ops: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any, g: Any, b: Any) -> Any:
    def heads(y: Any) -> Any:
        return ops.transpose(ops.reshape(y, (1, 128, 8, 64)), (0, 2, 1, 3))

    y = ops.layer_norm(x, g, b, 1e-5)
    mixed = ops.scaled_dot_product_attention(heads(y @ wq), heads(y @ wk), heads(y @ wv))
    x = x + ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (1, 128, 512)) @ wo
    return x + ops.gelu(ops.layer_norm(x, g, b, 1e-5) @ w1) @ w2


def _block_torch(t: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any, g: Any, b: Any) -> Any:
    f = t.nn.functional

    def heads(y: Any) -> Any:
        return y.reshape(1, 128, 8, 64).transpose(1, 2)

    y = f.layer_norm(x, (512,), g, b)
    mixed = f.scaled_dot_product_attention(heads(y @ wq), heads(y @ wk), heads(y @ wv))
    x = x + mixed.transpose(1, 2).reshape(1, 128, 512) @ wo
    return x + f.gelu(f.layer_norm(x, (512,), g, b) @ w1) @ w2


def _block_jax(j: Any, n: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any, g: Any, b: Any) -> Any:
    def heads(y: Any) -> Any:
        return y.reshape(1, 128, 8, 64).transpose(0, 2, 1, 3)

    y = _layer_norm_jax(j, n, x, g, b)
    mixed = _attention_jax(j, n, heads(y @ wq), heads(y @ wk), heads(y @ wv))
    x = x + mixed.transpose(0, 2, 1, 3).reshape(1, 128, 512) @ wo
    return x + j.nn.gelu(_layer_norm_jax(j, n, x, g, b) @ w1, approximate=False) @ w2


_SQUARE = (2048, 2048)
_BLOCK = ((1, 128, 512), *[(512, 512)] * 4, (512, 2048), (2048, 512), (512,), (512,))

WORKLOADS = (
    _product("matmul 1024", (1024, 1024), (1024, 1024)),
    _product("matmul 64", (64, 64), (64, 64)),
    _product("matmul 32x128x64x128", (32, 128, 64), (32, 64, 128)),
    _product("matmul 8x2048x2048", (8, 2048), _SQUARE),
    _product("matvec 1x2048x4096", (1, 2048), (2048, 4096)),
    Workload(
        "mlp 256x512x512",
        ((256, 512), (512, 512), (512,), (512, 512), (512,)),
        lambda ops, x, w, b, v, c: ops.relu(x @ w + b) @ v + c,
        lambda t, x, w, b, v, c: t.relu(x @ w + b) @ v + c,
        lambda j, n, x, w, b, v, c: j.nn.relu(x @ w + b) @ v + c,
        4.0 * 256 * 512 * 512,
    ),
    Workload("transformer block 128x512", _BLOCK, _block_ours, _block_torch, _block_jax, 2.0 * 128 * 512 * 512 * 12),
    Workload(
        "add of 16", ((16,), (16,)), lambda ops, x, y: x + y, lambda t, x, y: x + y, lambda j, n, x, y: x + y, 0.0
    ),
    Workload(
        "add of 16 Mi", ((16 << 20,),) * 2, lambda ops, x, y: x + y, lambda t, x, y: x + y, lambda j, n, x, y: x + y, 0
    ),
    _simple("sum all 4096x4096", (4096, 4096), lambda ops, x: ops.sum(x), lambda t, x: x.sum(), lambda j, n, x: x.sum(),
            relative=1e-4),
    _simple("sum rows 4096x4096", (4096, 4096), lambda ops, x: ops.sum(x, axis=1), lambda t, x: x.sum(1),
            lambda j, n, x: x.sum(1), relative=1e-4),
    _simple("sum columns 4096x4096", (4096, 4096), lambda ops, x: ops.sum(x, axis=0), lambda t, x: x.sum(0),
            lambda j, n, x: x.sum(0), relative=1e-4),
    _simple("transpose+1 2048", _SQUARE, lambda ops, x: ops.transpose(x, (1, 0)) + 1.0,
            lambda t, x: (x.T + 1).contiguous(), lambda j, n, x: x.T + 1),
    _simple("cumsum 2048x2048", _SQUARE, lambda ops, x: ops.cumsum(x, axis=1), lambda t, x: t.cumsum(x, 1),
            lambda j, n, x: n.cumsum(x, 1), relative=1e-4),
    _simple("softmax 2048x2048", _SQUARE, lambda ops, x: ops.softmax(x, axis=1), lambda t, x: t.softmax(x, 1),
            lambda j, n, x: j.nn.softmax(x, axis=1)),
    _simple("gelu(tanh) 2048x2048", _SQUARE, lambda ops, x: ops.gelu(x, approximate="tanh"),
            lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), _gelu_tanh_jax),
    Workload(
        "layer norm 2048x1024",
        ((2048, 1024), (1024,), (1024,)),
        lambda ops, x, w, b: ops.layer_norm(x, w, b, 1e-5),
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (1024,), w, b),
        _layer_norm_jax,
        0.0,
        relative=1e-4,
    ),
    Workload(
        "attention 1x8x512x64",
        ((1, 8, 512, 64),) * 3,
        lambda ops, q, k, v: ops.scaled_dot_product_attention(q, k, v),
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
        _attention_jax,
        4.0 * 8 * 512 * 512 * 64,
    ),
    _convolution("conv2d 3x3 1x64x56x56", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    _convolution("conv2d 7x7/2 1x3x224x224", (1, 3, 224, 224), (64, 3, 7, 7), 2, 3),
    Workload(
        "embedding 4096 of 1000x512",
        ((1000, 512), (4096,)),
        lambda ops, table, rows: ops.gather(table, rows, axis=0),
        lambda t, table, rows: t.nn.functional.embedding(rows, table),
        lambda j, n, table, rows: n.take(table, rows, axis=0),
        0.0,
        (1,),
    ),
    Workload(
        "relu(x*a+b)*y 2048x2048",
        (_SQUARE, (2048,), (2048,), _SQUARE),
        lambda ops, x, a, b, y: ops.relu(x * a + b) * y,
        lambda t, x, a, b, y: t.relu(x * a + b) * y,
        lambda j, n, x, a, b, y: j.nn.relu(x * a + b) * y,
        0.0,
    ),
)  # fmt: skip
