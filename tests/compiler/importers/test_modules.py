"""Nodes know the modules that they were written in, by what exporters say; the paths are plain whatever a file says."""

from __future__ import annotations

import pytest

from compiler import Graph, TensorType, ops
from compiler.importers.modules import module_of_name, module_of_stack


def test_paths_by_names_and_by_stacks():
    assert module_of_name("/encoder/layer.0/attention/MatMul") == "encoder/layer.0/attention"
    assert module_of_name("MatMul_3") == module_of_name("") == ""
    assert module_of_stack(["encoder", "encoder.layer.0", "encoder.layer.0.attention"]) == "encoder/layer.0/attention"
    hostile = module_of_name("/a\x1b[31m\u202e/" + "x" * 5000 + "/" + "y/" * 5000 + "Op")
    assert hostile.isascii() and hostile.isprintable() and len(hostile) < 2500


def test_nodes_keep_their_module_when_they_are_named():
    with Graph("g", inputs=[TensorType("f32", (4,))]) as graph:
        first = ops.relu(graph.inputs[0])
        graph.module = "head/act"
        second = ops.exp(first).named("wave")
        graph.output(second)
    assert graph.modules == {"wave": "head/act"}


def test_onnx_nodes_have_the_modules_of_their_names(tmp_path):
    onnx = pytest.importorskip("onnx")
    from compiler import from_onnx

    make = onnx.helper.make_node
    nodes = [
        make("Relu", ["x"], ["a"], name="/block.0/act/Relu"), make("Exp", ["a"], ["b"], name="/block.1/Exp"),
        make("Neg", ["b"], ["y"], name="Neg_2"),
    ]  # fmt: skip
    shapes = [onnx.helper.make_tensor_value_info(name, 1, ["N", 4]) for name in "xy"]
    graph = from_onnx(onnx.helper.make_model(onnx.helper.make_graph(nodes, "net", shapes[:1], shapes[1:])))
    assert graph.modules == {"block.0.act.Relu": "block.0/act", "block.1.Exp": "block.1"}


def test_pytorch_calls_have_the_modules_around_them():
    torch = pytest.importorskip("torch")
    from compiler import from_torch

    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 2)))
    graph = from_torch(module, (torch.randn(3, 4),))
    assert {"0", "1/0", "1/1"} <= set(graph.modules.values())
