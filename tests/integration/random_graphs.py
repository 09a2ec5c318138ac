"""Random graphs for Hypothesis: a recipe that can be built again in other dtypes, and arrays that fit it.

Discontinuous ops (floor, comparisons, argmax, casts to integers) are applied only to values that are bit-equal in NumPy
and in any correct compiler: inputs, and what IEEE arithmetic, views and integer ops make of such values. Otherwise a
last-bit difference in exp would be reported as a wrong floor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from compiler import Graph, TensorType, ops
from compiler.errors import GraphError
from compiler.graph.dtypes import DTYPES, numpy_dtype

SIZES = (0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 64, 67)
SYMBOLS = {"M": 6, "N": 19, "K": 1, "Z": 0}
FLOATS = ("f32", "f32", "f32", "f64", "f16", "bf16")
INTEGERS = ("i64", "i32", "i16", "i8", "u8", "bool")
_ELEMENTS = 6000

EXACT_UNARY = ("abs", "neg", "relu", "floor", "ceil", "round", "trunc", "square", "sign", "isnan", "isinf")
SMOOTH_UNARY = ("exp", "sigmoid", "tanh", "erf", "sin", "cos", "gelu", "silu", "softplus_like", "sqrt_abs", "log_abs",
                "rsqrt_abs")  # fmt: skip
BINARY = ("add", "sub", "mul", "minimum", "maximum")
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
REDUCE = ("sum", "mean", "max", "min", "prod")


@dataclass(frozen=True)
class Step:
    """One op of a recipe: a name, the values it takes and plain arguments."""

    name: str
    operands: tuple[int, ...]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """Inputs, steps and outputs of a random graph."""

    inputs: tuple[tuple[str, tuple[int | str, ...]], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    seed: int

    def build(self, widen: bool = False) -> Graph:
        """The graph; `widen` replaces f32 by f64 and the 16-bit floats by f32."""
        wider = {"f32": "f64", "f16": "f32", "bf16": "f32"} if widen else {}
        types = [TensorType(wider.get(dtype, dtype), shape) for dtype, shape in self.inputs]
        with Graph("random", inputs=types) as graph:
            values = list(graph.inputs)
            for step in self.steps:
                values.append(apply(step, [values[k] for k in step.operands], wider))
            graph.output(*[values[k] for k in self.outputs])
        return graph

    def arrays(self, widen: bool = False) -> list[np.ndarray]:
        """Input arrays of small multiples of 1/4, so that sums of them are exact."""
        random = np.random.default_rng(self.seed)
        wider = {"f32": "f64", "f16": "f32", "bf16": "f32"} if widen else {}
        arrays = []
        for dtype, shape in self.inputs:
            sizes = tuple(SYMBOLS[s] if isinstance(s, str) else s for s in shape)
            if DTYPES[dtype].kind == "f":
                array = random.integers(-12, 13, sizes) / 4
            elif dtype == "bool":
                array = random.integers(0, 2, sizes)
            else:
                array = random.integers(0 if dtype == "u8" else -9, 10, sizes)
            arrays.append(np.asarray(array).astype(numpy_dtype(wider.get(dtype, dtype))))
        return arrays


def _unary(x: Any, name: str) -> Any:
    composed: dict[str, Callable[[Any], Any]] = {
        "softplus_like": lambda v: ops.log1p(ops.exp(-ops.abs(v))),
        "sqrt_abs": lambda v: ops.sqrt(ops.abs(v)),
        "log_abs": lambda v: ops.log(ops.abs(v) + 0.5),
        "rsqrt_abs": lambda v: ops.rsqrt(ops.abs(v) + 0.5),
        "neg": ops.neg,
    }
    return composed[name](x) if name in composed else getattr(ops, name)(x)


def apply(step: Step, values: list[Any], wider: dict[str, str]) -> Any:
    """Add one step to the current graph."""
    name, args = step.name, step.args
    if name == "unary":
        return _unary(values[0], args[0])
    if name in ("binary", "compare"):
        return getattr(ops, args[0])(values[0], values[1])
    if name == "where":
        return ops.where(values[0], values[1], values[2])
    if name == "cast":
        return ops.cast(values[0], wider.get(args[0], args[0]))
    if name == "reduce":
        return getattr(ops, args[0])(values[0], axis=args[1], keepdims=args[2])
    if name == "arg":
        return getattr(ops, args[0])(values[0], axis=args[1])
    if name == "matmul":
        return ops.matmul(values[0], values[1])
    if name == "concat":
        return ops.concat([values[0], values[1]], axis=args[0])
    if name == "gather":
        return ops.gather(values[0], values[1], axis=args[0])
    if name == "getitem":
        return values[0][args[0]]
    if name == "scalar":
        return getattr(ops, args[0])(values[0], args[1])
    return getattr(ops, name)(values[0], *args)


@dataclass
class _Known:
    value: Any
    exact: bool


def _size(shape: Any) -> int:
    total = 1
    for size in shape:
        total *= size if isinstance(size, int) else size.evaluate(SYMBOLS)
    return total


@st.composite
def recipes(draw: Any, max_steps: int = 8) -> Recipe:
    """A graph that builds, with values small enough to compute quickly."""
    count = draw(st.integers(1, 3))
    inputs = []
    for _ in range(count):
        dtype = draw(st.sampled_from(FLOATS + INTEGERS[: draw(st.integers(1, 6))]))
        rank = draw(st.integers(0, 4))
        shape = tuple(draw(st.one_of(st.sampled_from(SIZES), st.sampled_from(tuple(SYMBOLS)))) for _ in range(rank))
        sizes = [SYMBOLS[s] if isinstance(s, str) else s for s in shape]
        while np.prod(sizes, initial=1) > _ELEMENTS:
            shape, sizes = shape[1:], sizes[1:]
        inputs.append((dtype, shape))
    steps: list[Step] = []
    with Graph("draft", inputs=[TensorType(dtype, shape) for dtype, shape in inputs]) as graph:
        known = [_Known(value, True) for value in graph.inputs]
        for _ in range(draw(st.integers(1, max_steps))):
            step, exact = draw(_steps(known))
            try:
                value = apply(step, [known[k].value for k in step.operands], {})
            except GraphError:
                continue
            if _size(value.shape) > _ELEMENTS:
                # Too large to keep, but the draft graph has it now: simply never refer to it.
                continue
            steps.append(step)
            known.append(_Known(value, exact))
    # Steps were numbered as if each had succeeded; `_steps` draws operands among `known`, so numbers agree.
    candidates = list(range(len(inputs), len(known))) or [0]
    outputs = draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=3))
    if len(known) - 1 not in outputs:
        outputs.append(len(known) - 1)
    return Recipe(tuple(inputs), tuple(steps), tuple(outputs), draw(st.integers(0, 2**20)))


@st.composite
def _steps(draw: Any, known: list[_Known]) -> tuple[Step, bool]:
    index = draw(st.integers(0, len(known) - 1))
    item = known[index]
    x = item.value
    floating = DTYPES[x.dtype].kind == "f"
    rank = len(x.shape)
    axis = draw(st.integers(-rank, rank - 1)) if rank else 0
    kind = draw(st.sampled_from(("smooth", "exact", "binary", "binary", "scalar", "compare", "where", "cast", "reduce",
                                 "reduce", "arg", "view", "view", "matmul", "concat", "pad", "gather", "cumsum",
                                 "norm", "slice")))  # fmt: skip
    other = draw(st.integers(0, len(known) - 1))
    both = item.exact and known[other].exact
    if kind == "smooth" and floating:
        return Step("unary", (index,), (draw(st.sampled_from(SMOOTH_UNARY)),)), False
    if kind == "exact" and item.exact:
        name = draw(st.sampled_from(EXACT_UNARY))
        return Step("unary", (index,), (name,)), True
    if kind == "compare" and both:
        return Step("compare", (index, other), (draw(st.sampled_from(COMPARE)),)), True
    if kind == "where":
        conditions = [k for k, value in enumerate(known) if value.value.dtype == "bool"]
        if conditions:
            choice = draw(st.sampled_from(conditions))
            return Step("where", (choice, index, other)), both and known[choice].exact
    if kind == "cast" and (item.exact or not floating):
        target = draw(st.sampled_from(("f32", "f64", "i32", "i64", "bf16", "f16")))
        return Step("cast", (index,), (target,)), item.exact
    if kind == "reduce" and rank:
        names = REDUCE[:4] if floating else REDUCE
        name = draw(st.sampled_from(names))
        axes = draw(st.one_of(st.none(), st.just(axis), st.just(tuple(range(rank))[: draw(st.integers(1, rank))])))
        exact = item.exact and (name in ("max", "min") or not floating) and name != "mean"
        return Step("reduce", (index,), (name, axes, draw(st.booleans()))), exact
    if kind == "arg" and rank and item.exact:
        return Step("arg", (index,), (draw(st.sampled_from(("argmax", "argmin"))), axis)), True
    if kind == "view":
        return draw(_views(index, x, axis)), item.exact
    if kind == "slice" and rank:
        return draw(_slices(index, rank)), item.exact
    if kind == "matmul":
        return Step("matmul", (index, other)), both and not floating
    if kind == "concat" and rank:
        return Step("concat", (index, other), (axis,)), both
    if kind == "pad" and rank and rank <= 3:
        widths = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(rank))
        return Step("pad", (index,), (widths,)), item.exact
    if kind == "gather" and rank:
        indices = [
            k for k, v in enumerate(known) if v.exact and v.value.dtype in ("i32", "i64") and len(v.value.shape) <= 2
        ]
        if indices:
            choice = draw(st.sampled_from(indices))
            return Step("gather", (index, choice), (axis,)), item.exact
    if kind == "cumsum" and rank:
        return Step("cumsum", (index,), (axis,)), item.exact and not floating
    if kind == "norm" and rank and floating:
        return Step(draw(st.sampled_from(("softmax", "log_softmax"))), (index,), (axis,)), False
    if kind == "scalar":
        number = draw(st.sampled_from((2, -3, 1, 0))) if not floating else draw(st.sampled_from((2, 0.5, -1.25, 0)))
        return Step("scalar", (index,), (draw(st.sampled_from(BINARY)), number)), item.exact
    return Step("binary", (index, other), (draw(st.sampled_from(BINARY)),)), both


@st.composite
def _views(draw: Any, index: int, x: Any, axis: int) -> Step:
    rank = len(x.shape)
    choice = draw(st.sampled_from(("transpose", "unsqueeze", "reshape", "broadcast", "flip", "squeeze", "tile")))
    if choice == "transpose" and rank:
        return Step("transpose", (index,), (tuple(draw(st.permutations(range(rank)))),))
    if choice == "unsqueeze":
        return Step("unsqueeze", (index,), (draw(st.integers(0, rank)),))
    if choice == "reshape" and rank:
        joined = draw(st.integers(0, rank - 1))
        shape = (*x.shape[:joined], -1)
        return Step("reshape", (index,), (shape,))
    if choice == "broadcast":
        return Step("broadcast_to", (index,), ((draw(st.integers(0, 3)), *x.shape),))
    if choice == "tile" and rank:
        return Step("tile", (index,), (tuple(draw(st.integers(1, 2)) for _ in range(rank)),))
    if choice == "squeeze":
        return Step("squeeze", (index,))
    if rank:
        return Step("getitem", (index,), ((*[slice(None)] * (axis % rank), slice(None, None, -1)),))
    return Step("unsqueeze", (index,), (0,))


@st.composite
def _slices(draw: Any, index: int, rank: int) -> Step:
    keys = []
    for _ in range(rank):
        start = draw(st.one_of(st.none(), st.integers(-3, 3)))
        stop = draw(st.one_of(st.none(), st.integers(-2, 9)))
        step = draw(st.sampled_from((None, 1, 2, 3, -1, -2)))
        keys.append(slice(start, stop, step))
    return Step("getitem", (index,), (tuple(keys),))
