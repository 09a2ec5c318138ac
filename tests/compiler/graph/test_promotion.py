"""Promotion is NumPy's: for every op and pair of dtypes we give the dtype NumPy gives, or both refuse."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dtypes import from_numpy, numpy_dtype
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType

DTYPES = ["f64", "f32", "f16", "i64", "i32", "i16", "i8", "u8", "bool"]
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "mod": np.mod, "pow": np.power, "minimum": np.minimum, "maximum": np.maximum, "equal": np.equal,
    "less": np.less, "greater_equal": np.greater_equal, "logical_and": np.logical_and,
    "bitwise_and": np.bitwise_and, "bitwise_xor": np.bitwise_xor,
}  # fmt: skip
UNARY = {
    "abs": np.abs, "neg": np.negative, "sign": np.sign, "square": np.square, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "sin": np.sin, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not,
    "bitwise_not": np.bitwise_not, "reciprocal": np.reciprocal, "expm1": np.expm1, "log2": np.log2,
}  # fmt: skip
SCALARS = [True, 3, 2.5]


def numpy_says(function: Any, *operands: Any) -> str | None:
    with np.errstate(all="ignore"):
        try:
            return from_numpy(function(*operands).dtype)
        except (TypeError, ValueError):
            return None


def we_say(function: Any, graph: Graph, *operands: Any) -> str | None:
    try:
        with graph:
            return function(*operands).dtype
    except GraphError:
        return None


def graph_of(*dtypes: str) -> Graph:
    return Graph("g", [TensorType(d, (2,)) for d in dtypes])


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("a", DTYPES)
def test_two_values_promote_as_in_numpy(name: str, a: str) -> None:
    for b in DTYPES:
        graph = graph_of(a, b)
        arrays = (np.ones(2, numpy_dtype(a)), np.ones(2, numpy_dtype(b)))
        assert we_say(getattr(ops, name), graph, *graph.inputs) == numpy_says(BINARY[name], *arrays), (a, b)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_a_python_number_is_weak_as_in_numpy(name: str, scalar: Any) -> None:
    for dtype in DTYPES:
        graph = graph_of(dtype)
        (x,), array = graph.inputs, np.ones(2, numpy_dtype(dtype))
        assert we_say(getattr(ops, name), graph, x, scalar) == numpy_says(BINARY[name], array, scalar), dtype
        assert we_say(getattr(ops, name), graph, scalar, x) == numpy_says(BINARY[name], scalar, array), dtype


@pytest.mark.parametrize("name", UNARY)
def test_one_value_promotes_as_in_numpy(name: str) -> None:
    for dtype in DTYPES:
        graph = graph_of(dtype)
        assert we_say(getattr(ops, name), graph, *graph.inputs) == numpy_says(
            UNARY[name], np.ones(2, numpy_dtype(dtype))
        ), dtype


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "argmax", "cumsum", "any", "all", "var", "std"])
def test_reductions_promote_as_in_numpy(name: str) -> None:
    for dtype in DTYPES:
        graph = graph_of(dtype)
        wanted = {"uint64": "i64"}  # NumPy sums u8 in u64, which we do not have
        result = getattr(np, name)(np.ones(2, numpy_dtype(dtype))).dtype
        assert we_say(getattr(ops, name), graph, *graph.inputs) == (wanted.get(result.name) or from_numpy(result)), (
            dtype
        )


def test_numpy_scalars_are_strong_and_arrays_become_constants() -> None:
    with graph_of("f32") as g:
        (x,) = g.inputs
        assert (x * np.float64(2)).dtype == "f64"
        assert (np.float64(2) * x).dtype == "f64"
        assert (np.ones((3, 1), np.float32) + x).shape == (3, 2)
        assert (x + [1, 2]).dtype == "f64"


def test_bf16_meets_others_in_the_smallest_float_that_holds_both() -> None:
    wanted = {"f64": "f64", "f32": "f32", "f16": "f32", "i64": "bf16", "u8": "bf16", "bool": "bf16"}
    for other, result in wanted.items():
        graph = graph_of("bf16", other)
        assert we_say(operator.add, graph, *graph.inputs) == result
    graph = graph_of("bf16")
    assert we_say(operator.mul, graph, graph.inputs[0], 2.5) == "bf16"


def test_where_promotes_its_branches() -> None:
    with Graph("g", [TensorType("bool", (2,)), TensorType("f16", (2,)), TensorType("f32", (3, 1))]) as g:
        c, a, b = g.inputs
        assert (ops.where(c, a, 1.0).dtype, ops.where(c, 1, 2).dtype, ops.where(c, 1, 2.0).dtype) == (
            "f16",
            "i64",
            "f64",
        )
        assert (ops.where(c, a, b).dtype, ops.where(c, a, b).shape) == ("f32", (3, 2))


@pytest.mark.parametrize(("dtype", "number"), [("i8", 300), ("u8", -1), ("i32", 2**31), ("i64", 2**63)])
def test_a_number_that_does_not_fit_is_refused_as_in_numpy(dtype: str, number: int) -> None:
    graph = graph_of(dtype)
    with graph, pytest.raises(GraphError, match=f"add: the number {number} does not fit in {dtype}"):
        graph.inputs[0] + number


def test_a_number_that_does_not_fit_still_compares_by_value() -> None:
    graph = graph_of("u8")
    with graph:
        assert (graph.inputs[0] < 300).dtype == "bool"
        assert (graph.inputs[0] == -1).dtype == "bool"


def test_an_integer_has_no_negative_power() -> None:
    graph = graph_of("i32")
    with graph, pytest.raises(GraphError, match="pow: an integer to the negative power -2"):
        graph.inputs[0] ** -2
