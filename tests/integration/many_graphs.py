"""Large random graphs, each from one number: all families of ops, all dtypes, symbolic and empty sizes, views of views,
several outputs, mutable buffers. Run as a program it checks a range of them and prints what disagrees:

    python tests/integration/many_graphs.py FIRST COUNT

Ops that jump (comparisons, floor, casts to integers) are given only values that any right compiler computes to the bit;
see `random_graphs`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler import Graph, TensorType, compile, ops, reference
from compiler.errors import ExecutionError, GraphError
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.graph.types import BufferType
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

SYMBOLS = {"M": 6, "N": 17, "K": 1, "Z": 0}
SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 17, 31, 33, 64)
TYPES = ("f32", "f32", "f32", "f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool")
WIDER = {"f32": "f64", "f16": "f32", "bf16": "f32"}
MOST = 5000  # elements of a value
WAYS = [(level, fuse, flow) for level in (3, 0) for fuse in (True, False) for flow in ("all-kernel", "per-kernel")]

EXACT = ("abs", "neg", "relu", "floor", "ceil", "round", "trunc", "square", "sign")
TESTS = ("isnan", "isinf", "isfinite")
SMOOTH = ("exp", "exp2", "expm1", "sigmoid", "tanh", "erf", "sin", "cos", "gelu", "silu")
POSITIVE = ("sqrt", "rsqrt", "log", "log2", "log1p", "reciprocal")
BINARY = ("add", "sub", "mul", "minimum", "maximum")
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
WHOLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "floordiv", "mod")

Build = Callable[[Sequence[Any], dict[str, str]], Any]


@dataclass
class Drawn:
    """A graph being drawn: what builds each value, and whether it is the same to the bit everywhere."""

    random: np.random.Generator
    inputs: list[tuple[str, tuple[int | str, ...], bool]]
    steps: list[tuple[Build, bool]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def build(self, wider: dict[str, str]) -> Graph:
        types = [(BufferType if mutable else TensorType)(wider.get(d, d), s) for d, s, mutable in self.inputs]
        with Graph("many", inputs=types) as graph:
            values = list(graph.inputs)
            for step, gives in self.steps:
                made = step(values, wider)
                if gives:
                    values.append(made)
            graph.output(*[values[k] for k in self.outputs])
        return graph

    def arrays(self, seed: int, wider: dict[str, str]) -> list[np.ndarray]:
        random, made = np.random.default_rng(seed), []
        for dtype, shape, _ in self.inputs:
            sizes = [SYMBOLS[s] if isinstance(s, str) else s for s in shape]
            if DTYPES[dtype].kind == "f":
                array = random.integers(-12, 13, sizes) / 4
            else:
                array = random.integers(0, 2, sizes) if dtype == "bool" else random.integers(0, 10, sizes)
            made.append(np.asarray(array).astype(numpy_dtype(wider.get(dtype, dtype))))
        return made


def elements(shape: Sequence[Any]) -> int:
    """How many elements a shape has with the sizes used here."""
    total = 1
    for size in shape:
        total *= size if isinstance(size, int) else size.evaluate(SYMBOLS)
    return total


def draw(number: int) -> Drawn:
    """The graph of a number."""
    drawn = Drawn(np.random.default_rng(number), [])
    for _ in range(int(drawn.random.integers(1, 5))):
        shape: tuple[int | str, ...] = tuple(
            drawn.pick(list(SYMBOLS)) if drawn.chance(0.25) else drawn.pick(SIZES)
            for _ in range(int(drawn.random.integers(0, 5)))
        )
        while np.prod([SYMBOLS[s] if isinstance(s, str) else s for s in shape], initial=1) > MOST:
            shape = shape[1:]
        drawn.inputs.append((drawn.pick(TYPES), shape, drawn.chance(0.12)))
    if all(mutable for _, _, mutable in drawn.inputs):
        drawn.inputs.append(("f32", (8, 8), False))
    types = [(BufferType if mutable else TensorType)(d, s) for d, s, mutable in drawn.inputs]
    with Graph("draft", inputs=types) as graph:
        drawn.values, drawn.exact = list(graph.inputs), [True] * len(graph.inputs)
        wanted, attempts = int(drawn.random.integers(10, 61)), 0
        while len(drawn.steps) < wanted and attempts < 400:
            attempts += 1
            _add(drawn, drawn.pick(FAMILIES))
    made = [k for k in range(len(drawn.inputs), len(drawn.values))] or _tensors(drawn)
    drawn.outputs = sorted({made[-1], *(drawn.pick(made) for _ in range(int(drawn.random.integers(0, 4))))})
    return drawn


def _tensors(drawn: Drawn) -> list[int]:
    return [k for k, v in enumerate(drawn.values) if isinstance(v.type, TensorType)]


def _add(drawn: Drawn, family: Callable[[Drawn, int], tuple[Build, bool] | None]) -> None:
    late = _tensors(drawn)
    index = late[-1 - min(int(drawn.random.exponential(3)), len(late) - 1)] if drawn.chance(0.7) else drawn.pick(late)
    found = family(drawn, index)
    if found is None:
        return
    step, exact = found
    try:
        value = step(drawn.values, {})
    except GraphError:
        return
    if value is None:
        drawn.steps.append((step, False))
        return
    if elements(value.shape) > MOST or len(value.shape) > 6:
        return
    drawn.steps.append((step, True))
    drawn.values.append(value)
    drawn.exact.append(exact)


def _kind(drawn: Drawn, index: int) -> str:
    return DTYPES[drawn.values[index].dtype].kind


def _unary(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    if _kind(drawn, k) == "f" and drawn.chance(0.6):
        if drawn.chance(0.5):
            name = drawn.pick(SMOOTH)
            return lambda v, w: getattr(ops, name)(v[k] * 0.25), False
        name = drawn.pick(POSITIVE)
        return lambda v, w: getattr(ops, name)(ops.abs(v[k]) + 0.5), False
    if not drawn.exact[k]:
        return lambda v, w: ops.relu(v[k]), False
    name = drawn.pick(EXACT if drawn.chance(0.85) else TESTS)
    return lambda v, w: getattr(ops, name)(v[k]), True


def _binary(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    other, name = drawn.pick(_tensors(drawn)), drawn.pick(BINARY)
    return lambda v, w: getattr(ops, name)(v[k], v[other]), drawn.exact[k] and drawn.exact[other]


def _scalar(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    number = drawn.pick((2, 0.5, -1.25, 0, 1)) if _kind(drawn, k) == "f" else drawn.pick((2, 3, 1, 0))
    name = drawn.pick(BINARY)
    return lambda v, w: getattr(ops, name)(v[k], number), drawn.exact[k]


def _compare(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    other, name = drawn.pick(_tensors(drawn)), drawn.pick(COMPARE)
    if not (drawn.exact[k] and drawn.exact[other]):
        return None
    return lambda v, w: getattr(ops, name)(v[k], v[other]), True


def _whole(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    if _kind(drawn, k) == "f" or not drawn.exact[k]:
        return None
    name, number = drawn.pick(WHOLE), drawn.pick((1, 3, 5))
    return lambda v, w: getattr(ops, name)(v[k], number), True


def _where(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    other = drawn.pick(_tensors(drawn))
    flags = [i for i in _tensors(drawn) if drawn.values[i].dtype == "bool" and drawn.exact[i]]
    if not flags:
        return None
    flag = drawn.pick(flags)
    return lambda v, w: ops.where(v[flag], v[k], v[other]), drawn.exact[k] and drawn.exact[other]


def _cast(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    if not drawn.exact[k]:
        dtype = drawn.pick(("f32", "f64"))
        return lambda v, w: ops.cast(v[k], w.get(dtype, dtype)), False
    dtype = drawn.pick(("f32", "f64", "i64", "i32", "f16", "bf16"))
    return lambda v, w: ops.cast(v[k], w.get(dtype, dtype)), True


def _reduce(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank, floating = len(drawn.values[k].shape), _kind(drawn, k) == "f"
    if not rank:
        return None
    name = drawn.pick(("sum", "mean", "max", "min") if floating else ("sum", "max", "min", "prod", "any", "all"))
    axes = drawn.pick((None, int(drawn.random.integers(-rank, rank)), tuple(range(rank))[: drawn.pick((1, 2))]))
    keep = drawn.chance(0.5)
    exact = drawn.exact[k] and (not floating or name in ("max", "min"))
    if not drawn.exact[k] and name in ("any", "all"):
        return None
    return lambda v, w: getattr(ops, name)(v[k], axis=axes, keepdims=keep), exact


def _spread(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    if not rank or _kind(drawn, k) != "f":
        return None
    name, axis, keep = drawn.pick(("var", "std")), int(drawn.random.integers(rank)), drawn.chance(0.5)
    if name == "std":
        return lambda v, w: ops.sqrt(ops.var(v[k], axis=axis, keepdims=keep) + 0.25), False
    return lambda v, w: ops.var(v[k], axis=axis, keepdims=keep), False


def _arg(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    if not rank or not drawn.exact[k]:
        return None
    name, axis = drawn.pick(("argmax", "argmin")), int(drawn.random.integers(rank))
    return lambda v, w: getattr(ops, name)(v[k], axis=axis), True


def _norm(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    if not rank or _kind(drawn, k) != "f":
        return None
    name, axis = drawn.pick(("softmax", "log_softmax", "layer_norm", "rms_norm")), int(drawn.random.integers(rank))
    if name in ("softmax", "log_softmax"):
        return lambda v, w: getattr(ops, name)(v[k], axis=axis), False
    return lambda v, w: getattr(ops, name)(v[k], eps=0.1), False


def _by_hand(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    """Rows as models write them: mean, difference, square, mean, root."""
    rank = len(drawn.values[k].shape)
    if not rank or _kind(drawn, k) != "f":
        return None

    def norm(v: Sequence[Any], w: dict[str, str]) -> Any:
        centred = v[k] - ops.mean(v[k], axis=-1, keepdims=True)
        return centred * ops.rsqrt(ops.mean(centred * centred, axis=-1, keepdims=True) + 0.1)

    def soft(v: Sequence[Any], w: dict[str, str]) -> Any:
        e = ops.exp((v[k] - ops.max(v[k], axis=-1, keepdims=True)) * 0.5)
        return e / ops.sum(e, axis=-1, keepdims=True)

    return drawn.pick((norm, soft)), False


def _product(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    other = drawn.pick(_tensors(drawn))
    exact = drawn.exact[k] and drawn.exact[other] and _kind(drawn, k) != "f" and _kind(drawn, other) != "f"
    form = drawn.pick(("matmul", "linear", "self", "turned"))
    if form == "self":  # with its own transposition, so that sizes fit
        if len(drawn.values[k].shape) < 2:
            return None
        return lambda v, w: ops.matmul(v[k], ops.swapaxes(v[k], -1, -2)) * _quarter(v[k]), exact
    if form == "turned":
        return lambda v, w: ops.matmul(v[k], ops.swapaxes(v[other], -1, -2)), exact
    return lambda v, w: getattr(ops, form)(v[k], v[other]), exact


def _quarter(x: Any) -> float | int:
    return 0.25 if DTYPES[x.dtype].kind == "f" else 1


def _attention(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    shape = drawn.values[k].shape
    if len(shape) < 3 or _kind(drawn, k) != "f" or not isinstance(shape[-1], int) or shape[-1] == 0:
        return None
    causal = drawn.chance(0.4)
    return lambda v, w: ops.scaled_dot_product_attention(v[k], v[k] * 0.5, v[k], is_causal=causal), False


def _picture(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    shape = drawn.values[k].shape
    if len(shape) != 4 or _kind(drawn, k) != "f":
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


def _scan(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    if not rank:
        return None
    axis = int(drawn.random.integers(rank))
    return lambda v, w: ops.cumsum(v[k], axis=axis), drawn.exact[k] and _kind(drawn, k) != "f"


def _joined(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    if not rank:
        return None
    axis, same = int(drawn.random.integers(rank)), [i for i in _tensors(drawn) if len(drawn.values[i].shape) == rank]
    others = [k, *(drawn.pick(same) if drawn.chance(0.5) else k for _ in range(drawn.pick((1, 2))))]
    form = drawn.pick(("concat", "stack"))
    return lambda v, w: getattr(ops, form)([v[i] for i in others], axis=axis), all(drawn.exact[i] for i in others)


def _padded(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    if not rank:
        return None
    widths = tuple((drawn.pick((0, 0, 1, 2)), drawn.pick((0, 0, 1))) for _ in range(rank))
    return lambda v, w: ops.pad(v[k], widths), drawn.exact[k]


def _gathered(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    rank = len(drawn.values[k].shape)
    chosen = [
        i for i in _tensors(drawn) if _kind(drawn, i) in "iu" and drawn.exact[i] and len(drawn.values[i].shape) < 3
    ]
    if not rank or not chosen:
        return None
    index, axis = drawn.pick(chosen), int(drawn.random.integers(rank))
    size = drawn.values[k].shape[axis]
    size = size if isinstance(size, int) else size.evaluate(SYMBOLS)
    if not size:
        return None

    def take(v: Sequence[Any], w: dict[str, str]) -> Any:
        within = ops.mod(ops.cast(v[index], "i64"), size)
        return ops.gather(v[k], within, axis=axis)

    return take, drawn.exact[k]


def _turned(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    x = drawn.values[k]
    rank, exact = len(x.shape), drawn.exact[k]
    form = drawn.pick(
        ("transpose", "unsqueeze", "merge", "broadcast", "flip", "squeeze", "tile", "roll", "tri", "flat")
    )
    if form == "unsqueeze" or not rank:
        axis = int(drawn.random.integers(rank + 1))
        return lambda v, w: ops.unsqueeze(v[k], axis), exact
    axis = int(drawn.random.integers(rank))
    if form == "transpose":
        perm = tuple(int(i) for i in drawn.random.permutation(rank))
        return lambda v, w: ops.transpose(v[k], perm), exact
    if form == "merge":
        return lambda v, w: ops.reshape(v[k], (*v[k].shape[:axis], -1)), exact
    if form == "flat":
        return lambda v, w: ops.flatten(v[k]), exact
    if form == "broadcast":
        size = drawn.pick((1, 2, 3))
        return lambda v, w: ops.broadcast_to(v[k], (size, *v[k].shape)), exact
    if form == "tile":
        repeats = tuple(drawn.pick((1, 2)) for _ in range(rank))
        return lambda v, w: ops.tile(v[k], repeats), exact
    if form == "squeeze":
        return lambda v, w: ops.squeeze(v[k]), exact
    if form == "roll":
        return lambda v, w: ops.roll(v[k], 1, axis=axis), exact
    if form == "tri":
        return lambda v, w: ops.tril(v[k]), exact
    return lambda v, w: ops.flip(v[k], axis=axis), exact


def _sliced(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    keys = []
    for _ in drawn.values[k].shape:
        start = drawn.pick((None, None, 0, 1, 2, -1, -3))
        stop = drawn.pick((None, None, None, 5, -1, 2))
        keys.append(slice(start, stop, drawn.pick((None, None, 1, 2, 3, -1, -2))))
    if keys and drawn.chance(0.2):
        keys[int(drawn.random.integers(len(keys)))] = 0
    return (lambda v, w: v[k][tuple(keys)], drawn.exact[k]) if keys else None


def _memory(drawn: Drawn, k: int) -> tuple[Build, bool] | None:
    buffers = [i for i, (_, _, mutable) in enumerate(drawn.inputs) if mutable]
    if not buffers:
        return None
    at = drawn.pick(buffers)
    if drawn.chance(0.5):
        return lambda v, w: ops.buffer_load(v[at]), True
    if not drawn.exact[k] or _kind(drawn, k) != DTYPES[drawn.inputs[at][0]].kind:
        return None  # what a buffer holds is exact, whenever it is loaded
    return lambda v, w: ops.buffer_store(v[at], v[k]), True


FAMILIES = (
    *[_unary, _binary, _turned] * 3, *[_scalar, _reduce, _product, _sliced, _memory] * 2, _compare, _whole, _where,
    _cast, _spread, _arg, _norm, _by_hand, _attention, _picture, _scan, _joined, _padded, _gathered,
)  # fmt: skip


def check(number: int, agreement: Callable[..., str | None], every: bool = False) -> str:
    """What is wrong with the graph of a number, in words; empty when nothing is. `every` tries all ways, else two."""
    drawn = draw(number)
    graph, arrays = drawn.build({}), drawn.arrays(number, {})
    written, wide_written = [a.copy() for a in arrays], drawn.arrays(number, WIDER)
    with np.errstate(all="ignore"):
        try:
            expected = reference(graph, *written)
        except ExecutionError:  # sizes the graph cannot take: the model must refuse them too
            try:
                compile(graph, opt_level=0, cache=False).execute(*arrays)
            except ExecutionError:
                return ""
            return "the reference refuses what the model takes"
        wide = reference(drawn.build(WIDER), *wide_written)
    ways = WAYS if every else [WAYS[number % 2], WAYS[2 + number // 2 % 6]]
    coarse = _coarsest(drawn)
    truths = [*expected, *written]
    widened = [*wide, *wide_written]
    for level, fuse, flow in ways:
        options = CompileOptions(opt_level=level, fuse=fuse, flow=flow, cache=False, jobs=1)
        model = compile_graph(graph, options)
        for threads in (1, 2):
            given = [a.copy() for a in arrays]
            results = [*model.execute(*given, threads=threads), *given]
            for place, (found, truth, wider) in enumerate(zip(results, truths, widened, strict=True)):
                problem = agreement(found, truth, wider if truth.dtype.kind not in "iub" else None)
                if problem and coarse is not None and _bits(truth.dtype) > _bits(coarse):
                    # It may be made of something coarser: then it is as good as that can be.
                    problem = agreement(*[x.astype(coarse) for x in (found, truth)], wider.astype(truth.dtype))
                if problem:
                    what = f"output {place}" if place < len(expected) else f"input {place - len(expected)}"
                    return f"-O{level} fuse={fuse} {flow} threads={threads} {what}: {problem}"
    return ""


def _bits(dtype: np.dtype) -> int:
    return {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}.get(dtype.name, 0)


def _coarsest(drawn: Drawn) -> np.dtype | None:
    """The float dtype with the fewest digits among the values that are rounded."""
    rounded = [numpy_dtype(v.dtype) for v, exact in zip(drawn.values, drawn.exact, strict=True) if not exact]
    return min((d for d in rounded if _bits(d)), key=_bits, default=None)


def main() -> int:
    """Check a range of graphs and say which fail."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("kg_agreement", Path(__file__).with_name("agreement.py"))
    assert spec is not None and spec.loader is not None
    agreement = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agreement)
    first, count = int(sys.argv[1]), int(sys.argv[2])
    failed = 0
    for number in range(first, first + count):
        try:
            problem = check(number, agreement.disagreement)
        except Exception as error:  # any error at all is what is looked for
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failed += 1
            print(f"graph {number}: {problem[:400]}", flush=True)
        if (number - first) % 50 == 49:
            print(f"{number - first + 1} graphs, {failed} failed", flush=True)
    print(f"{count} graphs, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
