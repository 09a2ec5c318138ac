"""Hardware counters on the device: bytes that a launch of known traffic moves, and parts that it keeps busy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from profiler.counted import CountedLaunch
from profiler.measure.measuring import measure
from profiler.records import FINISHED, MeasureRequest
from tests.gpu.known_kernels import HEAD, conflicting

pytestmark = pytest.mark.gpu
ALONE = True

GIB = 1 << 30
KERNELS = f'''{HEAD}

@kernel("plain_copy")
def plain_copy(out: Tensor, x: Tensor):
    """Each element once, neighbours by neighbours."""
    launch(blocks=262144, threads=1024)
    at = block_index() * 1024 + thread_index()
    out[position((at,))] = x[position((at,))]
{conflicting("with_conflicts", reads=64)}'''


def counted(graph: Graph, arrays: list[np.ndarray], device: Any, libraries: tuple[str, ...] = ()) -> CountedLaunch:
    request = MeasureRequest(
        graph.name, device="cuda:0", options=CompileOptions(device.target, cache=False), libraries=libraries,
        budget=0.2, sample=True,
    )  # fmt: skip
    outcome = measure(request, graph, arrays)
    assert outcome.result.status == FINISHED, outcome.result.error
    assert outcome.result.sampling is not None
    assert not outcome.result.sampling.uncounted, outcome.result.sampling.uncounted
    (launch,) = outcome.result.sampling.counted
    return launch


def custom(name: str, size: int, out: int, device: Any, folder: Path) -> CountedLaunch:
    (folder / "known.py").write_text(KERNELS)
    with Graph(name, inputs=[TensorType("f32", (size,))]) as graph:
        graph.output(ops.custom(name, list(graph.inputs), TensorType("f32", (out,))))
    values = np.arange(size, dtype=np.uint32).view(np.float32)
    return counted(graph, [values], device, (str(folder),))


def test_a_copy_of_a_gibibyte_moves_two(device: Any, tmp_path: Path) -> None:
    launch = custom("plain_copy", GIB // 4, GIB // 4, device, tmp_path)
    assert launch.dram_bytes == pytest.approx(2 * GIB, rel=0.03)
    assert launch.dram_read == pytest.approx(GIB, rel=0.03)
    assert launch.bank_conflicts == 0
    assert launch.occupancy is not None and 0.3 < launch.occupancy <= 1.0
    assert launch.tensor == pytest.approx(0, abs=0.01)


def test_conflicts_are_counted_where_every_lane_reads_the_same_bank(device: Any, tmp_path: Path) -> None:
    launch = custom("with_conflicts", 8192, 264 * 256, device, tmp_path)
    loads = 264 * 8 * 64  # warps and their loads, each of which takes 32 turns in place of one
    assert launch.bank_conflicts is not None and launch.bank_conflicts > 20 * loads
    assert launch.l2_hits is not None and launch.l2_hits > 0.5


def test_a_product_on_the_tensor_cores_keeps_them_busy(device: Any) -> None:
    size = 4096
    with Graph("product", inputs=[TensorType("bf16", (size, size))] * 2) as graph:
        graph.output(ops.matmul(*graph.inputs))
    random = np.random.default_rng(0)
    import ml_dtypes

    arrays = [random.standard_normal((size, size)).astype(ml_dtypes.bfloat16) for _ in range(2)]
    launch = counted(graph, arrays, device)
    assert launch.tensor is not None and launch.tensor > 0.3
    assert launch.fma is not None and launch.fma < launch.tensor
