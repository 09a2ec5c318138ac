"""Samples on the device: where warps wait, down to the planted line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from profiler.measure.measuring import measure
from profiler.records import FINISHED, MeasureRequest
from profiler.sampled import PLACES, Sampling
from tests.gpu.known_kernels import HEAD, conflicting

pytestmark = pytest.mark.gpu
ALONE = True

KERNELS = f'''{HEAD}{conflicting("planted_conflict", reads=4096)}

@kernel("planted_scatter")
def planted_scatter(out: Tensor, x: Tensor):
    """Lanes of a warp read words that are far apart in memory."""
    launch(blocks=264, threads=256)
    thread = block_index() * 256 + thread_index()
    total = f32(0)
    step = index(0)
    while step < 512:
        total = total + x[position(((thread * 4099 + step * 70001) % 16777216,))]
        step = step + 1
    out[position((thread,))] = total
'''
PLANTED = {"planted_conflict": "total = total + board", "planted_scatter": "total = total + x["}
SIZE = {"planted_conflict": 8192, "planted_scatter": 1 << 24}


def sampled(kernel: str, device: Any, folder: Path) -> Sampling:
    (folder / "planted.py").write_text(KERNELS)
    out = TensorType("f32", (264 * 256,))
    with Graph(kernel, inputs=[TensorType("f32", (SIZE[kernel],))]) as graph:
        graph.output(ops.custom(kernel, list(graph.inputs), out))
    request = MeasureRequest(
        kernel, device="cuda:0", options=CompileOptions(device.target, cache=False), libraries=(str(folder),),
        budget=0.3, sample=True,
    )  # fmt: skip
    outcome = measure(request, graph, [np.ones(SIZE[kernel], np.float32)])
    assert outcome.result.status == FINISHED, outcome.result.error
    assert outcome.result.sampling is not None
    return outcome.result.sampling


@pytest.mark.parametrize("kernel", list(PLANTED))
def test_more_than_half_of_the_stalls_are_on_the_planted_line(kernel: str, device: Any, tmp_path: Path) -> None:
    found = sampled(kernel, device, tmp_path)
    assert not found.note, found.note
    (one,) = found.kernels
    stage = one.stage(PLACES)
    assert stage is not None
    planted = sum(line.count for line in stage.lines if PLANTED[kernel] in line.text)
    assert planted > 0.5 * one.samples
    assert one.mapped >= 0.95 * one.samples
    sass = one.stage("sass")
    assert sass is not None and any(line.stalls for line in sass.lines)
