"""What fusion promises: how many kernels well-known graphs become."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops, reference  # noqa: A004


def test_matmul_bias_relu_is_one_kernel() -> None:
    with Graph("mlp", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 48)), TensorType("f32", (48,))]) as g:
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
