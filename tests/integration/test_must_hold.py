"""What fusion promises: how many kernels well-known graphs become."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops, reference
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph


def test_matmul_bias_relu_is_one_kernel() -> None:
    types = [TensorType("f32", ("M", 64)), TensorType("f32", (64, 48)), TensorType("f32", (48,))]
    with Graph("mlp", inputs=types) as g:
        x, w, b = g.inputs
        g.output(ops.relu(x @ w + b))
    assert len(compile(g).kernels) == 1


def test_twenty_elementwise_ops_are_one_kernel() -> None:
    with Graph("chain", inputs=[TensorType("f32", ("M", 33))]) as g:
        value = g.inputs[0]
        for step in range(20):
            value = ops.tanh(value) if step % 3 == 0 else value * 1.5 if step % 3 == 1 else value + 0.25
        g.output(value)
    model = compile(g)
    assert len(model.kernels) == 1
    x = np.random.default_rng(0).standard_normal((7, 33)).astype(np.float32)
    np.testing.assert_allclose(model.execute(x)[0], reference(g, x)[0], rtol=1e-5, atol=1e-6)


def test_transposed_operand_is_not_copied() -> None:
    with Graph("t", inputs=[TensorType("f32", (64, "M")), TensorType("f32", (64, 48))]) as g:
        x, w = g.inputs
        g.output(x.transpose() @ w)
    model = compile(g)
    assert len(model.kernels) == 1
    assert model.plan(M=10).peak == 0


def test_layer_norm_and_gelu_are_one_kernel() -> None:
    with Graph("ln", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64,)), TensorType("f32", (64,))]) as g:
        x, w, b = g.inputs
        g.output(ops.gelu(ops.layer_norm(x, w, b, 1e-5)))
    assert len(compile(g).kernels) == 1


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_with_elementwise_work_around_it_is_one_kernel(name: str) -> None:
    with Graph("s", inputs=[TensorType("f32", ("M", 64))]) as g:
        g.output(getattr(ops, name)(ops.exp(g.inputs[0] * 0.5), axis=-1) * 2.0)
    assert len(compile(g).kernels) == 1


def test_reduction_with_elementwise_work_around_it_is_one_kernel() -> None:
    with Graph("r", inputs=[TensorType("f32", ("M", 64))]) as g:
        g.output(ops.sqrt(ops.sum(g.inputs[0] * g.inputs[0], axis=1)))
    assert len(compile(g).kernels) == 1


def test_transformer_block_is_at_most_nine_kernels() -> None:
    from app.sources import load_source

    assert len(compile(load_source("sample:transformer-block").graph).kernels) <= 9


def test_constants_too_large_to_inline_are_data_of_the_model() -> None:
    table = np.random.default_rng(0).standard_normal((64, 48)).astype(np.float32)
    with Graph("c", inputs=[TensorType("f32", ("M", 64))]) as g:
        g.output(g.inputs[0] @ ops.constant(table))
    x = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)
    np.testing.assert_allclose(compile(g).execute(x)[0], x @ table, rtol=1e-4, atol=1e-4)


def test_generated_source_compiles_back_to_the_same_values() -> None:
    from app.sources import load_source
    from compiler.graph.dims import evaluate
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    source = load_source("sample:layernorm-gelu")
    model = compile(source.graph)
    again = compile_graph(source.graph, CompileOptions(sources=tuple((k.name, k.source) for k in model.kernels)))
    random = np.random.default_rng(0)
    shapes = [[evaluate(size, source.dims) for size in t.shape] for t in source.graph.input_types]
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    for one, two in zip(model.execute(*arrays), again.execute(*arrays), strict=True):
        np.testing.assert_array_equal(one, two)


def test_an_edited_kernel_takes_the_place_of_the_generated_one() -> None:
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    with Graph("e", inputs=[TensorType("f32", ("M",))]) as g:
        g.output(g.inputs[0] * 2.0)
    model = compile(g)
    (kernel,) = model.kernels
    edited = kernel.source.replace("f32(2.0)", "f32(3.0)")
    assert edited != kernel.source
    changed = compile_graph(g, CompileOptions(sources=((kernel.name, edited),)))
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(changed.execute(x)[0], x * 3)


def test_a_concatenation_of_nothing_is_padded():
    with Graph("g", inputs=[TensorType("i8", (0, "Z"))]) as graph:
        x = graph.inputs[0]
        graph.output(ops.pad(ops.concat([x, x], 0), ((2, 1), (0, 3))))
    for options in (CompileOptions(cache=False), CompileOptions(cache=False, opt_level=0, fuse=False)):
        (found,) = compile_graph(graph, options).execute(np.zeros((0, 4), np.int8))
        np.testing.assert_array_equal(found, np.zeros((3, 7), np.int8))
