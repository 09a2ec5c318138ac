"""Unsigned whole numbers of 16, 32 and 64 bits: every family of ops, with numbers that signed ones do not have."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops, reference
from compiler.errors import GraphError
from compiler.graph.dtypes import DTYPES, numpy_dtype

WIDE = ("u16", "u32", "u64")
SHAPE = (3, 37)


def numbers(dtype: str, seed: int) -> np.ndarray:
    """Small ones, ones with the highest bit, and the largest."""
    rng = np.random.default_rng(seed)
    limit = int(np.iinfo(numpy_dtype(dtype)).max)
    made = rng.integers(0, limit, SHAPE, numpy_dtype(dtype), endpoint=True)
    made.flat[::5] = rng.integers(0, 9, made.flat[::5].shape)
    made.flat[:4] = (0, 1, limit, limit // 2 + 1)
    return made


def check(graph: Graph, *arrays: np.ndarray) -> None:
    """Compiled and by the reference the same, and of the same dtypes."""
    expected = reference(graph, *arrays)
    for level in (1, 3):
        made = compile(graph, opt_level=level, cache=False, jobs=1).execute(*arrays)
        for node, result, wanted in zip(graph.outputs, made, expected, strict=True):
            assert result.dtype == wanted.dtype, node
            np.testing.assert_array_equal(result, wanted, err_msg=str(node))


@pytest.mark.parametrize("dtype", WIDE)
def test_elements_of_two(dtype):
    with Graph("two", [TensorType(dtype, SHAPE)] * 2) as graph:
        x, y = graph.inputs
        some = ops.maximum(y, 1)
        graph.output(
            x + y, x - y, x * y, x // some, x % some, ops.maximum(x, y), ops.minimum(x, y),
            ops.bitwise_and(x, y), ops.bitwise_or(x, y), ops.bitwise_xor(x, y), ops.bitwise_not(x),
            x < y, x <= y, x > y, x >= y, ops.equal(x, y), ops.not_equal(x, y),
            ops.where(x > y, x, y), ops.clip(x, 3, 2**15 + 9), ops.abs(x), ops.sign(x), ops.relu(x),
        )  # fmt: skip
    check(graph, numbers(dtype, 1), numbers(dtype, 2))


@pytest.mark.parametrize("dtype", WIDE)
def test_sums_places_and_order(dtype):
    with Graph("rows", [TensorType(dtype, SHAPE), TensorType(dtype, (SHAPE[1], 5))]) as graph:
        x, w = graph.inputs
        places = ops.constant(np.array([2, 0, 2, 1]))
        graph.output(
            ops.sum(x, axis=1), ops.prod(x, axis=0), ops.max(x, axis=1), ops.min(x), ops.argmax(x, axis=1),
            ops.argmin(x, axis=0), ops.cumsum(x, axis=1), x @ w,
            ops.gather(x, places, axis=0), ops.concat([x, x], axis=1), ops.transpose(x, (1, 0)),
            ops.any(x, axis=0), ops.all(x, axis=1),
        )  # fmt: skip
    check(graph, numbers(dtype, 3), numbers(dtype, 4)[0][:, None].repeat(5, 1))


@pytest.mark.parametrize("dtype", WIDE)
def test_casts_to_and_from_every_dtype(dtype):
    others = [name for name in DTYPES if name != dtype]
    with Graph("casts", [TensorType(dtype, SHAPE), TensorType("f64", (64,))]) as graph:
        x, f = graph.inputs
        floats = [ops.cast(ops.cast(f, name), dtype) for name in ("f64", "f32")]
        graph.output(*[ops.cast(x, name) for name in others], *floats)
    highest = float(np.iinfo(numpy_dtype(dtype)).max) * 0.99
    edges = [-1e30, -1.0, -0.9, 0.9, np.nan, np.inf, -np.inf, 2.0**16, 2.0**32, 2.0**64, 2.0**65, 2.0**63]
    check(graph, numbers(dtype, 5), np.concatenate([np.linspace(0, highest, 52), edges]))
    with Graph("back", [TensorType(name, (9,)) for name in others if DTYPES[name].kind != "f"]) as graph:
        graph.output(*[ops.cast(x, dtype) for x in graph.inputs])
    rng = np.random.default_rng(6)
    kinds = [numpy_dtype(name) for name in others if DTYPES[name].kind != "f"]
    check(graph, *[rng.integers(-100 if kind.kind == "i" else 0, 2 if kind.kind == "b" else 100, 9).astype(kind)
                   for kind in kinds])  # fmt: skip


def test_bits_are_read_as_other_dtypes_of_as_many():
    pairs = [
        ("f32", "u32"), ("u32", "f32"), ("f64", "i64"), ("i64", "u64"), ("f16", "u16"), ("bf16", "i16"), ("i8", "u8"),
    ]  # fmt: skip
    with Graph("bits", [TensorType(source, (11,)) for source, _ in pairs]) as graph:
        with pytest.raises(GraphError, match="the bits of f32 are no i64"):
            ops.bitcast(graph.inputs[0], "i64")
        graph.output(*[ops.bitcast(x, wanted) for x, (_, wanted) in zip(graph.inputs, pairs, strict=True)])
    rng = np.random.default_rng(8)
    check(graph, *[rng.normal(size=11).astype(numpy_dtype(source)) if DTYPES[source].kind == "f"
                   else numbers(source, 9)[0, :11] for source, _ in pairs])  # fmt: skip


@pytest.mark.parametrize("dtype", WIDE)
def test_a_constant_beyond_the_signed_ones_survives_folding_and_text(dtype):
    largest = np.array([np.iinfo(numpy_dtype(dtype)).max, 7], numpy_dtype(dtype))
    with Graph("constant", [TensorType(dtype, (2,))]) as graph:
        (x,) = graph.inputs
        graph.output(x & largest, x | ops.constant(largest), x - ops.constant(largest) * 3, x + int(largest[0]))
    check(graph, numbers(dtype, 7)[0, :2])
    assert str(largest[0]) in str(graph) or "ui" in str(graph)
