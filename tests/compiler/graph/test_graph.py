"""Graphs: building, naming, nesting, finishing, and what is refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from compiler.errors import CompilerError, GraphError
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.graph.value import current_graph

F = TensorType("f32", ("M", 4))


def refused(said: str):
    return pytest.raises(GraphError, match=said)


def test_the_readme_example_builds_and_verifies() -> None:
    g = Graph("mlp", inputs=[TensorType("f32", ("M", 512)), TensorType("f32", (512, 512)), TensorType("f32", (512,))])
    with g:
        x, w, b = g.inputs
        g.output(ops.relu(x @ w + b))
    g.verify()
    assert g.output_types == (TensorType("f32", ("M", 512)),)
    assert [op.name for op in g.ops] == ["mo.matmul", "mo.broadcast_to", "mo.add", "mo.relu"]
    assert g.name == "mlp" and g.symbols == {"M"} and g.outputs[0].owner is g.ops[-1]


def test_node_names_count_per_kind_and_are_unique() -> None:
    with Graph("g", [F]) as g:
        (x,) = g.inputs
        values = [x + x, x + x, x * x]
        assert [v.node_name for v in values] == ["add_0", "add_1", "mul_0"]
        assert x.node_name == "x0"
        assert values[1].owner.nodes == ("add_1",)


def test_inputs_may_have_names_of_their_own_which_ops_do_not_take() -> None:
    with Graph("g", {"add_0": F, "w_1": F}) as g:
        a, b = g.inputs
        assert g.input_names == ("add_0", "w_1")
        assert (a + b).node_name == "add_1"


def test_a_value_can_be_renamed_once_to_a_free_name() -> None:
    with Graph("g", [F]) as g:
        y = (g.inputs[0] + 1).named("logits")
        assert y.node_name == "logits" and y.owner.nodes == ("logits",) and y.name == "logits"
        with refused("already has a node 'logits'"):
            (g.inputs[0] + 1).named("logits")
        with refused("is not a node name"):
            y.named("a b")
        assert g.free_name("probabilities") == "probabilities"
        assert (g.inputs[0] + 2).named(g.free_name("logits")).node_name == "logits_0"


def test_graphs_nest_and_each_thread_has_its_own() -> None:
    outer, inner = Graph("outer", [F]), Graph("inner", [F])
    seen: list[object] = []
    with outer:
        with inner:
            assert current_graph() is inner
        assert current_graph() is outer
        thread = threading.Thread(target=lambda: seen.append(current_graph()))
        thread.start()
        thread.join()
    assert current_graph() is None and seen == [None]


def test_the_current_graph_is_left_when_building_fails() -> None:
    with pytest.raises(ZeroDivisionError), Graph("g", [F]):
        raise ZeroDivisionError
    assert current_graph() is None


def test_values_build_outside_with_too() -> None:
    g = Graph("g", [F])
    assert (g.inputs[0] * 2).shape == F.shape


def test_a_value_of_another_graph_is_refused() -> None:
    a, b = Graph("a", [F]), Graph("b", [F])
    with b:
        with refused("a value of graph 'a' is used inside graph 'b'"):
            a.inputs[0] + 1
        with refused("belongs to graph 'a', not to 'b'"):
            b.inputs[0] + a.inputs[0]
        with refused("graph 'a'"):
            b.output(a.inputs[0])


def test_ops_on_nothing_need_a_current_graph() -> None:
    with refused("constant: no graph to add to"):
        ops.constant([1, 2])
    with refused("add: no graph to add to"):
        ops.add(1, 2)


def test_a_graph_without_output_does_not_verify() -> None:
    with Graph("g", [F]) as g, refused("graph 'g' has no output"):
        g.verify()


def test_output_is_given_once_and_ends_the_graph() -> None:
    with Graph("g", [F]) as g:
        with refused("output needs at least one value"):
            g.output()
        g.output(g.inputs[0], 3.0, np.ones(2, np.float32))
        with refused("already has its output"):
            g.output(g.inputs[0])
        with refused("graph 'g' is finished"):
            g.inputs[0] + 1
    assert [t.dtype for t in g.output_types] == ["f32", "f64", "f32"]


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("", [F], "non-empty string"),
        (3, [F], "non-empty string"),
        ("g", ["f32"], "input 0 must be a TensorType"),
        ("g", {"a b": F}, "not an input name"),
    ],
)
def test_a_bad_graph_is_refused(name: object, inputs: object, said: str) -> None:
    with refused(said):
        Graph(name, inputs)  # type: ignore[arg-type]


def test_input_names_must_pair_up() -> None:
    with refused("1 input names for 2 inputs"):
        Graph("g", [F, F], input_names=["x"])
    with refused("same name"):
        Graph("g", [F, F], input_names=["x", "x"])


def test_errors_point_at_the_users_line_and_are_one_line() -> None:
    with Graph("g", [F]) as g, pytest.raises(CompilerError) as caught:
        ops.softmax(
            g.inputs[0],
            axis=7,
        )
    assert str(caught.value).startswith(f"{__file__}:") and "softmax: axis 7" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda x: ops.add(x, "a"), "add: an operand must be a value, a number or an array"),
        (lambda x: ops.add(x, None), "add: an operand must be a value"),
        (lambda x: ops.add(x, 1j), "add: an operand must be a value"),
        (lambda x: x + x.shape[0], "the dim M is a size, not a value"),
        (lambda x: ops.cast(x, "float"), "unknown dtype 'float'"),
        (lambda x: x.sum(axis=2), "sum: axis 2 is outside a tensor of rank 2"),
        (lambda x: x.sum(axis=(0, -2)), "names an axis twice"),
        (lambda x: x.sum(axis=1.5), "an axis is a whole number"),
        (lambda x: x.reshape(3, -1), r"shape \(M, 4\) does not divide into \(3, -1\) for every size"),
        (lambda x: x.reshape(-1, -1), "cannot tell what -1 is"),
        (lambda x: x.reshape(4), "does not have as many elements"),
        (lambda x: x.transpose(0, 0), "does not name each axis"),
        (lambda x: x @ x, r"matmul: shapes \(M, 4\) and \(M, 4\) do not multiply: 4 columns meet M rows"),
        (lambda x: x @ 2, "a scalar is not a matrix"),
        (lambda x: ops.concat([x, x[:, :2]], axis=0), "do not agree outside axis 0"),
        (lambda x: ops.concat([]), "at least one value"),
        (lambda x: ops.stack([x, x[:, :2]]), r"stack: shapes \(M, 4\) and \(M, 2\) differ"),
        (lambda x: ops.broadcast_to(x, ("K", 4)), "does not broadcast"),
        (lambda x: ops.broadcast_to(x[0], ("K", 4)), "the dim K is not a dim of any input"),
        (lambda x: x[0, 0, 0], "3 indices for"),
        (lambda x: x[:, 4], "index 4 is outside axis 1"),
        (lambda x: x[..., ...], "at most one"),
        (lambda x: x[:, ::0], "slice step"),
        (lambda x: x[1.5], "an index is a number"),
        (lambda x: x[x > 0], "indices must be integers, not bool; use ops.where"),
        (lambda x: ops.gather(x, x), "indices must be integers, not f32"),
        (lambda x: ops.gelu(x, approximate="fast"), "approximate must be"),
        (lambda x: ~x, "integer or bool"),
        (lambda x: x & 1, "integer or bool"),
        (lambda x: -(x > 0), "a bool has no negative"),
        (lambda x: (x > 0) - (x > 0), "sub: not defined on bool"),
        (lambda x: ops.max(ops.zeros((0, 2), "f32"), axis=0), "is empty"),
        (lambda x: ops.squeeze(x, 1), "is not 1"),
        (lambda x: ops.split(x, 3, axis=1), "does not split into 3 equal parts"),
        (lambda x: ops.pad(x, 1, mode="edge"), "mode must be 'constant'"),
        (lambda x: ops.pad(x, ((1, 1, 1),)), "does not give a pair"),
        (lambda x: ops.layer_norm(x, np.ones(3, np.float32)), r"operand shapes \(4,\) and \(3,\) differ"),
        (lambda x: ops.conv2d(x, np.ones((1, 1, 1, 1), np.float32)), "must be NCHW or CHW"),
        (lambda x: ops.rope(x, np.ones((3, 2), np.float32), np.ones((3, 2), np.float32)), "operand shapes"),
        (lambda x: ops.buffer_load(x), "needs a buffer"),
        (lambda x: ops.custom("", [x], F), "named by a string"),
        (lambda x: ops.custom("k", [x], "f32"), "result_types must be a list or tuple, not str"),
        (lambda x: ops.custom("k", [x], F, p=object()), "a parameter may be"),
        (lambda x: bool(x), "no truth value"),
        (lambda x: len(x), "is symbolic"),
        (lambda x: list(x), "is symbolic"),
        (lambda x: ops.arange(0, 10, 0), "step must not be 0"),
        (lambda x: ops.scaled_dot_product_attention(x, x, x, dropout_p=0.5), "dropout"),
        (lambda x: ops.scaled_dot_product_attention(x, x, x, x[:, :1], is_causal=True), "exclude each other"),
        (lambda x: x.__setitem__(0, 1), "graph values do not change"),
    ],
)  # fmt: skip
def test_a_wrong_use_is_a_graph_error_of_one_line(build, said: str) -> None:
    with Graph("g", [F]) as g, refused(said) as caught:
        build(g.inputs[0])
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert "\n" not in str(caught.value)


def test_a_buffer_is_loaded_and_stored_in_order() -> None:
    with Graph("g", [BufferType("f32", (2,)), TensorType("f32", (2,))]) as g:
        cache, x = g.inputs
        before = ops.buffer_load(cache)
        ops.buffer_store(cache, before + x)
        g.output(ops.buffer_load(cache))
    g.verify()
    names = [op.name for op in g.ops]
    assert names == ["mo.chain", "mo.buffer_load", "mo.add", "mo.buffer_store", "mo.buffer_load"]
    *_, store, load = g.ops
    assert load.operands[1] is store.results[0] and g.outputs[0] is load.results[0]
    with refused("is not a tensor; read a buffer with ops.buffer_load"):
        Graph("h", [BufferType("f32", (2,))]).inputs[0] + 1


def test_custom_keeps_its_parameters_and_its_reference() -> None:
    def double(a: np.ndarray, *, factor: float) -> np.ndarray:
        return a * factor

    with Graph("g", [F]) as g:
        y = ops.custom("double", [g.inputs[0], 1.5], F, reference=double, factor=2.0, sizes=(1, 2), name="n")
        a, b = ops.custom("two", [g.inputs[0]], [F, TensorType("i64", ())])
        g.output(y, a, b)
    assert g.custom_references == {"double": double}
    assert y.owner.attrs == {"kernel": "double", "factor": 2.0, "sizes": (1, 2), "name": "n"}
    assert (a.node_name, b.node_name, b.dtype) == ("custom_1", "custom_1", "i64")
    g.verify()
