"""What measuring and remembering cost, each figure a ratio or a bound taken in this run.

    python benchmarks/measuring.py [--json]

The timer against a C loop that calls the same kernel (where gcc is installed), the cost of measuring a launch of an all
but empty kernel, storing the trace of a compilation against compiling, and questions to a store of 2,000 runs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "profiler"))

C_LOOP = """
#include <stdint.h>
#include <time.h>
typedef void (*kernel)(int64_t, int64_t, void *, void *, void *);
int64_t run(kernel k, int64_t count, void *out, void *in) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int64_t i = 0; i < count; i++) k(0, 1, 0, out, in);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}
"""


def known_cost(rounds: int) -> tuple[Any, list[np.ndarray]]:
    """A kernel of `rounds` dependent multiply-adds, and its inputs."""
    from compiler import compile, load_library
    from profiler.measure.ceilings.cpu_probes import LIBRARY, multiply_rounds

    graph, array = multiply_rounds("f32", rounds, 1, 1)
    return compile(graph, library=load_library(LIBRARY)), [array]


def timer() -> dict[str, float]:
    """Our time of a known kernel over a C loop's, in turns; lower quartiles, as the machine may be busy."""
    from profiler.measure.cpu.native import BoundProgram

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "loop.c").write_text(C_LOOP)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "loop.c", "-o", "loop.so"], cwd=folder, check=True)
        loop = ctypes.CDLL(str(Path(folder, "loop.so"))).run
    loop.restype = ctypes.c_int64
    model, arrays = known_cost(20_000)
    bound = BoundProgram(model.program, [arrays], 1)
    kernel = ctypes.c_void_p(bound.kernel_address(model.kernels[0].name))
    out = np.zeros(64, np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (out, arrays[0])]
    ours, theirs = [], []
    for _ in range(40):
        trace = bound.new_trace(20)
        bound.measure(20, 0, trace)
        ours += (trace[:, 0, 0, 1] - trace[:, 0, 0, 0]).tolist()
        theirs.append(loop(kernel, ctypes.c_int64(20), *pointers) / 20)
    one, two = (float(np.quantile(times, 0.25)) for times in (ours, theirs))
    return {"ours_us": one / 1e3, "c_loop_us": two / 1e3, "ratio": one / two}


def overhead() -> dict[str, float]:
    """Nanoseconds of a measured call of an all but empty kernel: loop, clock, dispatch, trace and kernel.

    `watched` also notes which call and kernel it is in and what time it lost, as a run in a child process does.
    """
    from profiler.measure.cpu.native import BoundProgram, Watch

    model, arrays = known_cost(1)
    bound = BoundProgram(model.program, [arrays], 1)
    words = np.zeros(32, np.int64)
    watched = BoundProgram(model.program, [arrays], 1, Watch(words.ctypes.data, words[8:].ctypes.data))
    costs: dict[str, list[float]] = {"ns_per_launch": [], "watched": []}
    for _ in range(9):
        trace = bound.new_trace(10_000)
        start = time.thread_time_ns()  # its own time: others may be running
        bound.measure(10_000, 0, trace)
        middle = time.thread_time_ns()
        watched.measure_watched(10_000, 0, 500, trace)
        costs["ns_per_launch"].append((middle - start) / 10_000)
        costs["watched"].append((time.thread_time_ns() - middle) / 10_000)
    return {name: statistics.median(found) for name, found in costs.items()} | {"worst": max(costs["watched"])}


def storing() -> dict[str, float]:
    """Processor time to store a transformer block's trace, over that of compiling it."""
    from app.sources import load_source
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph
    from profiler.recording import record_compilation
    from profiler.store import open_store

    graph = load_source("sample:transformer-block").graph
    shares = []
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "t.db")) as store:
        for _ in range(5):
            start = time.process_time()
            model = compile_graph(graph, CompileOptions(cache=False))
            compiling = time.process_time() - start
            assert model.stats
            start = time.process_time()
            record_compilation(store, model, "sample:transformer-block", compiling)
            shares.append((time.process_time() - start) / compiling)
    return {"share_of_compiling": statistics.median(shares), "worst": max(shares)}


def questions() -> dict[str, float]:
    """Milliseconds for what the tool asks, on a store of 2,000 runs (tests/profiler does it with 10,000)."""
    import records_for_tests as made

    from profiler.analysis.compare import compare_runs
    from profiler.store import open_store, queries, writer

    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "t.db")) as store:
        number = writer.add_compilation(store, made.compilation(), made.MACHINE)
        with store.transaction():
            for i in range(2000):
                run = writer.begin_run(store, made.request(f"s{i % 20}"), made.MACHINE)
                times = tuple(1000 + (i * 7 + k * 13) % 50 for k in range(60))
                writer.finish_run(store, run, made.result(times, blocks=(6,) * 10), number)
        asked: dict[str, Callable[[], Any]] = {
            "list": lambda: queries.list_runs(store),
            "filter": lambda: queries.list_runs(store, queries.RunFilter(source="s3")),
            "compare": lambda: compare_runs(store, [100, 1900]),
        }
        return {name: _milliseconds(ask) for name, ask in asked.items()}


def _milliseconds(ask: Callable[[], Any]) -> float:
    times = []
    for _ in range(7):
        start = time.perf_counter()
        ask()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    if shutil.which("gcc"):
        found["timer against a C loop"] = timer()
    found["measuring a launch"] = overhead()
    found["storing a trace"] = storing()
    found["questions, ms"] = questions()
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, figures in found.items():
        print(f"{name:24} " + ", ".join(f"{what} {value:.4g}" for what, value in figures.items()))
    if "timer against a C loop" not in found:
        print("timer against a C loop   left out: gcc is not installed")


if __name__ == "__main__":
    main()
