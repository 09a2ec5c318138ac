"""Generated kernel source, its line map, the ledger and the two IR views of a fused graph."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from compiler import compile
from compiler.dialects import mgp, mogg
from compiler.dialects.mo import nodes_of, text_of
from compiler.dialects.mo.reading import MoParser
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.passes.fusion.module import build_module, mogg_text
from compiler.passes.fusion.text import SymbolNames, literal, number
from compiler.program.host_program import Interface, host_program
from compiler.program.mgp_text import mgp_text


def block():
    """Most of what a transformer layer has, with a buffer and outputs that need views."""
    kinds = {
        "x": TensorType("f32", ("B", "S", 8)), "w": TensorType("f32", (8, 8)), "b": TensorType("f32", (8,)),
        "cos": TensorType("f32", ("S", 2)), "sin": TensorType("f32", ("S", 2)),
        "memory": BufferType("f32", ("B", "S", 8)),
    }  # fmt: skip
    graph = Graph("block", inputs=kinds)
    with graph:
        x, w, b, cos, sin, memory = graph.inputs
        h = ops.layer_norm(x)
        q = ops.rope(ops.transpose(ops.reshape(h @ w, ("B", "S", 2, 4)), (0, 2, 1, 3)), cos, sin)
        a = ops.scaled_dot_product_attention(q, q, q, is_causal=True)
        y = x + ops.reshape(ops.transpose(a, (0, 2, 1, 3)), ("B", "S", 8)) @ w + b
        ops.buffer_store(memory, ops.buffer_load(memory) * 0.5 + y)
        graph.output(y, ops.transpose(ops.gelu(y), (2, 0, 1)), ops.where(y > 0, y, -np.inf), x)
    return graph


@pytest.fixture(scope="module")
def made(fused):
    return fused(block())


def test_every_source_is_python_with_one_kernel(made):
    for kernel in made.result.kernels:
        tree = ast.parse(kernel.source)
        (function,) = tree.body
        assert function.name == kernel.name
        assert ast.unparse(function.decorator_list[0]) == f"kernel('{kernel.name}')"
        wanted = [f"out{k}" for k in range(len(kernel.outputs))] + [f"in{k}" for k in range(len(kernel.inputs))]
        assert [a.arg for a in function.args.args] == wanted
        used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        assert set(wanted) <= used, "no parameter is for nothing"


def test_the_declared_types_are_those_of_the_record(made):
    for kernel in made.result.kernels:
        (function,) = ast.parse(kernel.source).body
        for argument, kind in zip(function.args.args, (*kernel.outputs, *kernel.inputs), strict=True):
            sizes = ", ".join(map(str, kind.shape)) + ("," if len(kind.shape) == 1 else "")
            assert ast.unparse(argument.annotation).replace(" ", "") == f"Tensor[{kind.dtype},({sizes})]".replace(
                " ", ""
            )


def test_every_line_knows_its_nodes_and_every_node_has_a_line(made):
    seen = set()
    for call in made.result.calls:
        kernel = call.kernel
        assert len(kernel.line_slots) == len(kernel.source.splitlines())
        assert len(call.nodes) == len(kernel.slots) == len(call.roles)
        for line, slots in zip(kernel.source.splitlines(), kernel.line_slots):
            if ("=" in line and "def " not in line) or "return" in line:
                assert slots, line
            seen |= {node for slot in slots for node in call.nodes[slot]}
    graph = made.result.origin.fused.graph
    wanted = {n for op in graph.body.ops for n in nodes_of(op) if op.name not in ("mo.output", "mo.chain")}
    alias_loads = {n for n in wanted if n.startswith("buffer_load")}
    assert wanted - seen <= alias_loads


def test_equal_graphs_give_equal_text(fused, made):
    again = fused(block())
    assert [k.source for k in again.result.kernels] == [k.source for k in made.result.kernels]
    assert again.result.ledger == made.result.ledger
    assert mogg_text(again.result.origin.fused) == mogg_text(made.result.origin.fused)


def test_a_generated_name_never_hides_a_library_function(fused, library):
    graph = Graph("g", inputs=[TensorType("f32", ("M", 8))])
    with graph:
        graph.output(ops.softmax(ops.log(graph.inputs[0])))
    (name,) = fused(graph).names
    assert name == "log_softmax_kernel", "log_softmax is the library's"
    assert not set(fused(block()).names) & set(library.names())


def test_dims_that_clash_with_the_text_are_renamed(fused, run_kernels):
    graph = Graph("g", inputs=[TensorType("f32", ("in0", "lambda", "exp"))])
    with graph:
        graph.output(ops.transpose(ops.exp(graph.inputs[0]), (1, 0, 2)))
    made = fused(graph)
    ast.parse(made.sources[0])
    call = made.result.calls[0]
    assert call.kernel.symbols == ("exp_", "in0_", "lambda_")
    assert call.symbols == ("exp", "in0", "lambda")
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")
    np.testing.assert_allclose(run_kernels(made.result, graph, x)[0], np.exp(x).transpose(1, 0, 2), rtol=1e-6)


@pytest.mark.parametrize(
    "names", [("out0", "in0"), ("index", "kernel"), ("in0", "in0_"), ("in0_", "in0"), ("v0", "f32")]
)
@pytest.mark.parametrize("flow", ["all-kernel", "per-kernel"])
def test_dims_may_have_names_that_mean_something_in_a_kernel(names, flow):
    rows, inner = names
    graph = Graph("named", inputs=[TensorType("f32", (rows, inner)), TensorType("f32", (inner, 8))])
    with graph:
        x, w = graph.inputs
        graph.output(ops.softmax(ops.relu(x @ w + 1.0), axis=-1), ops.reshape(x, (-1,)))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype(np.float32) for shape in ((5, 7), (7, 8))]
    model = compile(graph, flow=flow)
    for found in (model, compile(graph, flow=flow)):  # the second comes from the cache
        assert set(found.symbols) == set(names)
        first, second = found.execute(*given)
        wanted = np.exp(np.maximum(given[0] @ given[1] + 1, 0))
        np.testing.assert_allclose(first, wanted / wanted.sum(-1, keepdims=True), rtol=1e-5)
        np.testing.assert_array_equal(second, given[0].reshape(-1))


def test_slices_of_slices_keep_their_symbolic_sizes(fused, run_kernels):
    graph = Graph("g", inputs=[TensorType("f64", ("Z", "K"))])
    with graph:
        once = graph.inputs[0][3::2, ::2]
        graph.output(once, once[3::2, ::2])
    x = np.random.default_rng(0).standard_normal((19, 9))
    first, second = run_kernels(fused(graph).result, graph, x)
    np.testing.assert_array_equal(first, x[3::2, ::2])
    np.testing.assert_array_equal(second, x[3::2, ::2][3::2, ::2])


def test_the_symbols_of_a_kernel_are_those_of_its_text(fused):
    graph = Graph("g", inputs=[TensorType("f32", ("M", 8)), TensorType("f32", ("K",))])
    with graph:
        x, y = graph.inputs
        graph.output(ops.exp(x[y.shape[0] : y.shape[0] + 4]))
    (kernel,) = fused(graph).result.kernels
    assert kernel.symbols == ("K", "M")


@pytest.mark.parametrize(
    ("element", "dtype", "text"),
    [
        (np.float32(0.1), "f32", "f32(0.10000000149011612)"), (np.float32(-0.0), "f32", "f32(-0.0)"),
        (np.float32(np.inf), "f32", "f32(f32.inf)"), (np.float64(-np.inf), "f64", "f64(-f64.inf)"),
        (np.float16(np.nan), "f16", "f16(f16.nan)"), (np.int64(-(2**63)), "i64", "i64(-9223372036854775808)"),
        (np.bool_(True), "bool", "bool(True)"), (np.uint8(255), "u8", "u8(255)"),
    ],
)  # fmt: skip
def test_literals(element, dtype, text):
    assert literal(element, dtype) == text


def test_parameters():
    names = SymbolNames(frozenset())
    assert names.parameter((1, -2), "f32") == "(1, -2)"
    assert names.parameter((3,), "f32") == "(3,)"
    assert names.parameter("bf16", "f32") == "bf16"
    assert names.parameter("tanh", "f32") == "'tanh'"
    assert names.parameter(None, "f32") == "None"
    assert names.parameter(True, "f32") == "True"
    assert names.parameter(-np.inf, "i32") == "-f64.inf"
    assert number(1e-05, "f32") == "1e-05"


def test_constants_are_inlined_or_kept_by_size(fused):
    graph = Graph("g", inputs=[TensorType("f32", ("M", 4))])
    with graph:
        table = ops.constant(np.arange(4, dtype=np.float32))
        splat = ops.constant(np.full((4,), 7.0, np.float32))
        graph.output(graph.inputs[0] * table + splat)
    made = fused(graph)
    assert [b.name for b in made.result.constants] == ["constant_0"]
    assert made.result.constants[0].array.tolist() == [0, 1, 2, 3]
    assert "f32(7.0)" in made.sources[0]
    assert made.decisions["constant_1", "broadcast_to_1"].rule == "inline-constant"


def test_the_ledger_says_by_which_rule_and_what_it_saves(made):
    decisions = made.decisions
    assert decisions["matmul_1", "reshape_5"].rule == "epilogue"
    assert decisions["add_0", "add_1"].rule == "epilogue"
    assert str(decisions["add_0", "add_1"].bytes_saved) == "64*B*S", "neither written nor read: twice the tensor"
    assert decisions["rope_0", "scaled_dot_product_attention_0"].rule == "prologue"
    assert decisions["transpose_0", "rope_0"].rule == "view"
    assert not decisions["layer_norm_0", "reshape_0"].accepted
    for decision in made.result.ledger:
        assert decision.rule and decision.reason
        assert decision.accepted or decision.bytes_saved == 0
    assert len(decisions) == len(made.result.ledger), "one decision an edge"


def test_several_results_of_one_chain_are_siblings(fused):
    graph = Graph("g", inputs=[TensorType("f32", ("M", 8))])
    with graph:
        y = ops.exp(graph.inputs[0])
        graph.output(y, ops.sin(y))
    decision = fused(graph).decisions["exp_0", "sin_0"]
    assert (decision.accepted, decision.rule) == (True, "sibling-output")
    assert str(decision.bytes_saved) == "32*M", "stored anyway, but not read again"


@pytest.mark.parametrize("dialect", [mogg, mgp])
def test_ir_text_reads_back(made, dialect):
    result = made.result
    text, nodes = mogg_text(result.origin.fused) if dialect is mogg else mgp_text(host_program(result, {}, Interface()))
    assert len(nodes) == text.count("\n") + 1
    assert any(nodes)
    module = MoParser(text, "<text>", mogg.Mogg, mgp.Mgp).parse_module()
    module.verify()
    assert text_of(module) == text


def test_mogg_holds_every_op_with_its_role(made):
    module = build_module(made.result.origin.fused)
    kernels = [op for op in module.walk() if isinstance(op, mogg.KernelOp)]
    assert [k.kernel for k in kernels] == made.names
    roles = {op.attributes["role"].data for k in kernels for op in k.body.ops if "role" in op.attributes}
    needed = {"core", "prologue", "epilogue", "view", "constant"}
    assert needed <= roles <= {*needed, "row", "elementwise"}
    module.verify()
