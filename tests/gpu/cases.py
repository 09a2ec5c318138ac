"""Graphs of every op family, each in the float dtypes that matter: data for tests, with no test in it.

In `inputs`, dtype F stands for the float under test and index:N for integers below N. A letter as a size is symbolic.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.graph.ops.ordering import argsort
from compiler.importers.compose.places import scatter_along, top_k

ALL = ("f32", "f16", "bf16")
WIDE = ("f16", "bf16")
WIDER = {"f32": "f64", "f16": "f32", "bf16": "f32", "f64": "f64"}
SIZES = {"M": 37, "N": 130, "Z": 0, "S": 65}


@dataclass(frozen=True)
class Case:
    name: str
    inputs: tuple[tuple[str, tuple[Any, ...]], ...]
    build: Callable[..., Any]
    floats: tuple[str, ...] = ("f32",)
    positive: bool = False
    slack: float = 1.0
    sizes: dict[str, int] = field(default_factory=lambda: SIZES)

    def graph(self, float_dtype: str) -> Graph:
        types = [TensorType(_dtype(kind, float_dtype), shape) for kind, shape in self.inputs]
        with Graph(self.name.replace("-", "_"), inputs=types) as graph:
            made = self.build(*graph.inputs)
            graph.output(*(made if isinstance(made, tuple) else (made,)))
        return graph

    def arrays(self, float_dtype: str) -> list[np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [self._array(rng, kind, shape, float_dtype) for kind, shape in self.inputs]

    def _array(self, rng: np.random.Generator, kind: str, shape: tuple[Any, ...], float_dtype: str) -> np.ndarray:
        size = tuple(self.sizes[s] if isinstance(s, str) else s for s in shape)
        dtype = _dtype(kind, float_dtype)
        if kind.startswith("index:"):
            values = rng.integers(0, int(kind[6:]), size)
        elif dtype == "bool":
            values = rng.integers(0, 2, size)
        elif DTYPES[dtype].kind == "f":
            values = rng.standard_normal(size)
            values = np.abs(values) + 0.1 if self.positive else values
        else:
            values = rng.integers(0 if dtype == "u8" else -9, 10, size)
        return np.asarray(values).astype(numpy_dtype(dtype))


def _dtype(kind: str, float_dtype: str) -> str:
    return float_dtype if kind == "F" else "i64" if kind.startswith("index:") else kind


def widened(arrays: list[np.ndarray], narrow: list[Any], wide: list[Any]) -> list[np.ndarray]:
    """The same values in the types of the wide graph."""
    return [
        a if n.dtype == w.dtype else a.astype(numpy_dtype(w.dtype))
        for a, n, w in zip(arrays, narrow, wide, strict=True)
    ]


def _unary(name: str, positive: bool = False, slack: float = 1.0, **params: Any) -> Case:
    label = "-".join([name, *map(str, params.values())])
    return Case(label, (("F", ("M", 129)),), lambda x: getattr(ops, name)(x, **params), ALL, positive, slack)


def _binary(name: str, dtype: str = "F", floats: tuple[str, ...] = ALL, shapes: Any = (("M", 129), (129,))) -> Case:
    label = name if dtype == "F" else f"{name}-{dtype}"
    inputs = tuple((dtype, shape) for shape in shapes)
    return Case(label, inputs, lambda a, b: getattr(ops, name)(a, b), floats if dtype == "F" else ("f32",))


def _reduce(name: str, axis: Any, shape: Any, dtype: str = "F", floats: tuple[str, ...] = ("f32",)) -> Case:
    label = f"{name}-{dtype}-{axis}-{'x'.join(map(str, shape))}".replace(" ", "")
    slack = 20.0 if name == "prod" else 1.0
    return Case(label, ((dtype, shape),), lambda x: getattr(ops, name)(x, axis=axis), floats, slack=slack)


def _matmul(label: str, a: Any, b: Any, floats: tuple[str, ...] = ALL) -> Case:
    return Case(f"matmul-{label}", (("F", a), ("F", b)), lambda x, y: x @ y, floats)


def _softmax_by_hand(x: Any, axis: int = -1) -> Any:
    e = ops.exp(x - ops.max(x, axis=axis, keepdims=True))
    return e / ops.sum(e, axis=axis, keepdims=True)


def _norm_by_hand(x: Any, axis: Any = -1) -> Any:
    centred = x - ops.mean(x, axis=axis, keepdims=True)
    return centred * ops.rsqrt(ops.mean(ops.square(centred), axis=axis, keepdims=True) + 1e-5)


def _group_norm_by_hand(x: Any, w: Any) -> Any:
    groups = _norm_by_hand(ops.reshape(x, (37, 8, 256)))
    return ops.reshape(groups, (37, 32, 8, 8)) * ops.reshape(w, (1, 32, 1, 1))


def _quantised(x: Any) -> Any:
    scale = ops.max(ops.abs(x), axis=-1, keepdims=True) / 127.0
    return ops.round(x / scale) * scale, scale


def _norm(name: str, width: int) -> Case:
    if name == "layer_norm":
        inputs = (("F", ("M", width)), ("F", (width,)), ("F", (width,)))
        return Case(f"{name}-{width}", inputs, lambda x, w, b: ops.layer_norm(x, w, b, 1e-5), ALL)
    return Case(f"{name}-{width}", (("F", ("M", width)), ("F", (width,))), lambda x, w: ops.rms_norm(x, w, 1e-6), ALL)


def _attention(label: str, q: Any, kv: Any, mask: Any = None, **params: Any) -> Case:
    inputs = (("F", q), ("F", kv), ("F", kv)) + ((("F", mask),) if mask else ())
    return Case(f"attention-{label}", inputs, lambda *a: ops.scaled_dot_product_attention(*a, **params), ALL, slack=2.0)


def _conv(label: str, x: Any, w: Any, **params: Any) -> Case:
    return Case(f"conv2d-{label}", (("F", x), ("F", w)), lambda a, b: ops.conv2d(a, b, **params), ("f32", "f16"))


def _chain(x: Any) -> Any:
    for step in range(4):
        x = ops.tanh(x * 1.5 + 0.25) if step % 2 else ops.exp(-ops.abs(x)) - 0.5
    return x


_SIGNED = ("abs", "neg", "exp", "exp2", "expm1", "sin", "cos", "tanh", "erf", "sigmoid", "relu", "silu", "square",
           "sign", "floor", "ceil", "trunc", "round")  # fmt: skip
_POSITIVE = ("log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal")
ELEMENTWISE = [
    *[_unary(name) for name in _SIGNED],
    *[_unary(name, positive=True) for name in _POSITIVE],
    _unary("gelu", approximate="none"),
    _unary("gelu", approximate="tanh"),
    *[_binary(n) for n in ("add", "sub", "mul", "div", "minimum", "maximum")],
    *[_binary(n, shapes=(("M", 129), ("M", 129))) for n in ("less", "equal", "greater_equal")],
    *[_binary(n, d) for n in ("add", "mul", "floordiv", "mod", "maximum", "less") for d in ("i64", "i32", "i8", "u8")],
    *[_binary(n, "bool") for n in ("logical_and", "logical_xor")],
    *[_binary(n, "i32") for n in ("bitwise_or", "bitwise_xor")],
    Case("pow", (("F", ("M", 129)), ("F", (129,))), lambda a, b: ops.pow(a, b), ALL, positive=True, slack=2.0),
    Case("where", (("bool", ("M", 129)), ("F", ("M", 129)), ("F", (129,))), lambda c, a, b: ops.where(c, a, b), ALL),
    Case("isnan-isinf", (("F", ("M", 9)),), lambda x: (ops.isnan(x / (x - x)), ops.isinf(1 / (x - x))), ALL),
    Case("chain", (("F", (4096, 33)),), _chain, ALL, slack=4.0),
    Case("scalar", (("F", ()),), lambda x: x * 2 + 1, ALL),
    Case("empty", (("F", ("Z", 5)),), lambda x: ops.exp(x)),
    Case("f64", (("f64", ("M", 129)),), lambda x: ops.exp(x) / (1 + ops.square(x)) + ops.sin(x)),
    Case("two-outputs", (("F", ("M", "N")),), lambda x: (ops.exp(x), ops.relu(x) + 1)),
    Case("misaligned-rows", (("F", (5, 4099)),), lambda x: x[:, 1:] + x[:, :-1], ALL),
]
CASTS = [
    Case(f"cast-{a}-{b}", ((a, ("M", 33)),), lambda x, b=b: ops.cast(x, b))
    for a, b in [("f32", "f16"), ("f32", "bf16"), ("f16", "f32"), ("bf16", "f32"), ("f64", "f32"), ("f32", "f64"),
                 ("f32", "i32"), ("f32", "i8"), ("i64", "f32"), ("i32", "f64"), ("u8", "f32"), ("bool", "f32"),
                 ("f32", "bool"), ("i64", "i8"), ("i8", "i64"), ("bf16", "f16"), ("f64", "bf16")]
]  # fmt: skip
REDUCTIONS = [
    *[_reduce(n, -1, ("M", 1000), floats=ALL) for n in ("sum", "mean", "max", "min")],
    *[_reduce(n, 0, (1000, "N")) for n in ("sum", "max")],
    *[_reduce(n, None, (300, 333)) for n in ("sum", "mean", "max")],
    *[_reduce("sum", a, (5, 40, 70)) for a in (0, 1, 2, (0, 2), (0, 1), (1, 2))],
    _reduce("sum", 1, ("M", 70001)),
    *[_reduce(n, None, (3000, 1001), floats=ALL) for n in ("sum", "max")],
    *[_reduce("sum", 0, (5000, w), floats=ALL) for w in (4104, 37)],
    _reduce("sum", (0, 2), (40, 33, 4096)),
    _reduce("sum", 1, (3, 100000), floats=ALL),
    _reduce("sum", 0, ("M", 5000)),
    *[_reduce("sum", None, (900, 1000), d) for d in ("i32", "i64", "f64")],
    _reduce("sum", -1, (20000, 3)),
    _reduce("mean", 1, (3, "Z")),
    _reduce("sum", 0, ("Z", 7)),
    _reduce("prod", -1, ("M", 16)),
    *[_reduce("sum", 1, ("M", 500), d) for d in ("i32", "i64", "u8", "bool", "f64")],
    *[_reduce(n, 1, ("M", 500), "i32") for n in ("max", "min", "prod")],
    *[_reduce(n, a, ("M", 333), "F", ALL) for n in ("argmax", "argmin") for a in (0, 1)],
    Case("cumsum-1", (("F", ("M", 300)),), lambda x: ops.cumsum(x, axis=1)),
    Case("cumsum-0", (("F", (300, "M")),), lambda x: ops.cumsum(x, axis=0)),
    *[Case(f"cumsum-long-{w}", (("F", (5, w)),), lambda x: ops.cumsum(x, axis=1), ALL) for w in (5000, 10001)],
    Case("argmax-nan", (("F", (7, 5000)),), lambda x: ops.argmax(ops.log(x), axis=1), ALL),
    Case("argmax-long", (("F", (2, 128256)),), lambda x: ops.argmax(x, axis=1), ALL),
    Case("argmin-nan-columns", (("F", (700, 130)),), lambda x: ops.argmin(ops.log(x), axis=0), ALL),
    Case("argmax-middle", (("F", (3, 50, 67)),), lambda x: ops.argmax(x, axis=1), ALL),
    Case("argmax-all", (("F", (70, 130)),), lambda x: ops.argmax(x), ALL),
    Case("cumsum-columns", (("F", (2048, 130)),), lambda x: ops.cumsum(x, axis=0), ALL),
    Case("cumsum-middle", (("F", (3, 700, 33)),), lambda x: ops.cumsum(x, axis=1), ALL),
    Case("cumsum-short-columns", (("F", (5, 700)),), lambda x: ops.cumsum(ops.abs(x), axis=0) * 2.0),
    Case("cumsum-f64", (("f64", ("M", "N")),), lambda x: ops.cumsum(x, axis=1)),
    Case("cumsum-int", (("i32", ("M", 300)),), lambda x: ops.cumsum(x, axis=-1)),
    Case("sum-fused", (("F", ("M", 513)),), lambda x: ops.sqrt(ops.sum(ops.square(x) * 0.5, axis=-1)) + 1, ALL),
    Case("var", (("F", ("M", 513)),), lambda x: ops.var(x, axis=-1), slack=4.0),
]
ROWS = [
    *[Case(f"{n}-{a}-{w}", (("F", ("M", w)),), lambda x, n=n, a=a: getattr(ops, n)(x, axis=a), ALL)
      for n in ("softmax", "log_softmax") for a, w in ((-1, 7), (-1, 1000), (-1, 4096), (-1, 33000), (0, 50))],
    *[_norm(n, w) for n in ("layer_norm", "rms_norm") for w in (8, 768, 1001, 4096, 20000)],
    Case("softmax-fused", (("F", ("M", 777)), ("F", ("M", 777))),
         lambda x, m: ops.softmax(x * 0.125 + m, axis=-1) * 2, ALL),
    Case("layer_norm-gelu", (("F", ("M", 768)), ("F", (768,)), ("F", (768,))),
         lambda x, w, b: ops.gelu(ops.layer_norm(x, w, b, 1e-5)), ALL),
    *[Case(f"softmax-by-hand-{w}", (("F", ("M", w)),), _softmax_by_hand, ALL, slack=2.0)
      for w in (1, 7, 768, 1000, 4096, 33000, "N")],
    *[Case(f"norm-by-hand-{w}", (("F", ("M", w)), ("F", (w,))), lambda x, w: _norm_by_hand(x) * w, ALL, slack=2.0)
      for w in (8, 768, 1001, 4096, 20000)],
    Case("softmax-by-hand-columns", (("F", (50, "N")),), lambda x: _softmax_by_hand(x, 0), ALL, slack=2.0),
    Case("norm-by-hand-axes", (("F", (6, 20, 33)),), lambda x: _norm_by_hand(x, (0, 2)), slack=2.0),
    Case("norm-by-hand-two", (("F", (18, 20, 32)),), lambda x: _norm_by_hand(x, (1, 2)), slack=2.0),
    Case("group-norm-by-hand", (("F", (37, 32, 8, 8)), ("F", (32,))), _group_norm_by_hand, slack=2.0),
    Case("softmax-of-norm-by-hand", (("F", ("M", 513)), ("F", ("M", 513))),
         lambda x, y: (_softmax_by_hand(_norm_by_hand(x + y)), x + y), slack=4.0),
    Case("quantised-rows", (("F", ("M", 500)),), _quantised, slack=2.0),
    Case("log-sum-exp", (("F", ("M", 777)),),
         lambda x: ops.log(ops.sum(ops.exp(x - ops.max(x, axis=1, keepdims=True)), axis=1)) + ops.max(x, axis=1)),
    Case("three-reductions", (("F", ("M", 500)),),
         lambda x: (ops.sum(x, axis=1), ops.max(x, axis=1), ops.mean(x, axis=1))),
    Case("in-sequence", (("F", ("M", 500)),), lambda x: (ops.sum(x, axis=0), ops.mean(ops.sum(x, axis=1)))),
    Case("softmax-middle", (("F", (6, 50, 20)),), lambda x: ops.softmax(x, axis=1)),
]  # fmt: skip
MATRICES = [
    _matmul("square", (128, 128), (128, 128)),
    _matmul("odd", ("M", 67), (67, 131)),
    _matmul("thin", (1, 500), (500, 300)),
    _matmul("tall", (700, 16), (16, 8)),
    _matmul("large", (300, 1024), (1024, 520)),
    _matmul("batch", (3, "M", 40), (3, 40, 50)),
    _matmul("broadcast", (2, 3, 33, 40), (40, 50)),
    _matmul("vector", (60, 70), (70,), ("f32",)),
    _matmul("wide", (200, 512), (512, 520), WIDE),
    _matmul("symbolic", ("M", 320), (320, 264), WIDE),
    _matmul("ragged", (300, 515), (515, 333), ALL),
    _matmul("ragged-narrow", (1000, 1003), (1003, 1025), WIDE),
    _matmul("ragged-left", (260, 515), (515, 328), WIDE),
    _matmul("ragged-right", (264, 520), (520, 333), WIDE),
    _matmul("ragged-rows", (2045, 129), (129, 136), WIDE),
    _matmul("ragged-rows-many-tiles", (4093, 330), (330, 1041), ("bf16",)),
    _matmul("ragged-later", (4093, 136), (136, 1541), ("bf16",)),
    _matmul("ragged-later-by-class", (4093, 131), (131, 1541), ("bf16",)),
    _matmul("ragged-later-deep", (4095, 1029), (1029, 1795), ("bf16",)),
    _matmul("lines-later", (4096, 1040), (1040, 2056), ("bf16",)),
    _matmul("ragged-pairs", (2041, 77), (77, 461), WIDE),
    _matmul("ragged-pairs-narrow", (2047, 1027), (1027, 259), WIDE),
    Case(
        "matmul-ragged-rows-within",
        (("F", (1021, 263)), ("F", (263, 144)), ("F", (144,))),
        lambda a, b, c: ops.relu(a[:, 2:] @ b[2:] + c),
        WIDE,
    ),
    Case(
        "matmul-ragged-epilogue",
        (("F", (300, 515)), ("F", (515, 333)), ("F", (333,))),
        lambda a, b, c: ops.relu(a @ b + c),
        ("bf16",),
    ),
    _matmul("ragged-symbolic", ("M", 1030), (1030, 1033), WIDE),
    _matmul("many-tiles", (2900, 328), (328, 1816), ("bf16",)),
    _matmul("many-narrow-tiles", (4000, 72), (72, 1032), ("bf16",)),
    _matmul("rows-beside-lines", (2048, 2048), (2048, 2056), ("bf16",)),
    Case(
        "matmul-ragged-flipped",
        (("F", (333, 515)), ("F", (515, 301))),
        lambda a, b: ops.flip(a, (0,)) @ ops.flip(b, (0,)),
        WIDE,
    ),
    Case("matmul-224", (("F", (512, 128)), ("F", (14336, 128))), lambda a, b: a @ b.transpose(), ("bf16",)),
    _matmul("batched", (5, 130, 136), (5, 136, 72), ALL),
    _matmul("few-rows", (5, 4096), (4096, 520), ALL),
    _matmul("few-rows-deep", (64, 3080), (3080, 264), WIDE),
    _matmul("few-rows-ragged", (13, 2053), (2053, 777), ALL),
    _matmul("few-rows-batch", (3, 9, 2048), (2048, 136), ALL),
    Case(
        "matmul-few-rows-turned-epilogue",
        (("F", (7, 2048)), ("F", (1024, 2048)), ("F", (1024,)), ("F", (7, 1024))),
        lambda x, w, b, r: r + ops.silu(x @ w.transpose() + b),
        ALL,
        slack=2.0,
    ),
    _matmul("divided", (256, 4096), (4096, 264), ALL),
    _matmul("divided-wide", (512, 4096), (4096, 1536), WIDE),
    _matmul("divided-ragged", (333, 3001), (3001, 501), ("f32",)),
    _matmul("divided-batch", (3, 100, 2048), (3, 2048, 136), ALL),
    Case(
        "matmul-divided-computed",
        (("F", (128, 1024)), ("F", (1024, 256)), ("F", (128, 256))),
        lambda x, w, r: ops.relu(ops.abs(x) @ w) * 0.5 + r,
        ALL,
        slack=2.0,
    ),
    Case(
        "matmul-divided-laid-out",
        (("F", (256, 4096)), ("F", (4096, 264)), ("F", (264,))),
        lambda a, b, c: ops.relu(ops.abs(a) @ ops.neg(b) + c),
        ALL,
    ),
    _matmul("divided-ragged-laid-out", (301, 4099), (4099, 259), WIDE),
    _matmul("divided-many-rows", (2049, 2051), (2051, 40), WIDE),
    Case(
        "matmul-few-rows-laid-out",
        (("F", (16, 4096)), ("F", (520, 4096))),
        lambda a, b: ops.abs(a) @ ops.neg(b).transpose(),
        ALL,
    ),
    _matmul("few-rows-symbolic", (9, 1024), (1024, "N"), WIDE),
    Case("matmul-divided-f64", (("f64", (64, 2000)), ("f64", (2000, 72))), lambda a, b: a @ b),
    Case("matmul-divided-i32", (("i32", (64, 2000)), ("i32", (2000, 72))), lambda a, b: a @ b),
    _matmul("row", (1, 4096), (4096, 1000), ALL),
    _matmul("row-batch", (3, 1, 700), (700, 130), ALL),
    _matmul("column", (300, 2050), (2050, 1), ALL),
    _matmul("empty-m", ("Z", 64), (64, 128), WIDE),
    Case("matmul-row-turned", (("F", (1, 3000)), ("F", (130, 3000))), lambda a, b: a @ b.transpose(), ALL),
    Case("matmul-turned", (("F", ("M", 320)), ("F", (264, 320))), lambda a, b: a @ b.transpose(), ALL),
    Case("matmul-both-turned", (("F", (320, 136)), ("F", (264, 320))), lambda a, b: a.transpose() @ b.transpose(), ALL),
    Case(
        "matmul-turned-ragged", (("F", (515, 300)), ("F", (333, 515))), lambda a, b: a.transpose() @ b.transpose(), WIDE
    ),
    Case(
        "matmul-heads",
        (("F", (2, 130, 4, 64)), ("F", (2, 130, 4, 64))),
        lambda a, b: ops.transpose(a, (0, 2, 1, 3)) @ ops.transpose(b, (0, 2, 3, 1)),
        ALL,
    ),
    Case(
        "matmul-computed",
        (("F", ("M", 1024)), ("F", (1024, 1024)), ("F", ("M", 1024))),
        lambda x, w, r: r + ops.silu(x) @ ops.tanh(w),
        ALL,
        slack=2.0,
    ),
    Case("matmul-f64-large", (("f64", (200, 70)), ("f64", (70, 300))), lambda a, b: a @ b),
    Case("matmul-i32-large", (("i32", (200, 70)), ("i32", (70, 300))), lambda a, b: a @ b),
    _matmul("empty-k", (5, "Z"), ("Z", 7), ("f32",)),
    Case("matmul-f64", (("f64", (33, 65)), ("f64", (65, 31))), lambda a, b: a @ b),
    Case("matmul-i32", (("i32", (33, 65)), ("i32", (65, 31))), lambda a, b: a @ b),
    Case("matmul-transposed", (("F", (65, "M")), ("F", (90, 65))), lambda a, b: a.transpose() @ b.transpose(), ALL),
    Case(
        "matmul-bias-relu",
        (("F", ("M", 128)), ("F", (128, 96)), ("F", (96,))),
        lambda x, w, b: ops.relu(x @ w + b),
        ALL,
    ),
    Case("matmul-prologue", (("F", ("M", 128)), ("F", (128, 96))), lambda x, w: ops.silu(x) @ w, ALL, slack=2.0),
    _attention("plain", (2, 4, "S", 64), (2, 4, "S", 64)),
    _attention("causal", (1, 2, "S", 32), (1, 2, "S", 32), is_causal=True),
    _attention("gqa", (1, 8, 33, 64), (1, 2, 33, 64), enable_gqa=True),
    _attention("mask", (2, 2, 20, 16), (2, 2, 50, 16), (20, 50), scale=0.25),
    _attention("long", (1, 2, 300, 128), (1, 2, 300, 128), is_causal=True),
    _attention("masked-64", (2, 2, 70, 64), (2, 2, 150, 64), (70, 150)),
    _attention("masked-gqa", (1, 4, 130, 128), (1, 2, 130, 128), (130, 130), enable_gqa=True),
    _attention("causal-64", (2, 3, 200, 64), (2, 3, 200, 64), is_causal=True),
    _attention("causal-128", (1, 4, "S", 128), (1, 2, "S", 128), is_causal=True, enable_gqa=True),
    Case(
        "attention-rope-many",
        (*[("F", (1, 1100, h, 64)) for h in (16, 4, 4)], ("F", (1100, 32)), ("F", (1100, 32))),
        lambda q, k, v, c, s: ops.scaled_dot_product_attention(
            ops.rope(ops.transpose(q, (0, 2, 1, 3)), c, s),
            ops.rope(ops.transpose(k, (0, 2, 1, 3)), c, s),
            ops.transpose(v, (0, 2, 1, 3)),
            is_causal=True,
            enable_gqa=True,
        ),
        ("bf16",),
        slack=2.0,
    ),
    _attention("wide-96", (2, 3, 150, 96), (2, 3, 150, 96)),
    _attention("wide-80", (1, 4, 70, 80), (1, 2, 133, 80), is_causal=True, enable_gqa=True),
    _attention("wide-72", (1, 2, 200, 72), (1, 2, 200, 72), (200, 200)),
    _attention("wide-40", (2, 2, 129, 40), (2, 2, 77, 40)),
    _attention("wide-128", (1, 2, 257, 128), (1, 2, 300, 128)),
    Case(
        "attention-other-values",
        (("F", (2, 2, 70, 20)), ("F", (2, 2, 90, 20)), ("F", (2, 2, 90, 100))),
        lambda q, k, v: ops.scaled_dot_product_attention(ops.abs(q), ops.neg(k), ops.relu(v)) * 2.0,
        ALL,
        slack=2.0,
    ),
    _attention("many", (4, 9, 200, 64), (4, 9, 133, 64)),
    _attention("many-causal", (2, 20, 150, 96), (2, 10, 150, 96), is_causal=True, enable_gqa=True),
    _attention("many-masked", (2, 20, 130, 128), (2, 20, 150, 128), (130, 150)),
    _attention("negative-scale", (1, 2, 130, 64), (1, 2, 130, 64), scale=-0.2),
    _attention("few-keys", (1, 2, 300, 128), (1, 2, 20, 128)),
    *[
        Case(
            f"attention-keys-side-by-side-{size}",
            (("F", (2, 3, 70, size)), ("F", (2, 3, size, "M")), ("F", (2, 3, "M", 5))),
            lambda q, k, v: ops.scaled_dot_product_attention(q, ops.transpose(k, (0, 1, 3, 2)), v),
            ALL,
            slack=2.0,
        )
        for size in (50, 256)
    ],
    Case(
        "attention-rope",
        (*[("F", (1, 150, h, 64)) for h in (4, 2, 2)], ("F", (150, 32)), ("F", (150, 32))),
        lambda q, k, v, c, s: ops.transpose(
            ops.scaled_dot_product_attention(
                ops.rope(ops.transpose(q, (0, 2, 1, 3)), c, s),
                ops.rope(ops.transpose(k, (0, 2, 1, 3)), c, s),
                ops.transpose(v, (0, 2, 1, 3)),
                is_causal=True,
                enable_gqa=True,
            ),
            (0, 2, 1, 3),
        ),
        ALL,
        slack=2.0,
    ),
    _attention("more-keys", (1, 2, 40, 64), (1, 2, "M", 64), is_causal=True),
    Case(
        "rope",
        (("F", (2, "S", 64)), ("F", ("S", 32)), ("F", ("S", 32))),
        lambda x, c, s: ops.rope(x, c, s),
        ALL,
        slack=2.0,
    ),
    _conv("plain", (2, 3, 20, 17), (8, 3, 3, 3)),
    _conv("strided", (1, 4, 30, 30), (6, 4, 5, 3), stride=2, padding=1),
    _conv("dilated-groups", (2, 4, 19, 23), (8, 2, 3, 3), dilation=2, groups=2, padding=(2, 1)),
    _conv("tiles", (3, 20, 30, 30), (130, 20, 3, 3), padding=1),
    _conv("pointwise", (2, 16, 14, 14), (24, 16, 1, 1)),
    Case("max_pool", (("F", (2, 3, 20, 21)),), lambda x: ops.max_pool2d(x, 3, stride=2, padding=1), ALL),
    Case(
        "max_pool-padded", (("F", (2, 5, 37, 61)),), lambda x: ops.max_pool2d(ops.neg(x), 3, stride=1, padding=1), ALL
    ),
    Case(
        "avg_pool-strided", (("F", (2, 3, 50, 61)),), lambda x: ops.relu(ops.avg_pool2d(x, 5, stride=2, padding=2)), ALL
    ),
    Case("avg_pool", (("F", (2, 3, 20, 21)),), lambda x: ops.avg_pool2d(x, 2), ALL),
]
INDEXING = [
    Case("transpose", (("F", (3, "M", 70)),), lambda x: ops.transpose(x, (2, 0, 1)) * 1, ALL),
    Case("transpose-tiles", (("F", (128, 192)), ("F", (192, 1))), lambda x, b: ops.relu(x.transpose() + b), ALL),
    Case("transpose-ragged", (("F", (130, "N")),), lambda x: x.transpose() * 2, ALL),
    Case("transpose-mixed", (("F", (130, 70)), ("F", (70, 130))), lambda x, y: x.transpose() + y, ALL),
    Case("transpose-int8", (("i8", (200, 90)),), lambda x: x.transpose() + 1),
    Case("reshape-slice", (("F", (12, 50)),), lambda x: ops.reshape(x, (6, 100))[1::2, 3:90:7] + 0),
    Case("flip", (("F", ("M", 50)),), lambda x: x[::-1, ::-2] + 0),
    Case("tile-less", (("i8", (1,)),), lambda x: ops.tril(ops.concat([(ops.tile(x, (2,)) - 2)[None]] * 3, 0))[:, ::-1]),
    Case("broadcast", (("F", ("M", 1)),), lambda x: ops.broadcast_to(x, ("M", 77)) + 0),
    Case("concat", (("F", ("M", 5)), ("F", ("M", 9))), lambda a, b: ops.concat([a, b * 2, a], axis=1), ALL),
    Case("pad", (("F", ("M", 11)),), lambda x: ops.pad(x, ((1, 2), (0, 3)), constant_values=1.5)),
    Case("gather", (("F", (100, 33)), ("index:100", ("M", 3))), lambda x, i: ops.gather(x, i, axis=0), ALL),
    Case("gather-1", (("F", ("M", 40)), ("index:40", (7,))), lambda x, i: ops.gather(x, i, axis=1)),
    Case("tile", (("F", ("M", 5)),), lambda x: ops.tile(x, (2, 3))),
    Case("iota", (("F", ("M", 5)),), lambda x: x + ops.cast(ops.iota(("M", 5), 1), "f32")),
    Case("tril", (("F", (20, 33)),), lambda x: ops.tril(x)),
    Case("constant", (("F", ("M", 64)),), lambda x: x * np.arange(64, dtype=np.float32) + 0.5),
    *[Case(f"sort-{n}", (("i32", ("M", n)),), lambda x: (argsort(x), argsort(x, descending=True))) for n in (205, "N")],
    Case("top-k", (("i32", ("M", "N")),), lambda x: top_k(x, 20, 1)),
    Case("scatter", (("F", ("M", "N")), ("index:130", ("M", "S")), ("F", ("M", "S"))),
         lambda x, i, u: (scatter_along(x, i, u, 1), scatter_along(x, i, u, 1, "max")), ALL),
]  # fmt: skip
CASES = [*ELEMENTWISE, *CASTS, *REDUCTIONS, *ROWS, *MATRICES, *INDEXING]


def variants() -> list[tuple[Case, str]]:
    """Every case in every float dtype it is meant for."""
    return [(case, dtype) for case in CASES for dtype in case.floats]
