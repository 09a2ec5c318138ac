"""mo text: prints, reads back to the same module, keeps node names, and knows the nodes of each line."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from compiler.dialects import mo
from compiler.graph import ops
from compiler.graph.dims import symbol
from compiler.graph.graph import Graph
from compiler.graph.ops.ordering import argsort, scatter_sorted
from compiler.graph.ops.specs import SPECS
from compiler.graph.types import BufferType, OpaqueType, TensorType
from compiler.importers.mlir_text import parse_graph
from tests.compiler.graph.builder_examples import TYPES, examples, words


def everything() -> Graph:
    """A graph that holds every op of the dialect: the examples of all builders, and attributes of every kind."""
    inputs = {
        "x": TensorType("f32", ("M", 4)),
        "n_1": TensorType("i32", ("M", 4)),
        "flags": TensorType("bool", ("M", 4)),
        "image": TensorType("f32", ("N", 3, "H", "W")),
        "q": TensorType("bf16", ("N", 8, "M", 16)),
        "cache": BufferType("f32", (8, 4)),
        "state": OpaqueType('an "odd" name\n'),
    }
    of_examples = {f"example_{name}": type for name, type in TYPES.items()}
    with Graph("every.thing", inputs | of_examples) as g:
        x, n, flags, image, q, cache, state, *given = g.inputs
        for example in examples():
            names = words(dict(zip(TYPES, given, strict=True)))
            for line in example.examples:
                exec(line.source, names)
        outputs = [~flags, ~n, ops.gelu(x, "tanh"), x.cast("u8"), ops.where(flags, x, -0.0), x @ x.T]
        outputs += [ops.bitcast(x, "u32"), x.cast("u64")]
        outputs += [
            getattr(ops, f)(x, axis=1) for f in ("sum", "mean", "prod", "max", "min", "argmax", "argmin", "cumsum")
        ]
        outputs += [ops.softmax(x), ops.log_softmax(x, 0), ops.layer_norm(x, eps=1e-12), ops.rms_norm(x)]
        outputs += [x.reshape(-1, 2), x[1::2, ::-1], ops.concat([x, x]), ops.pad(x, 1, constant_values=-np.inf)]
        outputs += [ops.gather(x, n), ops.tile(x, 2), ops.arange("M"), ops.constant(np.arange(50, dtype=np.int8))]
        outputs += [ops.conv2d(image, np.ones((2, 3, 3, 3), np.float32), stride=2), ops.max_pool2d(image, 2)]
        outputs += [ops.avg_pool2d(image, 3, 2, 1), ops.scaled_dot_product_attention(q, q, q, is_causal=True)]
        outputs += [ops.rope(x, ops.ones(("M", 2), "f32"), ops.zeros(("M", 2), "f32"), interleaved=True)]
        order, rows = argsort(ops.constant(np.array([2.0, 1.0]))), ops.zeros((3, 1), "f32")
        outputs.append(scatter_sorted(rows, order, order, ops.ones((2, 1), "f32"), "add"))
        ops.buffer_store(cache, ops.buffer_load(cache) + 1)
        outputs.append(ops.update("change", cache, [x], TensorType("f32", ("M",)), by=2))
        outputs += ops.custom(
            "my.kernel", [x, state], [TensorType("f32", ("M",)), TensorType("i64", ())],
            text='a "quote" \\ and ü', number=3, real=1e300, yes=True, mixed=(1, 2.5, "a", (True, ())), dims=("a", "b"),
            size=x.shape[0] * 2 - 1, nothing=None, tiny=5e-324,
        )  # fmt: skip
        g.output(*outputs)
    return g


def test_every_op_of_the_dialect_is_in_the_text_and_reads_back_to_the_same() -> None:
    graph = everything()
    graph.verify()
    text = str(graph)
    assert {op.name for op in graph.ops} == set(SPECS)
    again = parse_graph(text)
    assert mo.module_from_graph(again).is_structurally_equivalent(mo.module_from_graph(graph))
    assert str(again) == text


def test_names_and_provenance_survive_the_text() -> None:
    graph = everything()
    again = parse_graph(str(graph))
    assert again.input_names == graph.input_names
    for old, new in zip(graph.ops, again.ops, strict=True):
        assert old.nodes == new.nodes
        assert [r.name for r in old.results] == [r.name for r in new.results]


def test_attributes_survive_the_text() -> None:
    graph = everything()
    again = parse_graph(str(graph))
    for old, new in zip(graph.ops, again.ops, strict=True):
        before, after = old.attrs, new.attrs
        assert before.keys() == after.keys()
        for key, value in before.items():
            assert (
                np.array_equal(value, after[key]) if isinstance(value, np.ndarray) else repr(value) == repr(after[key])
            )


def test_a_clone_prints_the_same() -> None:
    module = mo.module_from_graph(everything())
    assert str(module.clone()) == str(module)


def test_a_graph_and_its_ir_print_the_same() -> None:
    graph = everything()
    assert mo.text_of(mo.module_from_graph(graph)) == str(graph)


def test_the_text_of_a_small_graph() -> None:
    with Graph("small", [TensorType("f32", ("M", 4))]) as g:
        g.output(ops.softmax(g.inputs[0] * 0.5))
    t = "!mo.tensor<[M, 4], f32>"
    assert str(g) == "\n".join([
        "builtin.module {",
        f"  mo.graph @small(%x0: {t}) -> ({t}) {{",
        "    %constant_0 = mo.constant() {value = #mo.array<[], f32, [0.5]>} : () -> !mo.tensor<[], f32>",
        f"    %broadcast_to_0 = mo.broadcast_to(%constant_0) {{shape = [M, 4]}} : (!mo.tensor<[], f32>) -> {t}",
        f"    %mul_0 = mo.mul(%x0, %broadcast_to_0) : ({t}, {t}) -> {t}",
        f"    %softmax_0 = mo.softmax(%mul_0) {{axis = 1}} : ({t}) -> {t}",
        f"    mo.output %softmax_0 : {t}",
        "  }",
        "}",
    ])  # fmt: skip


def test_each_line_knows_its_nodes() -> None:
    with Graph("small", [TensorType("f32", ("M", 4))]) as g:
        g.output(ops.softmax(g.inputs[0]))
    text, nodes = mo.print_with_nodes(mo.module_from_graph(g))
    assert text == str(g)
    assert nodes == [(), ("x0",), ("softmax_0",), ("softmax_0",), (), ()]


def test_provenance_of_several_nodes_is_written_as_a_location() -> None:
    with Graph("small", [TensorType("f32", ("M", 4))]) as g:
        y = g.inputs[0] + 1
        g.output(y)
    op = mo.from_graph(g)
    op.body.last_op.operands[0].owner.location = mo.nodes_loc(("mul_0", "add_0"))
    g = mo.to_graph(op)
    assert ' loc(fused["mul_0", "add_0"])' in str(g)
    assert mo.text_of(ModuleOp([op])) == str(g)
    again = parse_graph(str(g))
    assert again.outputs[0].owner.nodes == ("mul_0", "add_0")
    assert str(again) == str(g)


def test_a_large_constant_may_be_left_out_of_text_that_is_only_looked_at() -> None:
    with Graph("g") as g:
        g.output(ops.constant(np.zeros((64, 64), np.float32)), ops.constant([1.0, 2.0]))
    text = mo.text_of(mo.module_from_graph(g), elide=True)
    assert "#mo.array<[64, 64], f32, elided>" in text and "[1.0, 2.0]" in text
    assert len(text) < 1000 < len(str(g))


@pytest.mark.parametrize(
    ("name", "operands", "result", "attrs", "said"),
    [
        ("mo.add", 2, ("f32", (5,)), {}, r"mo.add: result type must be !mo.tensor<\[M, 4\], f32>, not "),
        ("mo.add", 1, ("f32", ("M", 4)), {}, "mo.add: takes 2 operands, not 1"),
        ("mo.softmax", 1, ("f32", ("M", 4)), {}, "mo.softmax: lacks the attribute 'axis'"),
        ("mo.softmax", 1, ("f32", ("M", 4)), {"axis": -1}, "mo.softmax: axis -1 is outside a tensor of rank 2"),
        ("mo.softmax", 1, ("f32", ("M", 4)), {"axis": "x"}, "mo.softmax: attribute 'axis' must be a whole number"),
        ("mo.softmax", 1, ("f32", ("M", 4)), {"axis": 1, "y": 1}, "mo.softmax: has no attribute 'y'"),
        ("mo.logical_not", 1, ("bool", ("M", 4)), {}, "mo.logical_not: the operand must have dtype bool, not f32"),
        ("mo.reduce_sum", 1, ("f32", ()), {"axes": (1, 0)}, "must be sorted and distinct"),
        ("mo.slice", 1, ("f32", ("M", 5)), {"starts": (0, 0), "steps": (1, 1), "shape": (symbol("M"), 5)},
         r"mo.slice: elements 0 to 4 of axis 1 are outside shape \(M, 4\)"),
        ("mo.slice", 1, ("f32", (1, 1)), {"starts": (0, 0), "steps": (1, 0), "shape": (1, 1)}, "of axis 1 is 0"),
        ("mo.pad", 1, ("f32", ("M", 4)), {"low": (0, 0), "high": (0, 0), "value": 1}, "the value 1 is not a f32"),
        ("mo.buffer_load", 2, ("f32", ("M", 4)), {}, "operands must be a buffer and a chain"),
    ],
)  # fmt: skip
def test_the_verifier_names_the_op_and_the_rule(
    name: str, operands: int, result: tuple, attrs: dict, said: str
) -> None:
    g = Graph("g", [TensorType("f32", ("M", 4))])
    graph = mo.from_graph(g)
    op = mo.make(name, [graph.body.args[0]] * operands, [TensorType(*result)], attrs, ("bad_0",))
    graph.body.add_op(op)
    with pytest.raises(VerifyException, match=said):
        op.verify_()


def test_xdsls_own_verifier_accepts_a_good_module_and_refuses_a_bad_one() -> None:
    module = mo.module_from_graph(everything())
    module.verify()
    (exp,) = [op for op in mo.graph_of(module).body.ops if op.name == "mo.exp"]
    exp.results[0]._type = TensorType("i8", (1,))
    with pytest.raises(VerifyException, match=r"mo\.exp"):
        module.verify()


def test_make_builds_detached_ops() -> None:
    g = Graph("g", [TensorType("f32", ("M", 4))])
    (x,) = mo.from_graph(g).body.args
    op = mo.make(
        "mo.reduce_sum", [x], SPECS["mo.reduce_sum"].infer([x.type], {"axes": (1,)}), {"axes": (1,)}, ("sum_0", "sum_1")
    )
    assert op.results[0].type == TensorType("f32", ("M",)) and op.results[0].name_hint == "sum_0"
    assert mo.nodes_of(op) == ("sum_0", "sum_1") and op.parent is None
    assert mo.attrs_of(op) == {"axes": (1,)}


def test_absent_optional_attributes_read_as_none() -> None:
    with Graph("g", [TensorType("f32", ("S", 8))]) as g:
        plain = {"is_causal": False, "enable_gqa": False}
        (y,) = g.emit("mo.scaled_dot_product_attention", list(g.inputs) * 3, plain)
        g.output(y)
    assert y.owner.all_attrs["scale"] is None and "scale" not in y.owner.attrs
    (read,) = [op for op in mo.from_graph(g).body.ops if op.name != "mo.output"]
    assert mo.attrs_of(read)["scale"] is None
    assert str(parse_graph(str(g))) == str(g)


def test_the_module_holds_one_graph() -> None:
    g = Graph("g", [TensorType("f32", ())])
    module = mo.module_from_graph(g)
    assert isinstance(module, ModuleOp) and module.body.block.first_op is mo.graph_of(module)
