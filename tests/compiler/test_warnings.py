"""What was asked of a compilation and could not be done is said, by a model from the cache as well."""

from __future__ import annotations

import pytest

from compiler import Graph, TensorType
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph


@pytest.fixture
def two_products() -> Graph:
    kinds = [TensorType("f32", ("M", 8)), TensorType("f32", (8, 8)), TensorType("f32", (8, 4))]
    with Graph("two_products", inputs=kinds) as graph:
        x, a, b = graph.inputs
        graph.output(x @ a @ b)
    return graph


def test_an_edge_that_cannot_be_fused_is_a_warning(two_products, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    options = CompileOptions(force_fuse=frozenset({("matmul_0", "matmul_1")}))
    said = ("matmul_0 -> matmul_1 is not fused as asked: both are kernels",)
    for found in ("compiled", "in the cache"):
        model = compile_graph(two_products, options)
        assert model.warnings == said, found
        assert model.stats["warnings"] == list(said)
    assert model.stats["cache"]["hits"] == len(model.kernels)


def test_a_compilation_as_asked_has_no_warnings(two_products):
    assert compile_graph(two_products, CompileOptions(cache=False)).warnings == ()
