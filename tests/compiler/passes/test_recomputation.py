"""A cheap value that several kernels read is computed in each of them; a dear one is stored once."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, ops, reference
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph


def compiled(function):
    """Two kernels, whose threads cannot go on together, read what `function` gives."""
    with Graph("g", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 32))]) as graph:
        x, w = graph.inputs
        shared = function(x)
        rows = ops.mean(shared, axis=1, keepdims=True)
        graph.output(ops.transpose(shared) + ops.transpose(rows), ops.exp(rows) @ w[:1])
    return graph, compile_graph(graph, CompileOptions(cache=False, opt_level=1))


def again(model):
    return [decision for decision in model.fusion.ledger if decision.rule == "recompute"]


def test_a_cheap_value_is_computed_where_it_is_read() -> None:
    graph, model = compiled(ops.relu)
    decisions = again(model)
    assert {decision.producer for decision in decisions} == {"relu_0"}
    assert decisions[0].reason == "computed again where it is read: 512*M bytes less, 64*M operations more"
    x, w = (np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((9, 64), (64, 32)))
    for got, true in zip(model.execute(x, w), reference(graph, x, w), strict=True):
        np.testing.assert_allclose(got, true, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [ops.tanh, ops.erf, ops.log])
def test_a_dear_value_is_stored_once(function) -> None:
    _, model = compiled(function)
    assert again(model) == []
