"""Row kernels compute what their ops compute one by one, to the bit, wherever the reduced axes lie."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, ops, reference
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

SIZES = {"M": 19, "N": 45, "E": 0}


def softmax(x, axes):
    e = ops.exp(x - ops.max(x, axis=axes, keepdims=True))
    return e / ops.sum(e, axis=axes, keepdims=True)


def normed(x, axes):
    centred = x - ops.mean(x, axis=axes, keepdims=True)
    return centred * ops.rsqrt(ops.mean(centred * centred, axis=axes, keepdims=True) + 1e-3)


def spread(x, axes):
    return ops.broadcast_to(ops.mean(x, axis=axes, keepdims=True), x.shape)


BODIES = {
    "softmax": lambda x, axes: [softmax(x, axes)],
    "norm": lambda x, axes: [normed(x, axes)],
    "norm, then softmax of the same rows": lambda x, axes: [softmax(normed(x, axes) * 3.0, axes)],
    "rows and their elements": lambda x, axes: [x - ops.mean(x, axis=axes, keepdims=True), ops.sum(x, axis=axes)],
    "what is reduced is stored too": lambda x, axes: [normed(x * 2.0 + 1.0, axes), x * 2.0 + 1.0],
    "row results through a reshape": lambda x, axes: [
        ops.max(x, axis=axes, keepdims=True), x / ops.max(ops.abs(x), axis=axes, keepdims=True)
    ],
    "three at once": lambda x, axes: [ops.sum(x, axis=axes), ops.max(x, axis=axes), ops.mean(x * x, axis=axes)],
    "elements made of rows alone": lambda x, axes: [
        ops.broadcast_to(ops.sum(x, axis=axes, keepdims=True), x.shape)
        * ops.broadcast_to(ops.max(x, axis=axes, keepdims=True), x.shape)
    ],
    "a row's number spread, stored and used": lambda x, axes: [spread(x, axes), x * spread(x, axes)],
    "elements of one lane that are kept": lambda x, axes: [
        ops.where(ops.isnan(x), spread(x, axes), spread(x, axes)),
        ops.mean(ops.square(x - spread(x, axes)), axis=axes),
    ],
}  # fmt: skip

QUICK = [((7, 3, 33), (2,)), (("M", "N"), (1,)), (("M", 64), (0,)), ((5, 6, 40), (0, 2))]
OTHERS = [
    ((7, 64), (1,)), ((64, "N"), (0,)), ((5, 6, 7), (1,)), ((18, 6, 40), (1, 2)), (("M", 4, 5000), (2,)),
    ((20, 1), (1,)), (("E", 8), (1,)), ((3, 20000), (1,)), ((4, 4), (0, 1)),
]  # fmt: skip
SPACES = [*QUICK, *(pytest.param(*space, marks=pytest.mark.slow) for space in OTHERS)]


def compiled(body, shape, axes, dtype, **options):
    with Graph("g", inputs=[TensorType(dtype, shape)]) as graph:
        graph.output(*BODIES[body](graph.inputs[0], axes))
    return graph, compile_graph(graph, CompileOptions(opt_level=1, **options))


def elements(shape, dtype):
    sizes = tuple(SIZES[s] if isinstance(s, str) else s for s in shape)
    return (np.random.default_rng(3).standard_normal(sizes) * 2).astype({"f32": np.float32, "f16": np.float16}[dtype])


@pytest.mark.parametrize(("shape", "axes"), SPACES)
@pytest.mark.parametrize("body", BODIES)
def test_fused_rows_are_bit_equal_to_single_ops(body: str, shape: tuple, axes: tuple) -> None:
    graph, fused = compiled(body, shape, axes, "f32")
    _, single = compiled(body, shape, axes, "f32", fuse=False)
    x = elements(shape, "f32")
    found, expected, truth = fused.execute(x), single.execute(x), reference(graph, x)
    for one, other, true in zip(found, expected, truth, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, true, rtol=1e-4, atol=1e-4)
    assert len(fused.fusion.calls) <= len(single.fusion.calls)


def test_half_precision_rows_round_each_op() -> None:
    _, fused = compiled("norm, then softmax of the same rows", ("M", 100), (1,), "f16")
    _, single = compiled("norm, then softmax of the same rows", ("M", 100), (1,), "f16", fuse=False)
    x = elements(("M", 100), "f16")
    assert len(fused.fusion.calls) == 1
    np.testing.assert_array_equal(fused.execute(x)[0], single.execute(x)[0])


def test_rows_of_one_element_that_are_stored() -> None:
    graph, fused = compiled("what is reduced is stored too", ("M", 8, 1), (2,), "f32")
    x = elements(("M", 8, 1), "f32")
    for got, true in zip(fused.execute(x), reference(graph, x), strict=True):
        np.testing.assert_allclose(got, true, rtol=1e-5, atol=1e-5)


def test_a_cut_edge_ends_a_row_kernel() -> None:
    with Graph("g", inputs=[TensorType("f32", ("M", 64))]) as graph:
        x = graph.inputs[0]
        shifted = x - ops.max(x, axis=1, keepdims=True)
        graph.output(ops.exp(shifted))
    whole = compile_graph(graph, CompileOptions())
    cut = compile_graph(graph, CompileOptions(force_cut=frozenset({("sub_0", "exp_0")})))
    assert len(whole.fusion.calls) == 1 and len(cut.fusion.calls) == 2


def test_a_cut_edge_keeps_reductions_in_kernels_of_their_own() -> None:
    with Graph("g", inputs=[TensorType("f32", ("M", 64))]) as graph:
        graph.output(ops.mean(ops.sum(graph.inputs[0], axis=1)))
    together = compile_graph(graph, CompileOptions(opt_level=1))
    edge = frozenset({("reduce_sum_0", "reduce_mean_0")})
    apart = compile_graph(graph, CompileOptions(opt_level=1, force_cut=edge))
    assert [decision.rule for decision in together.fusion.ledger] == ["sequence"]
    assert len(together.fusion.calls) == 1 and len(apart.fusion.calls) == 2
    x = elements(("M", 64), "f32")
    np.testing.assert_array_equal(together.execute(x)[0], apart.execute(x)[0])


def test_the_ledger_says_what_a_row_kernel_keeps() -> None:
    with Graph("g", inputs=[TensorType("f32", ("M", 64))]) as graph:
        graph.output(softmax(graph.inputs[0], (1,)))
    ledger = compile_graph(graph, CompileOptions(recognise=False)).fusion.ledger
    assert {decision.rule for decision in ledger if decision.accepted} == {"row", "view"}


def test_few_long_rows_are_left_to_all_threads() -> None:
    """A sum of a million elements is taken by every thread, which one kernel for rows could not do."""
    with Graph("g", inputs=[TensorType("f32", (1000, 1000))]) as graph:
        x = graph.inputs[0]
        graph.output(x / ops.sum(x))
    assert len(compile_graph(graph, CompileOptions()).fusion.calls) == 2


def test_rows_of_one_number_throughout_are_reduced():
    with Graph("g", inputs=[TensorType("f32", (4, 33, 16))]) as graph:
        half = ops.full((4, 33, 16), 0.5, "f32")
        centred = half - ops.mean(half, axis=0, keepdims=True)
        graph.output(ops.mean(centred * centred, axis=0), graph.inputs[0] + centred)
    x = np.ones((4, 33, 16), np.float32)
    for fuse in (True, False):
        variance, moved = compile_graph(graph, CompileOptions(fuse=fuse)).execute(x)
        np.testing.assert_array_equal(variance, np.zeros((33, 16), np.float32))
        np.testing.assert_array_equal(moved, x)


def test_what_a_row_kernel_sees_in_another_shape_is_stored_for_others():
    with Graph("g", inputs=[TensorType("f32", (5, "M", 3, 17))]) as graph:
        squares = ops.square(ops.abs(graph.inputs[0]) + 0.5)
        seen = ops.reshape(squares, (5, "M", 1, 3, 17))
        centred = seen - ops.mean(seen, axis=1, keepdims=True)
        graph.output(ops.mean(centred * centred, axis=1), ops.cumsum(squares, axis=3))
    x = np.random.default_rng(0).standard_normal((5, 6, 3, 17)).astype(np.float32)
    for fuse in (True, False):
        model = compile_graph(graph, CompileOptions(fuse=fuse))
        for got, true in zip(model.execute(x), reference(graph, x), strict=True):
            np.testing.assert_allclose(got, true, rtol=1e-5, atol=1e-6)


def test_what_is_loaded_under_a_view_and_without_is_stored_too():
    with Graph("g", inputs=[TensorType("f32", (5,)), TensorType("i64", ())]) as graph:
        chosen = ops.gather(*graph.inputs, axis=0)
        more, same = ops.reshape(ops.relu(chosen) + 1.0, (1,)), ops.reshape(chosen, (1,))
        graph.output(same, ops.sum(ops.log_softmax(ops.maximum(more, same), axis=-1) / 2.0, axis=0))
    arrays = np.arange(5, dtype=np.float32) - 2, np.array(3)
    (call,) = (model := compile_graph(graph, CompileOptions())).fusion.calls
    assert "gather" in call.kernel.name
    for got, true in zip(model.execute(*arrays), reference(graph, *arrays), strict=True):
        np.testing.assert_allclose(got, true)
