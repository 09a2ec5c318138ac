"""What fusion does otherwise for a card than for a processor: kernels stay apart where that takes less time there."""

from __future__ import annotations

import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

CARDS = ("sm_90a", "gfx942")


def kernels(target, types, build):
    """The kernels of a graph and the reasons for the edges that were not fused."""
    with Graph("g", inputs=[TensorType("f32", shape) for shape in types]) as graph:
        made = build(*graph.inputs)
        graph.output(*(made if isinstance(made, tuple) else (made,)))
    model = compile_graph(graph, CompileOptions(target, cache=False))
    return model.kernels, [decision.reason for decision in model.ledger if not decision.accepted]


def _softmax(x):
    shifted = ops.exp(x - ops.max(x, axis=1, keepdims=True))
    return shifted / ops.sum(shifted, axis=1, keepdims=True)


@pytest.mark.parametrize("target", CARDS)
@pytest.mark.parametrize(
    "build", [lambda x: ops.softmax(ops.transpose(x)), lambda x: _softmax(ops.transpose(x) + 1.0) * ops.transpose(x)],
    ids=["softmax", "rows"],
)  # fmt: skip
def test_rows_that_lie_across_memory_are_copied_before_they_are_walked(target, build):
    found, reasons = kernels(target, [(512, 1024)], build)
    assert len(found) == 2
    assert any("524288 elements would be read from a cache line each" in reason for reason in reasons)
    assert len(kernels(target, [(128, 256)], build)[0]) == 1  # few enough


@pytest.mark.parametrize("target", CARDS)
def test_kernels_that_ask_how_their_operands_lie_read_them_where_they_are(target):
    for build in (lambda x, y: ops.transpose(x) @ y, lambda x, y: (ops.relu(ops.transpose(x)) * 2, y + 1)):
        found, _ = kernels(target, [(1024, 1024)] * 2, build)
        assert not any("transpose" in kernel.name and "relu" not in kernel.name for kernel in found)
    found, _ = kernels("sm_90a", [(1024, 1024)] * 2, lambda x, y: ops.transpose(x) + y)
    assert len(found) == 2  # in tiles goes only what lies alike


@pytest.mark.parametrize("target", CARDS)
@pytest.mark.parametrize(
    "build", [lambda x: (x + 1, ops.transpose(x + 1)), lambda x: (x @ x, ops.transpose(x @ x) * 2)],
    ids=["sum", "product"],
)  # fmt: skip
def test_nothing_large_is_stored_across_memory(target, build):
    found, _ = kernels(target, [(1024, 1024)], build)
    assert len(found) == 2
    assert not any(".permute(" in kernel.source for kernel in found)


@pytest.mark.parametrize("target", CARDS)
@pytest.mark.parametrize(
    "shape, axis, together",
    [((4096, 64), 0, False), ((1024, 64), 0, True), ((4096, 1024), 0, True), ((48, 131072), 1, False),
     ((48, 32768), 1, True), ((128, 131072), 1, True)],
    ids=str,
)  # fmt: skip
def test_rows_are_walked_again_where_a_card_has_enough_of_them(target, shape, axis, together):
    found, _ = kernels(target, [shape], lambda x: ops.exp(x - ops.max(x, axis=axis, keepdims=True)))
    assert len(found) == (1 if together else 2)
