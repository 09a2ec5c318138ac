"""A kernel's text knows its graph nodes at every stage, also where library functions do the work."""

from __future__ import annotations

import pytest

from compiler import Graph, TensorType, compile, ops


@pytest.fixture(scope="module")
def kernel():
    with Graph("g", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 48))]) as graph:
        graph.output(ops.relu(graph.inputs[0] @ graph.inputs[1]))
    (found,) = compile(graph, debug="line-tables", cache=False, jobs=1).kernels
    return found


@pytest.mark.parametrize("stage", ["kgen", "kernel", "llvm", "llvm-opt", "asm"])
def test_most_lines_of_a_product_know_their_node(kernel, stage):
    shown = kernel.stage(stage)
    code = [nodes for text, nodes in zip(shown.text.splitlines(), shown.nodes, strict=False) if _is_code(text)]
    known = sum(bool(nodes) for nodes in code) / len(code)
    assert known > 0.6, f"{known:.0%} of {len(code)} lines"


def _is_code(text: str) -> bool:
    """Whether a line says what to compute: no metadata, directive, comment, brace or label."""
    words = text.strip()
    return bool(words) and not words.startswith(("!", ".", ";", "}", "attributes", "declare", "target", "//", "#"))
