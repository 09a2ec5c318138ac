"""A graph as IR and back: it says the same, has the same digest and text, and reports the same mistakes."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from app.sources import load_source, samples
from compiler import Graph, TensorType, compile, ops
from compiler.dialects import mo
from compiler.dialects.mo import from_graph, to_graph
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


@pytest.mark.parametrize(
    "sample", [sample.name for sample in samples() if not sample.is_model and sample.name != "llama-32"]
)
def test_a_graph_its_ir_and_its_text_have_one_digest(sample):
    graph = load_source(f"sample:{sample}").graph
    digest, constraints, text = graph_digest(graph), constraints_of(graph), str(graph)
    again = to_graph(from_graph(graph))
    assert graph_digest(again) == digest and str(again) == text
    assert mo.text_of(mo.module_from_graph(graph)) == text
    assert constraints_of(again) == constraints
    assert graph_digest(parse_graph(text)) == digest and constraints_of(parse_graph(text)) == constraints
    assert graph_digest(graph) == digest


def test_every_kind_of_attribute_counts_in_the_digest():
    digest = graph_digest(small())
    op = from_graph(small())
    op.verify()
    assert graph_digest(to_graph(op)) == digest

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


def test_the_ir_of_a_graph_is_complete():
    module = mo.module_from_graph(small())
    (custom,) = [op for op in mo.graph_of(module).body.ops if op.name == "mo.custom"]
    attrs = mo.attrs_of(custom)
    assert attrs["scale"] == 0.25 and attrs["on"] is True and attrs["mixed"] == (1, 2.5, "a", True)
    assert attrs["word"] == 'quo"te\0' and "none" not in custom.properties
    assert [result.name_hint for result in custom.results] == ["custom_0", "custom_0.1"]
    assert module.body.block.first_op is mo.graph_of(module)
    module.verify()


def test_a_graph_can_be_added_to_after_its_ir_was_made():
    with Graph("g", inputs=[TensorType("f32", ("M",))]) as graph:
        y = graph.inputs[0] + 1
        told = repr(y), y.node_name, y.shape, hash(y), graph.input_names, repr(graph), graph.name
        kept = {y: "kept"}
        assert [op.name for op in from_graph(graph).body.ops][-1] == y.owner.name == "mo.add"
        assert (repr(y), y.node_name, y.shape, hash(y), graph.input_names, repr(graph), graph.name) == told
        assert kept[y] == "kept"
        z = (y * y).named("squared")
        graph.output(z)
    assert [op.name for op in from_graph(graph).body.ops][-2:] == ["mo.mul", "mo.output"]
    assert graph.outputs[0].node_name == "squared"
    np.testing.assert_array_equal(compile(graph).execute(np.array([1, 2], np.float32))[0], [4, 9])


def test_inputs_can_be_renamed_and_constants_do_not_change():
    array = np.ones(3, np.float32)
    with Graph("g", inputs=[TensorType("f32", (3,))]) as graph:
        graph.inputs[0].named("picture")
        graph.output(graph.inputs[0] + array)
    array[:] = 7
    assert graph.input_names == ("picture",) and from_graph(graph).body.args[0].name_hint == "picture"
    assert "7.0" not in str(graph)


@pytest.mark.parametrize("value", [object(), {1: 2}, 1 << 70, (object(),)])
def test_a_parameter_that_no_attribute_holds_is_refused_where_it_is_given(value):
    with Graph("g", inputs=[TensorType("f32", (3,))]) as graph, pytest.raises(GraphError) as error:
        ops.custom("k", [graph.inputs[0]], TensorType("f32", (3,)), odd=value)
    assert error.value.location is not None and error.value.location.file == __file__


def test_a_graph_is_verified_as_its_ir_is():
    graph = small()
    graph.verify()
    (store,) = [op for op in graph.ops if op.name == "mo.buffer_store"]
    store.operands = store.operands[:2]
    with pytest.raises(GraphError, match=r"mo.buffer_store: takes 3 operands, not 2"):
        graph.verify()
    with pytest.raises(VerifyException, match=r"mo.buffer_store: takes 3 operands, not 2"):
        from_graph(graph).verify()
    graph = small()
    (add,) = [op for op in graph.ops if op.name == "mo.add"]
    add.results[0].type = TensorType("i8", (1,))
    with pytest.raises(GraphError, match="result type must be"):
        graph.verify()
    with pytest.raises(VerifyException, match="result type must be"):
        from_graph(graph).verify()


def test_the_ir_is_independent_of_the_graph():
    graph = small()
    text = str(small())
    copy = from_graph(graph)
    next(iter(copy.body.ops)).results[0]._name = "changed"
    assert str(graph) == text
    again, other = from_graph(graph), from_graph(graph)
    assert again is not other and mo.text_of(again) == mo.text_of(other)


def test_threads_that_ask_for_the_ir_at_once_get_the_same():
    graph = load_source("sample:llama-layer").graph
    found, ready = [], threading.Barrier(4)

    def ask() -> None:
        ready.wait()
        found.append(mo.text_of(mo.module_from_graph(graph)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [str(graph)] * 4


def test_names_are_given_where_the_text_has_none():
    graph = parse_graph("""
        mo.graph @g(%0: !mo.tensor<[M], f32>, %exp_0: !mo.tensor<[M], f32>)
            -> (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) {
          %1 = mo.exp(%0) : (!mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
          %a, %2 = mo.custom(%1) {kernel = "k"} : (!mo.tensor<[M], f32>) -> (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>)
          %b = mo.neg(%a) : (!mo.tensor<[M], f32>) -> !mo.tensor<[M], f32> loc("file.py":3:4)
          mo.output %b, %2 : !mo.tensor<[M], f32>, !mo.tensor<[M], f32>
        }""")
    assert graph.input_names == ("x0", "exp_0")
    assert [[result.name for result in op.results] for op in graph.ops] == [["exp_1"], ["a", "a.1"], ["b"]]
    assert [op.nodes for op in graph.ops] == [("exp_1",), ("a",), ("b",)]
    assert graph_digest(parse_graph(str(graph))) == graph_digest(graph)
