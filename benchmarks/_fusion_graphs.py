"""Graphs to time with and without fusion: random ones, each from a number, kernels whose operands something is
computed on, and the same thing named and written out.

Sizes are large enough that a call's own cost is no part of the time, and small enough that hundreds fit in minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import numpy_dtype

SIDES = (64, 200, 256, 512, 768, 1000, 1024, 2048, 4096)
LEAST, MOST = 1 << 16, 1 << 21  # elements of the first operand
LIGHT = ("relu", "abs", "neg", "square", "sign", "floor")
HEAVY = ("exp", "tanh", "gelu", "silu", "sigmoid", "sin", "erf", "sqrt")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


@dataclass
class Drawing:
    """A graph being drawn."""

    random: np.random.Generator
    graph: Graph
    values: list[Any]

    def pick(self, items: Any) -> Any:
        return items[int(self.random.integers(len(items)))]

    def recent(self) -> Any:
        """One of the values made last, more often the very last."""
        return self.values[-1 - min(int(self.random.exponential(1.5)), len(self.values) - 1)]

    def constant(self, *shape: int) -> Any:
        scale = shape[0] ** -0.5 if len(shape) == 2 else 1.0
        return ops.constant((self.random.standard_normal(shape) * scale).astype(np.float32))


def drawn(number: int) -> Graph:
    """The graph of a number: 4 to 16 steps over a matrix, another of its shape, a row and a column."""
    random = np.random.default_rng(number)
    rows, columns = (int(random.choice(SIDES)) for _ in range(2))
    while not LEAST <= rows * columns <= MOST:
        rows, columns = (int(random.choice(SIDES)) for _ in range(2))
    shapes = [(rows, columns), (rows, columns), (columns,), (rows, 1)]
    with Graph(f"random_{number}", inputs=[TensorType("f32", shape) for shape in shapes]) as graph:
        drawing = Drawing(random, graph, [*graph.inputs[::-1]])
        wanted = int(random.integers(4, 17))
        while len(drawing.values) < wanted + len(shapes):
            first = len(drawing.values) == len(shapes)  # of the matrix, so that there is something to do
            made = drawing.pick(STEPS)(drawing, graph.inputs[0] if first else drawing.recent())
            if made is not None and math.prod(made.shape) <= MOST:
                drawing.values.append(made)
        used = {id(operand) for op in graph.ops for operand in op.operands}
        ends = [value for value in drawing.values[len(shapes) :] if id(value) not in used]
        graph.output(*ends)
    return graph


def _light(drawing: Drawing, x: Any) -> Any:
    return getattr(ops, drawing.pick(LIGHT))(x)


def _heavy(drawing: Drawing, x: Any) -> Any:
    name = drawing.pick(HEAVY)
    return ops.sqrt(ops.abs(x) + 0.5) if name == "sqrt" else getattr(ops, name)(x * 0.25)


def _binary(drawing: Drawing, x: Any) -> Any:
    fitting = [v for v in drawing.values if _fits(v.shape, x.shape) or _fits(x.shape, v.shape)]
    return getattr(ops, drawing.pick(BINARY))(x, drawing.pick(fitting))


def _fits(small: Any, large: Any) -> bool:
    """Whether a shape broadcasts to another."""
    ends = list(zip(reversed(small), reversed(large)))
    return len(small) <= len(large) and all(a in (1, b) for a, b in ends)


def _scaled(drawing: Drawing, x: Any) -> Any:
    return x * drawing.pick((0.5, 1.5)) + drawing.pick((0.25, 1.0))


def _reduced(drawing: Drawing, x: Any) -> Any:
    if len(x.shape) != 2:
        return None
    name = drawing.pick(("sum", "max", "mean"))
    return getattr(ops, name)(x, axis=drawing.pick((0, 1)), keepdims=drawing.pick((True, False)))


def _normed(drawing: Drawing, x: Any) -> Any:
    if len(x.shape) != 2 or x.shape[1] < 2:
        return None
    return drawing.pick((softmax, layer_norm, rms_norm, ops.softmax))(x)


def _product(drawing: Drawing, x: Any) -> Any:
    if len(x.shape) != 2 or min(x.shape) < 2 or math.prod(x.shape) > 1 << 20:
        return None
    form = drawing.pick(("weight", "linear", "vector", "row"))
    rows, columns = x.shape
    if form == "weight":
        return x @ drawing.constant(columns, drawing.pick((16, 64, 128)))
    if form == "linear":
        return ops.linear(x, drawing.constant(drawing.pick((16, 64, 128)), columns))
    if form == "vector":
        return x @ drawing.constant(columns)
    return drawing.constant(1, rows) @ x


def _viewed(drawing: Drawing, x: Any) -> Any:
    if len(x.shape) != 2:
        return None
    form = drawing.pick(("turn", "flip", "half", "join", "shift"))
    if form == "turn":
        return ops.transpose(x)
    if form == "flip":
        return ops.flip(x, axis=drawing.pick((0, 1)))
    if form == "half":
        return x[:, : x.shape[1] // 2] if x.shape[1] > 1 else None
    if form == "join":
        return ops.concat([x, ops.relu(x)], axis=drawing.pick((0, 1)))
    return ops.roll(x, 1, axis=drawing.pick((0, 1)))


def _cast(drawing: Drawing, x: Any) -> Any:
    return ops.cast(ops.cast(x, drawing.pick(("bf16", "f16"))), "f32")


STEPS: tuple[Callable[[Drawing, Any], Any], ...] = (
    *[_light, _heavy, _binary] * 3, _scaled, _scaled, _reduced, _reduced, _normed, _product, _viewed, _viewed, _cast,
)  # fmt: skip


def softmax(x: Any) -> Any:
    e = ops.exp(x - ops.max(x, axis=-1, keepdims=True))
    return e / ops.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Any, *more: Any) -> Any:
    centred = x - ops.mean(x, axis=-1, keepdims=True)
    made = centred * ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + 1e-5)
    return made * more[0] + more[1] if more else made


def rms_norm(x: Any, *more: Any) -> Any:
    made = x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6)
    return made * more[0] if more else made


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ ops.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])) @ v


Build = Callable[..., Any]


@dataclass(frozen=True)
class Twice:
    """The same thing as a named op and written out; how much longer the second may take."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    named: Build
    written: Build
    most: float
    dtype: str = "f32"

    @property
    def for_cards(self) -> bool:
        """Whether it is much for a CPU."""
        return self.dtype == "bf16"

    def graph(self, build: Build) -> Graph:
        with Graph(self.name, inputs=[TensorType(self.dtype, shape) for shape in self.shapes]) as graph:
            graph.output(build(*graph.inputs))
        return graph


def _named_layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    return ops.layer_norm(x, weight, bias, 1e-5)


def _twice() -> tuple[Twice, ...]:
    found = []
    for rows, width in ((8192, 256), (2048, 1024), (1024, 4096), (128, 32768)):
        x, w = (rows, width), (width,)
        found += [
            Twice(f"softmax {rows}x{width}", (x,), lambda a: ops.softmax(a, axis=-1), softmax, 1.0),
            Twice(f"layer norm {rows}x{width}", (x, w, w), _named_layer_norm, layer_norm, 1.0),
            Twice(f"RMS norm {rows}x{width}", (x, w), lambda a, g: ops.rms_norm(a, g, 1e-6), rms_norm, 1.0),
        ]  # fmt: skip
    for shape in ((1, 8, 512, 64), (4, 8, 128, 64), (1, 8, 1024, 128)):
        words = "x".join(map(str, shape))
        found.append(Twice(f"attention {words}", (shape,) * 3, ops.scaled_dot_product_attention, attention, 1.1))
    attend, shape = ops.scaled_dot_product_attention, (4, 16, 1024, 128)
    found.append(Twice("attention 4x16x1024x128 bf16", (shape,) * 3, attend, attention, 1.1, "bf16"))
    return tuple(found)


TWICE = _twice()


@dataclass(frozen=True)
class Computed:
    """A kernel with something computed on some of its operands, which may be fused into them."""

    name: str
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    build: Build
    which: tuple[int, ...]
    for_cards: bool = False  # much for a CPU

    def graph(self) -> Graph:
        with Graph(self.name, inputs=[TensorType(self.dtype, shape) for shape in self.shapes]) as graph:
            graph.output(self.build(*[ops.abs(x) if k in self.which else x for k, x in enumerate(graph.inputs)]))
        return graph


def _product_of(a: Any, b: Any) -> Any:
    return a @ b


def _turned_product(a: Any, b: Any) -> Any:
    return a @ ops.transpose(b, (1, 0))


def _convolution(x: Any, w: Any) -> Any:
    return ops.conv2d(x, w, padding=(1, 1))


PRODUCTS = (
    (1, 4096, 4096), (8, 4096, 4096), (13, 4104, 777), (16, 14336, 4096), (64, 512, 512), (64, 1024, 4096),
    (128, 1024, 128), (256, 256, 256), (256, 8192, 256), (300, 300, 300), (333, 3001, 501), (512, 512, 512),
    (512, 4096, 512), (1000, 1024, 1000), (2048, 2048, 2048), (2045, 1029, 1795), (4096, 4096, 4096),
)  # fmt: skip
ATTENTIONS = (
    (4, 16, 1024, 128), (1, 8, 128, 64), (2, 8, 300, 64), (1, 32, 2048, 128), (2, 4, 200, 96), (1, 32, 512, 128),
    (1, 16, 1024, 64), (4, 16, 512, 128), (2, 8, 300, 32), (4, 8, 48, 64),
)  # fmt: skip
CONVOLUTIONS = (
    ((16, 64, 56, 56), (64, 64, 3, 3)), ((2, 32, 28, 28), (48, 32, 3, 3)), ((1, 64, 7, 7), (256, 64, 1, 1)),
    ((1, 16, 6, 6), (512, 16, 3, 3)),
)  # fmt: skip


OTHERS = (
    ("max-pool-3", (4, 32, 64, 64), lambda x: ops.max_pool2d(x, (3, 3), stride=(1, 1))),
    ("max-pool-2", (4, 32, 64, 64), lambda x: ops.max_pool2d(x, (2, 2))),
    ("avg-pool-5", (4, 32, 64, 64), lambda x: ops.avg_pool2d(x, (5, 5), stride=(2, 2))),
    ("cumsum-rows", (512, 2048), lambda x: ops.cumsum(x, axis=1)),
    ("cumsum-columns", (2048, 512), lambda x: ops.cumsum(x, axis=0)),
    ("argmax-rows", (512, 2048), lambda x: ops.argmax(x, axis=1)),
    ("argmax-columns", (2048, 512), lambda x: ops.argmax(x, axis=0)),
    ("sum-rows", (512, 2048), lambda x: ops.sum(x, axis=1)),
    ("max-columns", (2048, 512), lambda x: ops.max(x, axis=0)),
    ("softmax-rows", (512, 2048), lambda x: ops.softmax(x, axis=1)),
    ("softmax-columns", (2048, 512), lambda x: ops.softmax(x, axis=0)),
    ("layer-norm", (512, 2048), lambda x: ops.layer_norm(x)),
    ("mean-middle", (64, 128, 128), lambda x: ops.mean(x, axis=1)),
)


def _computed() -> tuple[Computed, ...]:
    found = []
    for dtype in ("f32", "bf16"):
        found += [Computed(f"{name}-{dtype}", dtype, (shape,), build, (0,)) for name, shape, build in OTHERS]
        for which, side in (((0,), "left"), ((1,), "right"), ((0, 1), "both")):
            for m, k, n in PRODUCTS:
                words = f"{dtype}-{m}x{k}x{n}-{side}"
                much = m * k * n >= 1 << 35
                found.append(Computed(f"product-{words}", dtype, ((m, k), (k, n)), _product_of, which, much))
                if k == 4096 or k == 300:
                    found.append(Computed(f"turned-{words}", dtype, ((m, k), (n, k)), _turned_product, which, much))
            for shapes in CONVOLUTIONS:
                words = "x".join(map(str, shapes[0]))
                found.append(Computed(f"conv-{dtype}-{words}-{side}", dtype, shapes, _convolution, which))
        for which, side in (((0,), "queries"), ((1,), "keys"), ((0, 1, 2), "all")):
            for shape in ATTENTIONS:
                words = "x".join(map(str, shape))
                attend, much = ops.scaled_dot_product_attention, math.prod(shape) >= 1 << 21
                found.append(Computed(f"attention-{dtype}-{words}-{side}", dtype, (shape,) * 3, attend, which, much))
    return tuple(found)


COMPUTED = _computed()


def arrays_of(graph: Graph, seed: int) -> list[np.ndarray]:
    """Inputs of a graph, the same for the same number."""
    random = np.random.default_rng(seed)
    types: list[Any] = list(graph.input_types)
    return [random.standard_normal(kind.shape).astype(numpy_dtype(kind.dtype)) for kind in types]
