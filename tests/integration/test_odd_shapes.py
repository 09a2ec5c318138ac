"""Shapes that are rare in models and common in random graphs: single elements of many axes, axes without elements."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, ops, reference
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph


def check(types, build, **options) -> None:
    """A graph gives the reference's values, fused and not."""
    with Graph("g", inputs=[TensorType(*kind) for kind in types]) as graph:
        graph.output(build(*graph.inputs))
    random = np.random.default_rng(0)
    arrays = [random.standard_normal([4 if isinstance(s, str) else s for s in shape]).astype(np.float32)
              for _, shape in types]  # fmt: skip
    for fuse in (True, False):
        model = compile_graph(graph, CompileOptions(cache=False, opt_level=1, fuse=fuse, **options))
        for found, expected in zip(model.execute(*arrays), reference(graph, *arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_one_element_of_more_axes_than_the_kernels_result_has(rank):
    gamma = ("f32", (1,) * rank)
    x = ("f32", (2, 3, 5))
    check([x, gamma], lambda x, g: ops.softmax(x).reshape((1, 30)) * g)
    check([x, gamma], lambda x, g: ops.sum(x, axis=1, keepdims=True).reshape((10,)) * g)
    check([("f32", ("M", 8)), ("f32", (5, 8)), gamma], lambda x, w, g: ops.linear(x, w) * g)


@pytest.mark.parametrize("shape", [("Z", 0), (0, 0), (4, 0), (0, 4)])
def test_nothing_joined_seen_with_another_axis_and_padded(shape):
    sides = ((1, 2),) * 3
    check([("f32", shape)], lambda x: ops.pad(ops.concat([x, x], 0)[None], sides))
    check([("f32", shape)], lambda x: ops.pad(ops.concat([x, x], 1)[:, None], sides))


def test_grouped_attention_of_no_heads_gives_nothing():
    with Graph("g", inputs=[TensorType("f32", ("H", 5, 8))]) as graph:
        x = graph.inputs[0]
        both = ops.concat([x, x], axis=0)
        graph.output(ops.scaled_dot_product_attention(both, x, x, enable_gqa=True))
    nothing = np.zeros((0, 5, 8), np.float32)
    (found,) = compile_graph(graph, CompileOptions(cache=False)).execute(nothing)
    assert reference(graph, nothing)[0].shape == found.shape == (0, 5, 8)


@pytest.mark.parametrize("rows", [64, 1], ids=["empty", "repeated"])
def test_products_of_repeated_or_empty_rows_compile_for_cards(rows):
    """The copy engine of a card takes neither."""
    shapes = ((1, 64), (64, 64)) if rows == 1 else ((64, 0), (0, 64))
    with Graph("g", inputs=[TensorType("bf16", shape) for shape in shapes]) as graph:
        a, b = graph.inputs
        graph.output(ops.broadcast_to(a, (64, a.shape[1])) @ b)
    for fuse in (True, False):
        assert compile_graph(graph, CompileOptions("sm_90a", cache=False, fuse=fuse)).kernels
