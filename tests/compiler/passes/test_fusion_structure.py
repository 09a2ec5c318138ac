"""Which kernels a graph becomes: the patterns people expect, and the ones that must not fuse."""

from __future__ import annotations

import time

import numpy as np
import pytest

from compiler.dialects import mgp, mogg
from compiler.dialects.mo import from_graph, text_of
from compiler.dialects.mo.reading import MoParser
from compiler.errors import KernelError
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.language.library import Library
from compiler.language.source import SourceFile
from compiler.passes.fusion.fuse import fuse
from compiler.passes.fusion.module import mogg_text
from compiler.passes.graph.cse import cse
from compiler.program.host_program import Interface, host_program
from compiler.program.mgp_text import mgp_text
from compiler.reference import reference


def tensors(*shapes, dtype="f32"):
    return [TensorType(dtype, shape) for shape in shapes]


def build(function, *types):
    graph = Graph("g", inputs=list(types))
    with graph:
        result = function(*graph.inputs)
        graph.output(*(result if isinstance(result, tuple) else (result,)))
    return graph


@pytest.fixture
def check(run_kernels):
    """Run a fusion result with M=3, N=5 against the reference."""

    def run(graph, result):
        rng = np.random.default_rng(0)
        sizes = {"M": 3, "N": 5}
        shapes = [[sizes.get(str(s), s) for s in t.shape] for t in graph.input_types]
        arrays = [rng.standard_normal(s).astype("f4") for s in shapes]
        copies = [a.copy() for a in arrays]
        expected = reference(graph, *copies)
        for one, two in zip(run_kernels(result, graph, *arrays), expected, strict=True):
            np.testing.assert_array_equal(one, two)
        for one, two in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(one, two)

    return run


def test_what_a_kernel_calls_is_not_read_where_nothing_depends_on_it():
    text = """
@kernel("mo.softmax")
def softmax(out: FusedOutput, x: FusedInput, *, axis):
    helper(x)

@inline
def helper(x):
    return x +

@kernel("kg.elementwise")
def elementwise(out: FusedOutput, x: FusedInput): ...

@view("mo.transpose")
def transpose(x, *, perm):
    return x.permute(perm)
"""
    library = Library([SourceFile("kernels.py", text)])
    straight, across = (
        build(function, *tensors((512, 512)))
        for function in (lambda x: ops.softmax(x), lambda x: ops.softmax(ops.transpose(x, (1, 0))))
    )
    assert [kernel.name for kernel in fuse(from_graph(straight), library).kernels] == ["softmax_kernel"]
    with pytest.raises(KernelError, match="syntax error"):  # its way depends on what lies how
        fuse(from_graph(across), library)


def test_linear_layer_with_activation_is_one_kernel(fused, check):
    graph = build(lambda x, w, b: ops.relu(x @ w + b), *tensors(("M", 8), (8, 8), (8,)))
    made = fused(graph)
    assert made.names == ["matmul_add_relu"]
    check(graph, made.result)


def test_twenty_elementwise_ops_are_one_kernel(fused, check):
    def function(x):
        for _ in range(10):
            x = ops.tanh(x) + 1.5
        return x

    graph = build(function, *tensors(("M", 8)))
    made = fused(graph)
    assert len(made.names) == 1
    assert made.names[0].startswith("tanh_add_tanh_add_")
    assert "Tensor[f32, (8*M,)]" in made.sources[0], "equal shapes are walked as one long row"
    check(graph, made.result)


def test_a_transposed_operand_is_not_copied(fused, check):
    graph = build(lambda x, w: x.T @ w, *tensors((8, "M"), (8, 4)))
    made = fused(graph)
    assert made.names == ["matmul_kernel"]
    assert "transpose(in0, perm=(1, 0))" in made.sources[0]
    check(graph, made.result)


def test_norm_and_activation_are_one_kernel(fused, check):
    graph = build(lambda x: ops.gelu(ops.layer_norm(x)), *tensors(("M", 8)))
    made = fused(graph)
    assert made.names == ["layer_norm_gelu"]
    check(graph, made.result)


def test_an_activation_between_two_products_goes_with_the_first(fused, check):
    graph = build(lambda x, a, b: ops.gelu(x @ a) @ b, *tensors(("M", 8), (8, 8), (8, 8)))
    made = fused(graph)
    assert made.names == ["matmul_gelu", "matmul_kernel"]
    check(graph, made.result)


def test_what_comes_before_a_kernel_is_computed_as_it_loads(fused, check):
    graph = build(lambda x: ops.softmax(x * 0.5 + 1.0), *tensors(("M", 8)))
    made = fused(graph)
    assert made.names == ["mul_add_softmax"]
    assert "def input0(at):" in made.sources[0]
    check(graph, made.result)


def test_a_kernel_that_asks_for_tensors_gets_them(fused, check):
    graph = build(lambda x: ops.exp(ops.cumsum(ops.tanh(x), axis=1)), *tensors(("M", 8)))
    made = fused(graph)
    assert made.names == ["tanh_kernel", "cumsum_kernel", "exp_kernel"]
    assert made.decisions["tanh_0", "cumsum_0"].reason == "input is declared Tensor"
    assert made.decisions["cumsum_0", "exp_0"].reason == "output is declared Tensor"
    check(graph, made.result)


def test_a_reshape_of_a_buffer_is_a_tensor_too(fused, check):
    graph = build(lambda x: ops.cumsum(ops.reshape(x, ("M", 2, 4)), axis=1), *tensors(("M", 8)))
    assert fused(graph).names == ["cumsum_kernel"]
    check(graph, fused(graph).result)


def test_a_transposed_tensor_input_is_copied_first(fused, check):
    graph = build(lambda x: ops.cumsum(x.T, axis=0), *tensors(("M", 8)))
    assert fused(graph).names == ["transpose_kernel", "cumsum_kernel"]
    check(graph, fused(graph).result)


def test_batched_linear_layers_fuse_through_their_reshapes(fused, check):
    def function(x, a, bias, b):
        return ops.gelu(x @ a + bias) @ b + x

    graph = build(function, *tensors(("M", "N", 8), (8, 16), (16,), (16, 8)))
    made = fused(graph)
    assert made.names == ["matmul_add_gelu", "matmul_add"]
    assert ".reshape(" not in "".join(made.sources), "memory is row-major: reshapes of buffers are declarations"
    check(graph, made.result)


def test_a_residual_connection_stores_once_and_reads_twice(fused, check):
    def function(x, w, v):
        h = x + x @ w
        return h + ops.relu(ops.layer_norm(h) @ v)

    graph = build(function, *tensors(("M", 8), (8, 8), (8, 8)))
    made = fused(graph)
    assert made.names == ["matmul_add", "layer_norm_kernel", "matmul_relu_add"]
    assert made.result.kernels[2].inplace, "the residual dies there: the result may take its place"
    check(graph, made.result)


def test_a_hand_written_layer_norm_keeps_its_statistics_small(fused, check):
    def function(x):
        mean = ops.mean(x, axis=-1, keepdims=True)
        centred = x - mean
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        return centred * ops.rsqrt(variance + 1e-5)

    graph = build(function, *tensors(("M", "N", 8)))
    made = fused(graph)
    assert made.names == ["reduce_mean_kernel", "sub_kernel", "square_reduce_mean_add_rsqrt", "mul_kernel"]
    assert "out0: Tensor[f32, (M, N)]" in made.sources[2], "the square root is taken once a row, not once an element"
    check(graph, made.result)


def test_merging_attention_heads_is_stored_through_the_permutation(fused, check):
    def function(q, w):
        attended = ops.scaled_dot_product_attention(q, q, q)
        return ops.reshape(ops.transpose(attended, (0, 2, 1, 3)), ("M", "N", 8)) @ w

    graph = build(function, *tensors(("M", 2, "N", 4), (8, 8)))
    made = fused(graph)
    assert made.names == ["attention_kernel", "matmul_kernel"]
    assert "out0.permute((0, 2, 1, 3))" in made.sources[0]
    check(graph, made.result)


def test_a_value_that_two_kernels_read_is_computed_once(fused, check):
    graph = build(lambda x, a, b: (lambda y: (y @ a, y @ b))(ops.exp(x)), *tensors(("M", 8), (8, 8), (8, 4)))
    made = fused(graph)
    assert made.names == ["exp_kernel", "matmul_kernel", "matmul_kernel_2"]
    assert made.decisions["exp_0", "matmul_0"].reason == "other users"
    check(graph, made.result)


def test_results_that_share_work_come_from_one_kernel(fused, check):
    graph = build(lambda x: (lambda y: (y + 1, y * 2, y))(ops.exp(x)), *tensors(("M", 8)))
    made = fused(graph)
    assert len(made.names) == 1
    assert len(made.result.calls[0].results) == 3
    check(graph, made.result)


def test_a_diamond_is_one_kernel(fused, check):
    graph = build(lambda x: (lambda y: ops.sin(y) + ops.cos(y))(ops.exp(x)), *tensors(("M", 8)))
    made = fused(graph)
    assert len(made.names) == 1
    assert made.sources[0].count("exp(") == 1, "computed once"
    check(graph, made.result)


def test_a_kernel_result_used_again_elsewhere_is_a_second_output(fused, check):
    graph = build(lambda x, w: (lambda h: (ops.relu(h), h))(x @ w), *tensors(("M", 8), (8, 8)))
    made = fused(graph)
    assert made.names == ["matmul_relu"]
    assert len(made.result.calls[0].results) == 2
    check(graph, made.result)


def test_fusing_never_makes_a_cycle(fused, check):
    # relu(h) needs the softmax of h: it cannot be in the kernel that makes h.
    def function(x, w):
        h = x @ w
        return h + ops.softmax(h)

    graph = build(function, *tensors(("M", 8), (8, 8)))
    made = fused(graph)
    assert made.names == ["matmul_kernel", "softmax_add"]
    assert not made.decisions["matmul_0", "add_0"].accepted
    check(graph, made.result)


def test_a_cycle_through_other_groups_is_seen(fused, check):
    def function(x, w):
        a = x @ w
        b = a.T @ x  # needs all of a
        c = ops.relu(a) + (x @ b)  # cannot join a: b stands between
        return c

    graph = build(function, *tensors((8, 8), (8, 8)))
    check(graph, fused(graph).result)


def test_the_latest_producer_takes_the_sum(fused, check):
    graph = build(lambda x, a, b: x @ a + x @ b, *tensors(("M", 8), (8, 8), (8, 8)))
    made = fused(graph)
    assert made.names == ["matmul_kernel", "matmul_add"]
    assert made.decisions["matmul_1", "add_0"].accepted
    assert not made.decisions["matmul_0", "add_0"].accepted
    check(graph, made.result)


def test_an_expensive_expression_is_not_repeated_by_a_broadcast(fused, check):
    def function(x, b):
        for _ in range(6):
            b = ops.tanh(b) * 2.0
        return x + b

    graph = build(function, *tensors(("M", 8), (8,)))
    made = fused(graph)
    assert len(made.names) == 2
    assert any("repeat" in d.reason for d in made.result.ledger)
    check(graph, made.result)


def test_small_expressions_under_a_broadcast_are_fused(fused, check):
    graph = build(lambda x, w: x * (1.0 + w), *tensors(("M", 8), (8,)))
    assert fused(graph).names == ["add_mul"]
    check(graph, fused(graph).result)


def test_repeated_shifts_do_not_explode(fused, check):
    def function(x):
        for _ in range(12):
            x = x + ops.concat([x[:, 1:], x[:, :1]], axis=1)
        return x

    graph = build(function, *tensors(("M", 8)))
    made = fused(graph)
    assert 2 <= len(made.names) <= 12
    assert any("times per element" in d.reason for d in made.result.ledger)
    check(graph, made.result)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: x, lambda x, s: (x, x), lambda x, s: (ops.exp(x), ops.exp(x)), lambda x, s: x.T, lambda x, s: s,
        lambda x, s: s * 2.0, lambda x, s: ops.reshape(x, (8, "M")), lambda x, s: ops.full((3, 4), 2.0, "f32"),
        lambda x, s: (lambda y: (y, y, y.T))(x @ x.T), lambda x, s: ops.cumsum(ops.ones((3, 4)), axis=1),
        lambda x, s: (lambda y: (y, ops.reshape(y, (8, "M"))))(ops.exp(x)), lambda x, s: x @ ops.iota((8, 4), 1, "f32"),
        lambda x, s: ops.constant(np.arange(6, dtype=np.float32)), lambda x, s: ops.sum(x), lambda x, s: ops.exp(s) + x,
        lambda x, s: (x[:0], ops.sum(x[:0], axis=0)), lambda x, s: ops.concat([x[:, :0], x], axis=1),
        lambda x, s: ops.transpose(ops.reshape(x @ x.T, ("M", "M", 1)), (2, 1, 0)),
        lambda x, s: ops.iota((4, 3), 1, "f32"), lambda x, s: x + ops.ones((8,)) @ ops.ones((8, 8)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fuse", [True, False])
def test_odd_graphs(fused, check, function, fuse):
    graph = build(function, *tensors(("M", 8), ()))
    result = fused(graph, fuse=fuse).result
    check(graph, result)
    program = host_program(result, {}, Interface())
    for text, _ in (mogg_text(result.origin.fused), mgp_text(program)):
        module = MoParser(text, "<text>", mogg.Mogg, mgp.Mgp).parse_module()
        module.verify()
        assert text_of(module) == text


def test_without_fusion_every_op_is_a_kernel(fused, check):
    graph = build(lambda x, w, b: ops.relu(x @ w.T + b), *tensors(("M", 8), (8, 8), (8,)))
    made = fused(graph, fuse=False)
    assert made.names == ["transpose_kernel", "matmul_kernel", "broadcast_to_kernel", "add_kernel", "relu_kernel"]
    assert {d.reason for d in made.result.ledger} == {"fusion is off"}
    check(graph, made.result)


def test_a_forced_cut_splits_a_kernel(fused, check):
    graph = build(lambda x, w: ops.relu(x @ w) * 2.0, *tensors(("M", 8), (8, 8)))
    made = fused(graph, force_cut=frozenset({("relu_0", "mul_0")}))
    assert made.names == ["matmul_relu", "mul_kernel"]
    assert made.decisions["relu_0", "mul_0"].reason == "forced cut"
    check(graph, made.result)


def test_forcing_an_edge_computes_a_shared_value_again(fused, check):
    graph = build(lambda x, a, b: (lambda y: (y @ a, y @ b))(ops.exp(x)), *tensors(("M", 8), (8, 8), (8, 4)))
    made = fused(graph, force_fuse=frozenset({("exp_0", "matmul_1")}))
    assert made.names == ["exp_kernel", "matmul_kernel", "exp_matmul"]
    assert made.decisions["exp_0", "matmul_1"].accepted
    check(graph, made.result)


def test_a_custom_op_fuses_by_its_signature(fused, run_kernels):
    graph = build(
        lambda x, w: ops.relu(ops.custom("my_scale", [x @ w], TensorType("f32", ("M", 8)), factor=3.0)),
        *tensors(("M", 8), (8, 8)),
    )
    made = fused(graph)
    assert made.names == ["matmul_my_scale_relu"]
    assert "my_scale(v0, factor=3.0)" in made.sources[0]


def test_a_custom_kernel_may_have_two_results(fused, run_kernels):
    kind = TensorType("f32", ("M", 8))
    graph = build(
        lambda x: (lambda pair: (pair[0] + 1.0, pair[1], pair[1]))(ops.custom("split_sign", [x], [kind, kind])),
        *tensors(("M", 8)),
    )
    x = np.random.default_rng(0).standard_normal((3, 8)).astype("f4")
    one, two, three = run_kernels(fused(graph).result, graph, x)
    np.testing.assert_array_equal(one, np.maximum(x, 0) + 1)
    np.testing.assert_array_equal(two, np.minimum(x, 0))
    np.testing.assert_array_equal(three, two)


def test_an_op_without_a_kernel_is_named(fused):
    graph = build(lambda x: ops.argmax(x, axis=0), *tensors(("M", 8)))
    with pytest.raises(KernelError, match=r"argmax_0: the kernel library has no entry for 'mo.argmax'"):
        fused(graph)


def test_repeated_layers_share_their_kernels(fused, check):
    def function(x, w):
        for _ in range(4):
            x = ops.relu(x @ w)
        return x

    graph = build(function, *tensors(("M", 8), (8, 8)))
    made = fused(graph)
    assert made.names == ["matmul_relu"] * 4
    assert len(made.sources) == 1
    assert [call.nodes[0] for call in made.result.calls] == [(f"matmul_{k}",) for k in range(4)]
    check(graph, made.result)


def test_a_counter_is_updated_in_place(fused, check):
    def function(memory, x):
        ops.buffer_store(memory, ops.buffer_load(memory) + x)
        return ops.buffer_load(memory) * 2.0

    graph = build(function, BufferType("f32", ("M", 8)), *tensors(("M", 8)))
    made = fused(graph)
    assert made.names == ["add_kernel", "mul_kernel"]
    assert made.result.calls[0].operands[0] is made.result.calls[0].results[0]
    check(graph, made.result)


def test_a_value_loaded_before_a_store_survives_it(fused, check):
    def function(memory, x):
        old = ops.buffer_load(memory)
        ops.buffer_store(memory, x @ x.T @ x)
        new = ops.buffer_load(memory)
        return old + new

    graph = build(function, BufferType("f32", ("M", 8)), *tensors(("M", 8)))
    check(graph, fused(graph).result)


def test_transposing_a_buffer_onto_itself_reads_first(fused, check):
    def function(memory):
        ops.buffer_store(memory, ops.buffer_load(memory).T)
        return ops.buffer_load(memory)

    graph = build(function, BufferType("f32", (8, 8)))
    check(graph, fused(graph).result)


def test_long_chains_of_views_and_ops(fused, check):
    def function(x):
        for _ in range(400):
            x = ops.transpose(x)[:, ::-1]
        for _ in range(300):
            x = ops.tanh(x)
        return x

    graph = build(function, *tensors((8, 8)))
    made = fused(graph)
    assert len(made.names) == 2, "a kernel holds a bounded number of ops"
    check(graph, made.result)


@pytest.mark.parametrize(("layers", "limit"), [(10, 0.04), (215, 1.2)])
def test_fusion_takes_milliseconds(fused, layers, limit):
    """About 6 ms for 60 ops and 200 ms for 1500 on the machine this was written on; the limits leave room."""

    def function(x, w):
        for _ in range(layers):
            x = ops.relu(x @ w + 1.0) + ops.mean(x, axis=1, keepdims=True)
        return x

    graph = build(function, *tensors(("M", 64), (64, 64)))
    assert len(graph.ops) >= layers * 6
    best = 10.0
    for _ in range(3):
        start = time.process_time()
        fused(graph)
        best = min(best, time.process_time() - start)
    assert best < limit


def unmet(made) -> dict[tuple[str, str], tuple[str, str]]:
    """The edges that were forced and are not as asked: their rule and reason."""
    forced = [d for d in made.result.ledger if d.rule.startswith("forced")]
    return {(d.producer, d.consumer): (d.rule, d.reason) for d in forced}


def test_an_edge_that_cannot_be_fused_as_asked_is_reported(fused, check):
    graph = build(lambda x, a, b: x @ a @ b, *tensors(("M", 8), (8, 8), (8, 4)))
    made = fused(graph, force_fuse=frozenset({("matmul_0", "matmul_1")}))
    assert unmet(made) == {("matmul_0", "matmul_1"): ("forced-fuse", "both are kernels")}
    assert not made.decisions["matmul_0", "matmul_1"].accepted
    check(graph, made.result)


@pytest.mark.parametrize(
    ("edge", "reason"),
    [
        (("exp_9", "relu_0"), "the graph has no op exp_9 after the graph passes"),
        (("relu_0", "nothing"), "the graph has no op nothing after the graph passes"),
        (("exp_0", "neg_0"), "neg_0 does not read exp_0"),
        (("x0", "exp_0"), "x0 is an input of the graph"),
    ],
)
def test_forcing_an_edge_that_is_none_is_reported(fused, edge, reason):
    graph = build(lambda x: ops.neg(ops.relu(ops.exp(x))), *tensors(("M", 8)))
    for option, rule in (("force_fuse", "forced-fuse"), ("force_cut", "forced-cut")):
        made = fused(graph, **{option: frozenset({edge})})
        assert unmet(made) == {edge: (rule, reason)}


def test_a_constant_cannot_be_cut_from_its_user(fused):
    graph = build(lambda x: ops.exp(x) * 3.0, *tensors(("M", 8)))
    (literal,) = [d.producer for d in fused(graph).result.ledger if d.rule == "inline-constant"][:1]
    (user,) = [d.consumer for d in fused(graph).result.ledger if d.producer == literal]
    made = fused(graph, force_cut=frozenset({(literal, user)}))
    assert unmet(made) == {(literal, user): ("forced-cut", "the constant is written into the kernel")}


def test_what_is_done_as_asked_is_no_warning(fused):
    graph = build(lambda x, a, b: (lambda y: (y @ a, y @ b))(ops.exp(x)), *tensors(("M", 8), (8, 8), (8, 4)))
    edges = frozenset({("exp_0", "matmul_1")})
    assert not unmet(fused(graph, force_fuse=edges))
    assert not unmet(fused(graph, force_cut=edges))


def test_an_edge_may_be_named_by_any_node_an_op_stands_for(fused):
    graph = build(lambda x: (ops.relu(ops.exp(x)), ops.neg(ops.exp(x))), *tensors(("M", 8)))
    op = from_graph(graph)
    cse(op)  # exp_1 is exp_0 now
    made = fused(op, force_cut=frozenset({("exp_1", "neg_0")}))
    assert made.decisions["exp_0", "neg_0"].reason == "forced cut"
    assert not unmet(made)
