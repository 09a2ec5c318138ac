"""What the inspector says of a launch: what the kernel asks of its device, and what it chose."""

from __future__ import annotations

from typing import Any

import pytest

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.inspection import inspect
from app.worker.extract import call_records, node_records
from compiler import Graph, TensorType, compile
from compiler.options import CompileOptions


def shown(shape: tuple[Any, int], columns: int, target: str, **dims: int) -> tuple[dict[str, str], dict[str, str]]:
    """The lines of the inspector about the only kernel of a product: of its node, and of all its nodes."""
    with Graph("product", inputs=[TensorType("bf16", shape), TensorType("bf16", (shape[1], columns))]) as graph:
        x, w = graph.inputs
        graph.output(x @ w + 1.0)
    model = compile(graph, target=target, cache=False)
    nodes, calls = node_records(model, dims), call_records(model, dims)
    made = Compilation("s", "", "product", CompileOptions(target), tuple(dims.items()), nodes, calls, (), (), ())
    (call,) = calls
    lines = []
    for chosen in (call.nodes[:1], call.nodes):
        _, sections = inspect(made, frozenset(chosen))
        lines.append({entry.name: entry.value for section in sections for entry in section.entries})
    return lines[0], lines[1]


def test_a_product_by_warpgroups_says_what_it_asks_for():
    for lines in shown((4095, 4099), 4097, "sm_90a"):
        assert lines["grid"] == (
            "at most 544 blocks of 384 threads, as many as run at once, which wait for each other, in clusters of 2"
        )
        assert lines["shared memory"].endswith("a block, by the launch")
        assert lines["tensor maps"] == "10, copied in boxes of 128\u00d764, 64\u00d764 and 64\u00d78"
        assert lines["chosen"] == "parts 1, columns 256, stages 4, cluster 2, band 32"


@pytest.mark.parametrize(
    ("dims", "words"),
    [
        ({"M": 300}, "at most 3 blocks of 384 threads, as many as run at once"),
        ({}, "at most ((M + 127) // 128) blocks"),
    ],
)
def test_grids_have_the_sizes_that_are_known(dims, words):
    assert shown(("M", 128), 128, "sm_90a", **dims)[0]["grid"].startswith(words)


def test_a_kernel_of_a_processor_says_what_it_chose():
    lines = shown((512, 512), 512, "cpu")[0]
    assert "grid" not in lines and "register tile" in lines["chosen"]


def test_a_kernel_says_which_launch_it_is_as_its_nodes_do():
    """Not `launches: 1` where the first is meant: that would read as how many."""
    of_node, of_kernel = shown((64, 64), 64, "cpu")
    assert of_node["launch"] == of_kernel["launch"] == "1 of 1"
