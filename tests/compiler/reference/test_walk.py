import numpy as np
import pytest

import compiler
from compiler.errors import ExecutionError, GraphError
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.ops.specs import SPECS
from compiler.graph.types import BufferType, TensorType
from compiler.reference import REFERENCES, reference


def test_every_op_has_a_reference():
    assert set(SPECS) - set(REFERENCES) == {"mo.custom", "mo.update"}  # theirs come with the graph
    assert set(REFERENCES) <= set(SPECS)


def test_the_package_can_be_called_like_the_function_it_hides():
    graph = Graph("g", inputs=[TensorType("f32", (2,))])
    with graph:
        graph.output(graph.inputs[0] * 2)
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(compiler.reference(graph, x)[0], reference(graph, x)[0])


def test_a_graph_runs_with_the_sizes_of_its_arguments():
    graph = Graph("g", inputs=[TensorType("f32", ("M", 4)), TensorType("f32", (4,))])
    with graph:
        x, b = graph.inputs
        y = ops.relu(x + b)
        graph.output(ops.reshape(y, (-1,)), ops.sum(y, axis=0), ops.concat([y, y], axis=0)[1:])
    for rows in (1, 3):
        x, b = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4) - 5, np.arange(4, dtype=np.float32)
        y = np.maximum(x + b, 0)
        flat, total, twice = reference(graph, x, b)
        np.testing.assert_array_equal(flat, y.reshape(-1))
        np.testing.assert_array_equal(total, y.sum(0))
        np.testing.assert_array_equal(twice, np.concatenate([y, y])[1:])


def test_sizes_that_no_array_can_have_are_named():
    graph = Graph("g", inputs=[TensorType("f32", ("M",))])
    with graph:
        graph.output(graph.inputs[0][3:])
    with pytest.raises(ExecutionError, match="the size M - 3 would be negative"):
        reference(graph, np.zeros(2, np.float32))


def test_outputs_do_not_share_memory_with_inputs():
    graph = Graph("g", inputs=[TensorType("f32", (3, 2))])
    with graph:
        graph.output(graph.inputs[0], ops.transpose(graph.inputs[0], (1, 0)))
    x = np.zeros((3, 2), np.float32)
    for y in reference(graph, x):
        assert not np.shares_memory(x, y) and y.flags.c_contiguous


def test_buffers_are_written_in_place_and_in_order():
    graph = Graph("g", inputs=[BufferType("f32", (2,)), TensorType("f32", (2,))])
    with graph:
        state, x = graph.inputs
        before = ops.buffer_load(state)
        ops.buffer_store(state, before + x)
        graph.output(before, ops.buffer_load(state) * 10)
    state = np.array([1, 2], np.float32)
    before, after = reference(graph, state, np.ones(2, np.float32))
    np.testing.assert_array_equal(before, [1, 2])
    np.testing.assert_array_equal(state, [2, 3])
    np.testing.assert_array_equal(after, [20, 30])


def custom_graph(function, kind=None):
    graph = Graph("g", inputs=[TensorType("f32", ("M",))])
    with graph:
        (x,) = graph.inputs
        graph.output(ops.custom("mine", [x], kind or x.type, reference=function, factor=3))
    return graph


def test_a_custom_op_uses_its_own_reference():
    x = np.arange(4, dtype=np.float32)
    (y,) = reference(custom_graph(lambda x, *, factor: x * np.float32(factor)), x)
    np.testing.assert_array_equal(y, x * 3)
    with pytest.raises(ExecutionError, match="'mine' has no NumPy reference"):
        reference(custom_graph(None), x)


def test_a_custom_reference_must_give_what_was_declared():
    x = np.arange(4, dtype=np.float32)
    with pytest.raises(ExecutionError, match=r"gave float32 of shape \(2,\)"):
        reference(custom_graph(lambda x, *, factor: x[:2]), x)
    with pytest.raises(ExecutionError, match="gave float64"):
        reference(custom_graph(lambda x, *, factor: x.astype(np.float64)), x)


def test_an_unfinished_graph_says_so():
    with pytest.raises(GraphError, match="no output"):
        reference(Graph("g", inputs=[]))
