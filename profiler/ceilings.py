"""This machine's ceilings, measured with our own kernels: copy bandwidth by cache level, multiply-add peak by dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.backend.runtime import default_threads
from compiler.errors import ExecutionError
from compiler.graph.dtypes import numpy_dtype
from profiler.capture import graph_text
from profiler.launch.measure import measure
from profiler.machine import cache_sizes, this_machine
from profiler.records import FINISHED, RunRequest
from profiler.stats import summarise
from profiler.store import Store, queries, writer

LIBRARY = Path(__file__).parent / "ceiling_kernels"
DTYPES = ("f64", "f32", "f16")
CHAINS = 12
"""Enough to keep two multiply-add pipes of four or five cycles busy, and they fit in sixteen registers."""


@dataclass(frozen=True)
class Ceiling:
    """What this machine reaches: GB/s of a copy (read and written bytes together) or GFLOP/s, with its interval."""

    name: str
    threads: int
    value: float
    unit: str
    low: float
    high: float


def measured_ceilings(store: Store | None, *, threads: int | None = None, again: bool = False,
                      progress: Callable[[str], None] = lambda words: None) -> list[Ceiling]:  # fmt: skip
    """The ceilings for so many threads: from the store where this machine's are there, else measured and stored."""
    count = threads or default_threads()
    machine = this_machine()
    if store is not None and not again:
        found = stored_ceilings(store, machine.fingerprint, count)
        if found:
            return found
    made = list(_measure_all(count, progress))
    if store is not None:
        for item in made:
            writer.put_ceiling(store, machine, item.name, count, item.value, item.unit, item.low, item.high)
    return made


def stored_ceilings(store: Store, fingerprint: str, threads: int) -> list[Ceiling]:
    """What was measured on a machine with so many threads."""
    rows = queries.ceilings(store, fingerprint)
    return [
        Ceiling(row["name"], row["threads"], row["value"], row["unit"], row["low"], row["high"])
        for row in rows
        if row["threads"] == threads
    ]


def _measure_all(threads: int, progress: Callable[[str], None]) -> Iterator[Ceiling]:
    for name, count, rounds in copy_sizes(threads):
        progress(f"copy {name}")
        yield _copy(name, count, rounds, threads)
    for dtype in DTYPES:
        progress(f"multiply-add {dtype}")
        yield _multiply(dtype, threads)


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


def _copy(name: str, count: int, rounds: int, threads: int) -> Ceiling:
    kind = TensorType("f32", (count,))
    with Graph("copy", inputs=[kind]) as graph:
        graph.output(ops.custom("kg.copy_rounds", [graph.inputs[0]], kind, rounds=rounds))
    array = np.random.default_rng(0).random(count, dtype=np.float32)
    return _ceiling(f"copy {name}", graph, array, threads, 2 * count * 4 * rounds * 1e-9, "GB/s")


def _multiply(dtype: str, threads: int) -> Ceiling:
    from compiler.targets import get_target

    width = max(get_target("cpu").simd_bytes // numpy_dtype(dtype).itemsize, 1)
    rounds = 20_000
    kind, result = TensorType(dtype, ((2 + CHAINS) * width,)), TensorType(dtype, (threads * width,))
    with Graph("multiply", inputs=[kind]) as graph:
        graph.output(ops.custom("kg.multiply_rounds", [graph.inputs[0]], result, rounds=rounds, chains=CHAINS))
    array = np.full((2 + CHAINS) * width, 1 / 128, numpy_dtype(dtype))  # sums grow slowly: no overflow, no denormals
    work = 2.0 * threads * width * rounds * CHAINS * 1e-9
    return _ceiling(f"multiply-add {dtype}", graph, array, threads, work, "GFLOP/s")


def _ceiling(name: str, graph: Graph, array: np.ndarray, threads: int, work: float, unit: str) -> Ceiling:
    request = RunRequest(
        source=name, threads=threads, budget=0.5, rotate=False, libraries=(str(LIBRARY),), count=False, time_limit=60
    )
    outcome = measure(request, graph_text(graph), [array])
    result: Any = outcome.result
    if result.status != FINISHED:
        raise outcome.error or ExecutionError(f"{name} could not be measured: {result.error}")
    launch = result.launches[0]
    figures = summarise(launch.samples, result.blocks)
    # A ceiling is what can be reached: everything else that runs only ever makes it slower.
    best = figures.minimum
    if unit == "GFLOP/s":
        # Threads share nothing here, so each one's own time counts, also where they were never all running at once.
        best = min(best, threads / sum(1 / seconds for seconds in launch.thread_seconds))
    return Ceiling(name, threads, work / best, unit, work / figures.high, work / min(best, figures.low))
