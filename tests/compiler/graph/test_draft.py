"""A graph before it is IR: says the same, gives the same IR and the same digest, and reports the same mistakes."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from app.sources import load_source, samples
from compiler import Graph, TensorType, compile, ops
from compiler.dialects import mo
from compiler.errors import GraphError
from compiler.graph.constraints import constraints_of
from compiler.graph.digest import graph_digest
from compiler.graph.types import BufferType, OpaqueType
from compiler.importers.mlir_text import parse_graph


def small() -> Graph:
    with Graph("small", inputs={"x": TensorType("f32", ("M", 4)), "b": BufferType("f32", (2,))}) as graph:
        x, b = graph.inputs
        y = (x[-2:] + 1.5).named("sum")
        ops.buffer_store(b, ops.buffer_load(b) * 2)
        pair = ops.custom(
            "two", [y], [TensorType("f32", ("M", 4)), OpaqueType("state")],
            scale=0.25, count=3, on=True, word='quo"te\0', dims=("M", 2), mixed=(1, 2.5, "a", True), table=np.eye(2),
            none=None,
        )  # fmt: skip
        graph.output(pair[0], y)
    return graph


@pytest.mark.parametrize("sample", [sample.name for sample in samples() if sample.name != "llama-32"])
def test_a_draft_its_ir_and_its_text_have_one_digest(sample):
    graph = load_source(f"sample:{sample}").graph
    before, constraints = graph_digest(graph), constraints_of(graph)
    assert graph.draft is not None
    text = str(graph)
    assert graph.draft is None
    assert graph_digest(graph) == before
    assert constraints_of(graph) == constraints_of(graph.op) == constraints
    assert graph_digest(parse_graph(text)) == before


def test_every_kind_of_attribute_counts_in_the_digest():
    digest = graph_digest(small())
    graph = small()
    graph.op.verify()
    assert graph_digest(graph) == digest

    def variant(**params: object) -> str:
        with Graph("g", inputs=[TensorType("f32", (2,))]) as made:
            made.output(ops.custom("k", [made.inputs[0]], TensorType("f32", (2,)), **params))
        return graph_digest(made)

    arrays = [np.ones(1), np.ones(1, np.float32), np.ones((1, 1))]
    values = [1, 1.0, True, "1", (1,), (1.0,), (True,), ("1",), ((1,),), np.int32(2), *arrays]
    digests = [variant(a=value) for value in values]
    assert len(set(digests)) == len(values)
    assert variant(a="x", b="y") != variant(a='x", b="y')
    assert variant(a=-0.0) != variant(a=0.0)


def test_the_ir_of_a_draft_is_complete():
    graph = small()
    (custom,) = [op for op in graph.op.body.ops if op.name == "mo.custom"]
    attrs = mo.attrs_of(custom)
    assert attrs["scale"] == 0.25 and attrs["on"] is True and attrs["mixed"] == (1, 2.5, "a", True)
    assert attrs["word"] == 'quo"te\0' and "none" not in custom.properties
    assert [result.name_hint for result in custom.results] == ["custom_0", "custom_0.1"]
    assert graph.module.body.block.first_op is graph.op
    graph.module.verify()


def test_values_are_the_same_before_and_after():
    with Graph("g", inputs=[TensorType("f32", ("M",))]) as graph:
        y = graph.inputs[0] + 1
        told = repr(y), y.node_name, y.shape, hash(y), graph.input_names, repr(graph), graph.name
        kept = {y: "kept"}
        assert y.ssa.owner.name == "mo.add"
        assert (repr(y), y.node_name, y.shape, hash(y), graph.input_names, repr(graph), graph.name) == told
        assert kept[y] == "kept"
        z = (y * y).named("squared")  # added to the IR, and to the value from before it
        graph.output(z)
    assert [op.name for op in graph.op.body.ops][-2:] == ["mo.mul", "mo.output"]
    assert graph.outputs[0].node_name == "squared"
    np.testing.assert_array_equal(compile(graph).execute(np.array([1, 2], np.float32))[0], [4, 9])


def test_inputs_can_be_renamed_and_constants_do_not_change():
    array = np.ones(3, np.float32)
    with Graph("g", inputs=[TensorType("f32", (3,))]) as graph:
        graph.inputs[0].named("picture")
        graph.output(graph.inputs[0] + array)
    array[:] = 7
    assert graph.input_names == ("picture",) and graph.op.body.args[0].name_hint == "picture"
    assert "7.0" not in str(graph)


@pytest.mark.parametrize("value", [object(), {1: 2}, 1 << 70, (object(),)])
def test_a_parameter_that_no_attribute_holds_is_refused_where_it_is_given(value):
    with Graph("g", inputs=[TensorType("f32", (3,))]) as graph, pytest.raises(GraphError) as error:
        ops.custom("k", [graph.inputs[0]], TensorType("f32", (3,)), odd=value)
    assert error.value.location is not None and error.value.location.file == __file__


def test_a_draft_is_verified_as_ir_is():
    graph = small()
    graph.verify()
    assert graph.draft is not None
    (store,) = [op for op in graph.draft.ops if op.name == "mo.buffer_store"]
    store.operands = store.operands[:2]
    with pytest.raises(GraphError, match=r"mo.buffer_store: takes 3 operands, not 2"):
        graph.verify()
    graph = small()
    assert graph.draft is not None
    (add,) = [op for op in graph.draft.ops if op.name == "mo.add"]
    add.results[0].type = TensorType("i8", (1,))
    with pytest.raises(GraphError, match="result type must be"):
        graph.verify()


def test_a_copy_is_independent_of_the_graph():
    graph = small()
    text = str(small())
    copy = graph.copied_op()
    assert graph.draft is not None
    next(iter(copy.body.ops)).results[0]._name = "changed"
    assert str(graph) == text
    again = graph.copied_op()
    assert again is not graph.op and mo.text_of(again) == mo.text_of(graph.op)


def test_threads_that_ask_for_the_ir_at_once_get_one():
    graph = load_source("sample:llama-layer").graph
    found, ready = [], threading.Barrier(4)

    def ask() -> None:
        ready.wait()
        found.append(graph.op)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
