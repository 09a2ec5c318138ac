"""What is run to find this machine's ceilings: a graph with one kernel that does nothing but what is to be measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import numpy_dtype
from profiler.measure.machine import cache_sizes
from profiler.records import COPY, GBYTES, GFLOPS, MULTIPLY

LIBRARY = Path(__file__).parent / "kernels"
DTYPES = ("f64", "f32", "f16")
CHAINS = 12
"""Enough to keep two multiply-add pipes of four or five cycles busy, and they fit in sixteen registers."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A graph to run on some arrays; its launch of `kernel` does `work` (GB or GFLOP)."""

    name: str
    kernel: str
    graph: Graph
    arrays: tuple[np.ndarray, ...]
    work: float
    unit: str


def cpu_probes(threads: int) -> list[Probe]:
    """A copy for each level of memory, multiply-adds for each dtype."""
    copies = [_copy(name, count, rounds) for name, count, rounds in copy_sizes(threads)]
    return copies + [_multiply(dtype, threads) for dtype in DTYPES]


def copy_sizes(threads: int) -> list[tuple[str, int, int]]:
    """(level, f32 elements of each buffer, rounds): both buffers fill half of the level, a thread's own or shared."""
    caches = cache_sizes()
    levels = sorted(caches.items())
    found = []
    for position, (name, size) in enumerate(levels):
        shared = position == len(levels) - 1 and len(levels) > 2
        whole = size // 2 if shared else size // 2 * threads
        found.append((name, whole // 2 // 4 // 1024 * 1024, max(round(3e7 / whole), 1)))
    beyond = max(4 * max(caches.values()), 64 << 20)
    found.append(("memory", beyond // 2 // 4, 1))
    return found


def _copy(name: str, count: int, rounds: int) -> Probe:
    kind = TensorType("f32", (count,))
    with Graph("copy", inputs=[kind]) as graph:
        graph.output(ops.custom("kg.copy_rounds", [graph.inputs[0]], kind, rounds=rounds))
    array = np.random.default_rng(0).random(count, dtype=np.float32)
    return Probe(f"{COPY}{name}", "copy_rounds", graph, (array,), 2 * count * 4 * rounds * 1e-9, GBYTES)


def multiply_rounds(dtype: str, rounds: int, chains: int, threads: int) -> tuple[Graph, np.ndarray]:
    """A graph in which each thread has `chains` chains of so many dependent multiply-adds, and its input."""
    width = _width(dtype)
    kind, result = TensorType(dtype, ((2 + chains) * width,)), TensorType(dtype, (threads * width,))
    with Graph("multiply", inputs=[kind]) as graph:
        graph.output(ops.custom("kg.multiply_rounds", [graph.inputs[0]], result, rounds=rounds, chains=chains))
    return graph, np.full((2 + chains) * width, 1 / 128, numpy_dtype(dtype))  # sums grow slowly: nothing overflows


def _width(dtype: str) -> int:
    from compiler.targets import get_target

    return max(get_target("cpu").simd_bytes // numpy_dtype(dtype).itemsize, 1)


def _multiply(dtype: str, threads: int) -> Probe:
    rounds = 20_000
    graph, array = multiply_rounds(dtype, rounds, CHAINS, threads)
    work = 2.0 * threads * _width(dtype) * rounds * CHAINS * 1e-9
    return Probe(f"{MULTIPLY}{dtype}", "multiply_rounds", graph, (array,), work, GFLOPS)
