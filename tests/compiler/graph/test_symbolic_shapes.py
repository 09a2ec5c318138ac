"""Shape rules over symbolic sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType

ONES = np.ones((8, 3, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("shape", "build", "wanted"),
    [
        (("M", 8), lambda x: x.reshape(-1, 4), "(2*M, 4)"),
        (("M", 8), lambda x: x.reshape("M", 2, 4), "(M, 2, 4)"),
        (("B", "S", 64), lambda x: x.reshape("B", "S", 8, 8).transpose(0, 2, 1, 3), "(B, 8, S, 8)"),
        (("M", 8), lambda x: ops.concat([x, x, ops.zeros((1, 8), "f32")]), "(2*M + 1, 8)"),
        (("M", "N"), lambda x: x.sum(0), "(N,)"),
        (("M", "N"), lambda x: x.T, "(N, M)"),
        (("M", "N"), lambda x: x @ x.T, "(M, M)"),
        (("M",), lambda x: ops.pad(x, ((1, 2),)), "(M + 3,)"),
        (("M",), lambda x: ops.tile(x, 3), "(3*M,)"),
        (("M", 4), lambda x: x[-1], "(4,)"),
        (("M", 4), lambda x: ops.flatten(x), "(4*M,)"),
        (("4*M", 4), lambda x: ops.split(x, 4)[3], "(M, 4)"),
        (("N", 3, "H", "W"), lambda x: ops.conv2d(x, ONES, stride=2), "(N, 8, ((H - 3) // 2) + 1, ((W - 3) // 2) + 1)"),
        (("N", 3, "H", "W"), lambda x: ops.conv2d(x, ONES, padding=1), "(N, 8, H, W)"),
        (("N", 3, "2*H", "2*W"), lambda x: ops.max_pool2d(x, 2), "(N, 3, H, W)"),
        (("B", 8, "S", 64), lambda x: ops.scaled_dot_product_attention(x, x, x), "(B, 8, S, 64)"),
        (("B", "S", 64), lambda x: ops.rms_norm(x), "(B, S, 64)"),
        (("M", 4), lambda x: ops.gather(x, ops.arange("M"), axis=1), "(M, M)"),
        (("M", 4), lambda x: ops.stack(list(x.T)), "(4, M)"),
    ],
)  # fmt: skip
def test_result_shape(shape: tuple[Any, ...], build: Any, wanted: str) -> None:
    with Graph("g", [TensorType("f32", shape)]) as g:
        result = build(g.inputs[0])
        g.output(result)
    assert str(result.shape) == wanted
    g.verify()
