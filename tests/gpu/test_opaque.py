"""Opaque values on a device: drawn from, changed in place, and kept there between calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import Graph, OpaqueBufferType, OpaqueType, TensorType, compile, dim, load_library, ops
from compiler.errors import ExecutionError
from compiler.graph.opaque import Opaque
from profiler import place

pytestmark = pytest.mark.gpu

LIBRARY = load_library(Path(__file__).parents[1] / "compiler" / "language" / "opaque_kernels")
RNG = OpaqueType("rng")


def drawing() -> Graph:
    with Graph("drawing", inputs=[RNG, TensorType("f32", (1000,))]) as graph:
        state, x = graph.inputs
        numbers, after = ops.custom("rng_uniform", [state], [x.type, RNG])
        graph.output(numbers + x, after)
    return graph


def pushing() -> Graph:
    kind = {"pages": dim("P"), "width": 96}
    with Graph("pushing", {"cache": OpaqueBufferType("paged_cache", **kind), "row": TensorType("f32", (96,))}) as graph:
        cache, row = graph.inputs
        ops.update("cache_push", cache, [row * 2])
        graph.output(ops.custom("cache_read", [ops.buffer_load(cache)], TensorType("f32", (4 * dim("P"), 96))))
    return graph


def seeded(seed: int) -> Opaque:
    state = LIBRARY.zeros(RNG)
    state["seed"][...] = seed
    return state


def test_a_device_draws_what_the_cpu_draws() -> None:
    cpu = compile(drawing(), library=LIBRARY)
    gpu = place(cpu, "cuda:0")
    x, one, two = np.zeros(1000, np.float32), seeded(3), seeded(3)
    for _ in range(3):
        (wanted, one), (got, two) = cpu.execute(one, x), gpu(two, x)
        np.testing.assert_array_equal(got, wanted)
        assert two.memory.tobytes() == one.memory.tobytes()


def test_a_state_stays_on_the_device() -> None:
    torch: Any = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device")
    cpu = compile(drawing(), library=LIBRARY)
    gpu, one, two = place(cpu, "cuda:0"), seeded(8), seeded(8)
    x = torch.zeros(1000, device="cuda")
    for _ in range(3):
        wanted, one = cpu.execute(one, np.zeros(1000, np.float32))
        got, two = gpu(two, x)
        assert torch.equal(got.cpu(), torch.from_numpy(wanted)) and two.memory.is_cuda
    with pytest.raises(ExecutionError, match="lies on a device"):
        two["drawn"]


def test_a_cache_is_changed_in_place() -> None:
    cpu = compile(pushing(), library=LIBRARY)
    gpu = place(cpu, "cuda:0")
    with Graph("new", inputs=[]) as graph:
        graph.output(ops.custom("cache_new", [], OpaqueType("paged_cache", pages=2, width=96)))
    (one,) = compile(graph, library=LIBRARY).execute()
    two = one.copy()
    for number in range(8):
        row = np.full(96, number, np.float32)
        np.testing.assert_array_equal(gpu(two, row)[0], cpu.execute(one, row)[0])
    assert two.memory.tobytes() == one.memory.tobytes() and bool(two["full"])
