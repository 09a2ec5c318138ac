"""Whatever a builder is given, it answers with a value or a GraphError of one line."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType

JUNK: list[Any] = [
    None, "a", "M", 1.5, -1, 0, (), (1,), (0, 0), [None], object(), True, {}, 10**30, float("nan"), float("inf"),
    np.ones(2), np.array("x"), b"x", TensorType("f32", (2,)), ("a", "b"), ((1, 2),), slice(1), len, 2**62, -(2**63),
    np.float32(2), np.int64(1), [[1], [2, 3]],
]  # fmt: skip
GOOD: dict[str, Any] = {
    "axis": 0, "shape": (2,), "indices": [0], "pad_width": 1, "reps": 2, "kernel_size": 2, "repeats": 2, "shift": 1,
    "dtype": "f16", "starts": [0], "stops": [1], "indices_or_sections": 1, "chunks": 2, "kernel": "k", "fill_value": 1,
    "dims": (0, 1), "axis1": 0, "axis2": 0, "source": 0, "destination": 0, "dim": 0, "start": 3, "value": 1, "index": 0,
    "result_types": TensorType("f32", ("M", 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", ops.__all__)
def test_junk_in_any_place_is_refused_or_works(name: str) -> None:
    builder = getattr(ops, name)
    parameters = [p for p in inspect.signature(builder).parameters.values() if p.kind is not p.VAR_KEYWORD]
    for place in parameters:
        for junk in JUNK:
            with Graph("g", [TensorType("f32", ("M", 4))]) as g:
                (x,) = g.inputs
                lists = {"arrays": [x, x], "inputs": [x]}
                required = {p.name: GOOD.get(p.name, lists.get(p.name, x)) for p in parameters if p.default is p.empty}
                try:
                    builder(**{**required, place.name: junk})
                except GraphError as error:
                    assert "\n" not in str(error)


def test_an_argument_too_many_is_a_graph_error() -> None:
    with Graph("g", [TensorType("f32", (2, 3))]) as g, pytest.raises(GraphError, match="transpose: wrong argument"):
        ops.transpose(g.inputs[0], 0, 1)  # type: ignore[call-arg]


def test_heads_of_attention_have_a_size_that_is_known():
    with Graph("g", inputs=[TensorType("f32", (2, "S", "D")), TensorType("f32", (2, "S", 8))]) as graph:
        wide, fixed = graph.inputs
        for q, k, v in ((wide, wide, wide), (fixed, fixed, wide)):
            with pytest.raises(GraphError, match="the size of a head must be a number, not D"):
                ops.scaled_dot_product_attention(q, k, v)
        assert ops.scaled_dot_product_attention(fixed, fixed, fixed).shape[2] == 8


def test_heads_of_attention_fit_what_a_kernel_can_keep():
    with Graph("g", inputs=[TensorType("f32", (0, 4, 8193)), TensorType("f32", (2, 4, 8192))]) as graph:
        wide, fits = graph.inputs
        with pytest.raises(GraphError, match="a head has at most 8192 elements, not 8193"):
            ops.scaled_dot_product_attention(wide, wide, wide)
        ops.scaled_dot_product_attention(fits, fits, fits)


def test_a_tensor_has_at_most_32_axes():
    with pytest.raises(GraphError, match="input 0: 64 axes; a tensor has at most 32"):
        Graph("g", inputs=[TensorType("f32", (1,) * 64)])
    most = Graph("g", inputs=[TensorType("f32", (1,) * 32)])
    with most, pytest.raises(GraphError, match="33 axes; a tensor has at most 32"):
        ops.unsqueeze(most.inputs[0], 0)
