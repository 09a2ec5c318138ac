"""Random graphs as they are drawn, and their steps of single ops: elementwise, reductions, views, joins, memory.

Ops that jump (comparisons, floor, casts to integers) are given only values that any right compiler computes to the bit;
see `random_graphs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.graph.types import BufferType

SYMBOLS = {"M": 6, "N": 17, "K": 1, "Z": 0}
SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 17, 31, 33, 64)
TYPES = ("f32", "f32", "f32", "f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool")
WIDER = {"f32": "f64", "f16": "f32", "bf16": "f32"}
LARGE_SIZES = (1, 2, 8, 16, 33, 64, 100, 128, 129, 256, 300)
MOST, MOST_OF_LARGE = 5000, 40000  # elements of a value

EXACT = ("abs", "neg", "relu", "floor", "ceil", "round", "trunc", "square", "sign")
TESTS = ("isnan", "isinf", "isfinite")
SMOOTH = ("exp", "exp2", "expm1", "sigmoid", "tanh", "erf", "sin", "cos", "gelu", "silu")
POSITIVE = ("sqrt", "rsqrt", "log", "log2", "log1p", "reciprocal")
BINARY = ("add", "sub", "mul", "minimum", "maximum")
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
WHOLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "floordiv", "mod")
LOGICAL = ("logical_and", "logical_or", "logical_xor")

Build = Callable[[Sequence[Any], dict[str, str]], Any]
Found = tuple[Build, bool] | None
"""What builds a value, and whether it is the same to the bit everywhere; None where nothing fits."""


@dataclass
class Drawn:
    """A graph being drawn: what builds each value, and whether it is the same to the bit everywhere."""

    random: np.random.Generator
    inputs: list[tuple[str, tuple[int | str, ...], bool]]
    steps: list[tuple[Build, bool]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    most: int = MOST

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def tensors(self) -> list[int]:
        """The values that are tensors, by number."""
        return [k for k, v in enumerate(self.values) if isinstance(v.type, TensorType)]

    def kind(self, index: int) -> str:
        return DTYPES[self.values[index].dtype].kind

    def empty(self, index: int) -> bool:
        """Whether a value has no elements with the sizes used here."""
        return any((s if isinstance(s, int) else s.evaluate(SYMBOLS)) == 0 for s in self.values[index].shape)

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


def _unary(drawn: Drawn, k: int) -> Found:
    if drawn.kind(k) == "f" and drawn.chance(0.6):
        if drawn.chance(0.5):
            name = drawn.pick(SMOOTH)
            return lambda v, w: getattr(ops, name)(v[k] * 0.25), False
        name = drawn.pick(POSITIVE)
        return lambda v, w: getattr(ops, name)(ops.abs(v[k]) + 0.5), False
    if not drawn.exact[k]:
        return lambda v, w: ops.relu(v[k]), False
    if drawn.kind(k) != "f" and drawn.chance(0.15):
        name = "logical_not" if drawn.values[k].dtype == "bool" else "bitwise_not"
        return lambda v, w: getattr(ops, name)(v[k]), True
    name = drawn.pick(EXACT if drawn.chance(0.85) else TESTS)
    return lambda v, w: getattr(ops, name)(v[k]), True


def _binary(drawn: Drawn, k: int) -> Found:
    other, name = drawn.pick(drawn.tensors()), drawn.pick(BINARY)
    return lambda v, w: getattr(ops, name)(v[k], v[other]), drawn.exact[k] and drawn.exact[other]


def _quotient(drawn: Drawn, k: int) -> Found:
    other = drawn.pick(drawn.tensors())
    if drawn.kind(k) != "f" or drawn.kind(other) != "f":
        return None
    if drawn.chance(0.4):
        power = drawn.pick((2, 0.5, 1.5, -1))
        return lambda v, w: ops.pow(ops.abs(v[k]) + 0.5, power), False
    return lambda v, w: ops.div(v[k], ops.abs(v[other]) + 0.5), False


def _clipped(drawn: Drawn, k: int) -> Found:
    low, high = drawn.pick(((0, 3), (-1, 2), (None, 2), (1, None)))
    return lambda v, w: ops.clip(v[k], low, high), drawn.exact[k]


def _made(drawn: Drawn, k: int) -> Found:
    """Values from nothing but a shape."""
    rank, dtype = len(drawn.values[k].shape), drawn.values[k].dtype
    form = drawn.pick(("iota", "full", "ones", "plus"))
    if form == "iota" and rank and drawn.kind(k) != "b" and dtype != "bool":
        axis = int(drawn.random.integers(rank))
        return lambda v, w: ops.mod(ops.iota(v[k].shape, axis), 7), True
    if form == "full":
        return lambda v, w: ops.full_like(v[k], 1), True
    if form == "ones":
        return lambda v, w: ops.ones(v[k].shape, w.get(dtype, dtype)), True
    return lambda v, w: ops.zeros_like(v[k]) + v[k], drawn.exact[k]


def _scalar(drawn: Drawn, k: int) -> Found:
    number = drawn.pick((2, 0.5, -1.25, 0, 1)) if drawn.kind(k) == "f" else drawn.pick((2, 3, 1, 0))
    name = drawn.pick(BINARY)
    return lambda v, w: getattr(ops, name)(v[k], number), drawn.exact[k]


def _compare(drawn: Drawn, k: int) -> Found:
    other, name = drawn.pick(drawn.tensors()), drawn.pick(COMPARE if drawn.chance(0.7) else LOGICAL)
    if not (drawn.exact[k] and drawn.exact[other]):
        return None
    return lambda v, w: getattr(ops, name)(v[k], v[other]), True


def _whole(drawn: Drawn, k: int) -> Found:
    if drawn.kind(k) == "f" or not drawn.exact[k]:
        return None
    name, number = drawn.pick(WHOLE), drawn.pick((1, 3, 5))
    return lambda v, w: getattr(ops, name)(v[k], number), True


def _where(drawn: Drawn, k: int) -> Found:
    other = drawn.pick(drawn.tensors())
    flags = [i for i in drawn.tensors() if drawn.values[i].dtype == "bool" and drawn.exact[i]]
    if not flags:
        return None
    flag = drawn.pick(flags)
    return lambda v, w: ops.where(v[flag], v[k], v[other]), drawn.exact[k] and drawn.exact[other]


def _cast(drawn: Drawn, k: int) -> Found:
    if not drawn.exact[k]:
        dtype = drawn.pick(("f32", "f64"))
        return lambda v, w: ops.cast(v[k], w.get(dtype, dtype)), False
    dtype = drawn.pick(("f32", "f64", "i64", "i32", "f16", "bf16"))
    return lambda v, w: ops.cast(v[k], w.get(dtype, dtype)), True


def _reduce(drawn: Drawn, k: int) -> Found:
    rank, floating = len(drawn.values[k].shape), drawn.kind(k) == "f"
    if not rank:
        return None
    name = drawn.pick(("sum", "mean", "max", "min") if floating else ("sum", "max", "min", "prod", "any", "all"))
    if name in ("max", "min") and drawn.empty(k) and drawn.chance(0.9):
        return None  # refused, mostly
    axes = drawn.pick((None, int(drawn.random.integers(-rank, rank)), tuple(range(rank))[: drawn.pick((1, 2))]))
    keep = drawn.chance(0.5)
    exact = drawn.exact[k] and (not floating or name in ("max", "min"))
    if not drawn.exact[k] and name in ("any", "all"):
        return None
    return lambda v, w: getattr(ops, name)(v[k], axis=axes, keepdims=keep), exact


def _spread(drawn: Drawn, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    if not rank or drawn.kind(k) != "f":
        return None
    name, axis, keep = drawn.pick(("var", "std")), int(drawn.random.integers(rank)), drawn.chance(0.5)
    if name == "std":
        return lambda v, w: ops.sqrt(ops.var(v[k], axis=axis, keepdims=keep) + 0.25), False
    return lambda v, w: ops.var(v[k], axis=axis, keepdims=keep), False


def _arg(drawn: Drawn, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    if not rank or not drawn.exact[k] or (drawn.empty(k) and drawn.chance(0.9)):
        return None
    name, axis = drawn.pick(("argmax", "argmin")), int(drawn.random.integers(rank))
    return lambda v, w: getattr(ops, name)(v[k], axis=axis), True


def _scan(drawn: Drawn, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    if not rank:
        return None
    axis = int(drawn.random.integers(rank))
    return lambda v, w: ops.cumsum(v[k], axis=axis), drawn.exact[k] and drawn.kind(k) != "f"


def _joined(drawn: Drawn, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    if not rank:
        return None
    axis, same = int(drawn.random.integers(rank)), [i for i in drawn.tensors() if len(drawn.values[i].shape) == rank]
    others = [k, *(drawn.pick(same) if drawn.chance(0.5) else k for _ in range(drawn.pick((1, 2))))]
    form = drawn.pick(("concat", "stack"))
    return lambda v, w: getattr(ops, form)([v[i] for i in others], axis=axis), all(drawn.exact[i] for i in others)


def _padded(drawn: Drawn, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    if not rank:
        return None
    widths = tuple((drawn.pick((0, 0, 1, 2)), drawn.pick((0, 0, 1))) for _ in range(rank))
    return lambda v, w: ops.pad(v[k], widths), drawn.exact[k]


def _gathered(drawn: Drawn, k: int) -> Found:
    rank = len(drawn.values[k].shape)
    chosen = [i for i in drawn.tensors() if drawn.kind(i) in "iu" and drawn.exact[i] and len(drawn.values[i].shape) < 3]
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


def _turned(drawn: Drawn, k: int) -> Found:
    x = drawn.values[k]
    rank, exact = len(x.shape), drawn.exact[k]
    form = drawn.pick(
        (
            "transpose",
            "unsqueeze",
            "merge",
            "broadcast",
            "flip",
            "squeeze",
            "tile",
            "roll",
            "tri",
            "flat",
            "moved",
            "repeat",
            "part",
        )
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
        triangle, at = drawn.pick((ops.tril, ops.triu)), drawn.pick((-1, 0, 1))
        return lambda v, w: triangle(v[k], at), exact
    if form == "moved":
        return lambda v, w: ops.moveaxis(v[k], axis, 0), exact
    if form == "repeat":
        return lambda v, w: ops.repeat(v[k], 2, axis), exact
    if form == "part":
        which = drawn.pick((0, 1))
        return lambda v, w: ops.split(v[k], 2, axis)[which], exact
    return lambda v, w: ops.flip(v[k], axis=axis), exact


def _sliced(drawn: Drawn, k: int) -> Found:
    keys = []
    for size in drawn.values[k].shape:
        short = not isinstance(size, int) and size.evaluate(SYMBOLS) < 4 and drawn.chance(0.95)  # refused, mostly
        start = drawn.pick((None, None, 0, 1, 2, -1, -3)) if not short else None
        stop = drawn.pick((None, None, None, 5, -1, 2)) if not short else None
        keys.append(slice(start, stop, drawn.pick((None, None, 1, 2, 3, -1, -2))))
    if keys and drawn.chance(0.2) and not drawn.empty(k):
        keys[int(drawn.random.integers(len(keys)))] = 0
    return (lambda v, w: v[k][tuple(keys)], drawn.exact[k]) if keys else None


def _memory(drawn: Drawn, k: int) -> Found:
    buffers = [i for i, (_, _, mutable) in enumerate(drawn.inputs) if mutable]
    if not buffers:
        return None
    at = drawn.pick(buffers)
    if drawn.chance(0.5):
        return lambda v, w: ops.buffer_load(v[at]), True
    if not drawn.exact[k] or drawn.kind(k) != DTYPES[drawn.inputs[at][0]].kind:
        return None  # what a buffer holds is exact, whenever it is loaded
    return lambda v, w: ops.buffer_store(v[at], v[k]), True


FAMILIES = (
    *[_unary, _binary, _turned] * 3, *[_scalar, _reduce, _sliced, _memory] * 2, _compare, _whole, _where, _cast,
    _spread, _arg, _scan, _joined, _padded, _gathered, _quotient, _clipped, _made,
)  # fmt: skip
