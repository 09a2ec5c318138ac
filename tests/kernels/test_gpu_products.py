"""How products on NVIDIA GPUs read their operands, as the code that is made for them shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compiler import Graph, TensorType, compile

COPIES = {"sm_80": "cp.async.cg.shared.global", "sm_90a": "cp.async.bulk.tensor"}


def code_of(target: str, left: tuple[int, ...], right: tuple[int, ...], view: Callable[[Any], Any]) -> str:
    with Graph("product", inputs=[TensorType("bf16", left), TensorType("bf16", right)]) as graph:
        x, w = graph.inputs
        graph.output(view(x) @ w)
    return compile(graph, target=target, cache=False).stage("asm").text


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize(
    ("columns", "view", "copied"),
    [
        (64, lambda x: x, True),
        (72, lambda x: x[..., 8:], True),
        (72, lambda x: x[..., 1:65], False),
        (65, lambda x: x[..., 1:], False),
    ],
    ids=["whole", "from-8", "from-1", "from-1-to-the-end"],
)
def test_16_bytes_are_copied_at_once_only_from_where_16_bytes_begin(batch, columns, view, copied):
    """The right operand is always copied so: with the left one there are more such copies."""
    wide = code_of("sm_80", (*batch, 128, columns), (*batch, 64, 128), view)
    alone = code_of("sm_80", (*batch, 128, 65), (*batch, 64, 128), lambda x: x[..., 1:])
    assert (wide.count(COPIES["sm_80"]) > alone.count(COPIES["sm_80"])) is copied


def test_matrices_whose_rows_begin_anywhere_are_copied_by_the_copy_engine_as_they_lie():
    """Without a workspace that they would be laid out in first, and without waiting for other blocks."""
    code = code_of("sm_90a", (300, 515), (515, 333), lambda x: x)
    assert COPIES["sm_90a"] in code and "ld.acquire.gpu" not in code
