"""Kernels on this machine's CPU beside torch, torch.compile and JAX (those that are installed), in one run, in turns.

    python benchmarks/cpu.py [--only TEXT] [--samples N] [--threads N] [--json]

Every workload goes through `model.execute`, so that the cost of a call is in it, on fresh random inputs, and is
compared with NumPy in double precision first. A row says our time, each peer's, ours over the best peer's, and what
share of the machine's measured ceiling that is (multiply-adds for what multiplies, memory for the rest). The last line
is the geometric mean. A sample is as many calls as take some milliseconds; the figure is the median of the samples,
which are taken in many rounds: a virtual machine loses a processor for a tenth of a second now and then, which is all
of a turn. How much of its time the host gave to others stands at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from _cpu_workloads import WORKLOADS, Workload  # noqa: E402

SAMPLE_SECONDS = 4e-3
SETTLE_SECONDS = 0.25  # OpenMP's threads wait busily for 0.2 s after a parallel region
ROUNDS = 9


def inputs_of(workload: Workload, rng: np.random.Generator) -> list[np.ndarray]:
    """Fresh values: row numbers where the workload takes those, else normal ones, weights scaled as in a network."""
    made: list[np.ndarray] = []
    for number, shape in enumerate(workload.inputs):
        if number in workload.indices:
            made.append(rng.integers(0, 1000, shape, np.int64))
            continue
        scale = shape[-2] ** -0.5 if number and len(shape) == 2 else 1.0
        made.append((rng.standard_normal(shape) * scale).astype(np.float32))
    return made


def ours(workload: Workload, arrays: list[np.ndarray]) -> Any:
    """The compiled model."""
    from compiler import Graph, TensorType, compile, ops

    dtypes = ["i64" if array.dtype == np.int64 else "f32" for array in arrays]
    types = [TensorType(dtype, array.shape) for dtype, array in zip(dtypes, arrays, strict=True)]
    graph = Graph("workload", inputs=types)
    with graph:
        graph.output(workload.ours(ops, *graph.inputs))
    return compile(graph)


def peers(workload: Workload, arrays: list[np.ndarray], threads: int) -> dict[str, Callable[[], Any]]:
    """A call of each installed framework, warmed up; each gives something that NumPy reads."""
    found: dict[str, Callable[[], Any]] = {}
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None:
        torch.set_num_threads(threads)
        torch.compiler.reset()  # or it gives up on specialising after a few workloads
        tensors = [torch.from_numpy(array) for array in arrays]
        found["torch"] = lambda: workload.torch(torch, *tensors)
        try:
            compiled = torch.compile(lambda *given: workload.torch(torch, *given), dynamic=False)
            compiled(*tensors)
            found["torch.compile"] = lambda: compiled(*tensors)
        except Exception as problem:  # no C++ compiler, or one it cannot use: the row then goes without it
            print(f"  torch.compile: {str(problem).splitlines()[0]}", file=sys.stderr)
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return found
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        placed = [jax.device_put(array, cpu) for array in arrays]
        jitted = jax.jit(lambda *given: workload.jax(jax, jnp, *given))
        jitted(*placed).block_until_ready()
    found["jax"] = lambda: jitted(*placed).block_until_ready()
    return found


def exact(workload: Workload, arrays: list[np.ndarray]) -> np.ndarray:
    """The result in double precision, by the NumPy reference of the graph."""
    from compiler import Graph, TensorType, ops, reference

    wide = [array.astype(np.float64) if array.dtype == np.float32 else array for array in arrays]
    types = [TensorType("f64" if a.dtype == np.float64 else "i64", a.shape) for a in wide]
    graph = Graph("workload", inputs=types)
    with graph:
        graph.output(workload.ours(ops, *graph.inputs))
    return reference(graph, *wide)[0]


def in_turns(ways: dict[str, Callable[[], Any]], samples: int) -> dict[str, float]:
    """The median seconds of a call of each way. Threads of the one before may still spin: they get time to stop."""
    counts: dict[str, int] = {}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            time.sleep(SETTLE_SECONDS)
            for _ in range(3):
                call()
            if name not in counts:
                start = time.perf_counter()
                call()
                counts[name] = max(1, math.ceil(SAMPLE_SECONDS / max(time.perf_counter() - start, 1e-7)))
            for _ in range(math.ceil(samples / ROUNDS)):
                start = time.perf_counter()
                for _ in range(counts[name]):
                    call()
                times[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(found) for name, found in times.items()}


def measure(workload: Workload, rng: np.random.Generator, samples: int, threads: int) -> dict[str, Any]:
    """One row, correctness first."""
    arrays = inputs_of(workload, rng)
    model = ours(workload, arrays)
    expected = exact(workload, arrays)
    (result,) = model.execute(*arrays)
    error = float(np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30))
    row: dict[str, Any] = {"workload": workload.name, "error": error, "right": error <= workload.relative}
    times = in_turns({"ours": lambda: model.execute(*arrays), **peers(workload, arrays, threads)}, samples)
    row["seconds"] = times
    best = min((seconds for name, seconds in times.items() if name != "ours"), default=None)
    row["ratio"] = None if best is None else times["ours"] / best
    row["gflops"] = workload.floats / times["ours"] / 1e9 if workload.floats else None
    moved = sum(array.nbytes for array in arrays) + result.nbytes
    row["gbytes"] = None if workload.floats else moved / times["ours"] / 1e9
    return row


def share_text(row: dict[str, Any], ceilings: dict[str, float]) -> str:
    """What part of the measured ceiling our time is."""
    if row["gflops"] is not None:
        return f"{row['gflops']:8.1f} GFLOP/s {row['gflops'] / ceilings['gflops']:5.0%}"
    return f"{row['gbytes']:8.1f} GB/s    {row['gbytes'] / ceilings['gbytes']:5.0%}"


def start_compilers() -> None:
    """Have torch.compile start its processes, one a processor, and wait: else they start while the first rows run."""
    try:
        import torch
    except ImportError:
        return
    import psutil

    with contextlib.suppress(Exception):  # where it cannot compile, each row says so
        torch.compile(lambda x: x + 1)(torch.zeros(64))
    before, quiet = -1.0, 0
    for _ in range(60):
        with contextlib.suppress(psutil.Error):
            used = sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children(recursive=True))
            quiet, before = (quiet + 1 if used - before < 0.05 else 0), used
        if quiet >= 3:
            return
        time.sleep(0.5)


def machine_ceilings(threads: int) -> dict[str, float]:
    """Multiply-adds and memory, as measured on this machine."""
    from profiler.measure.ceilings.measured import measured_ceilings
    from profiler.records import COPY, MULTIPLY

    found = {ceiling.name: ceiling.value for ceiling in measured_ceilings(None, threads=threads)}
    return {"gflops": found[f"{MULTIPLY}f32"], "gbytes": found[f"{COPY}memory"]}


def processor_seconds() -> tuple[float, float]:
    """(how long the processors have been wanted, how much of that the host gave to others) since the machine began."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0, 0.0
    user, nice, system, _idle, _disk, hard, soft, stolen = (int(word) / 100 for word in words[1:9])
    return user + nice + system + hard + soft + stolen, stolen


def main() -> int:
    """Print the table; status 1 where a result is wrong."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--only", default="")
    options.add_argument("--samples", type=int, default=18)
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--json", action="store_true")
    asked = options.parse_args()
    rng = np.random.default_rng()
    ceilings = machine_ceilings(asked.threads)
    start_compilers()
    rows: list[dict[str, Any]] = []
    before = processor_seconds()
    for workload in WORKLOADS:
        if asked.only not in workload.name:
            continue
        row = measure(workload, rng, asked.samples, asked.threads)
        rows.append(row)
        if not asked.json:
            times = "  ".join(f"{name} {seconds * 1e6:9.1f} us" for name, seconds in row["seconds"].items())
            ratio = "   -" if row["ratio"] is None else f"{row['ratio']:5.2f}"
            wrong = "" if row["right"] else f"  WRONG by {row['error']:.1e}"
            print(f"{workload.name:28} {ratio}  {share_text(row, ceilings)}  {times}{wrong}", flush=True)
    known = [row["ratio"] for row in rows if row["ratio"]]
    mean = math.exp(statistics.fmean(map(math.log, known))) if known else None
    wanted, stolen = (after - start for after, start in zip(processor_seconds(), before, strict=True))
    stolen /= max(wanted, 1e-9)
    if asked.json:
        print(json.dumps({"rows": rows, "ceilings": ceilings, "geometric_mean": mean, "stolen": stolen}))
    elif mean is not None:
        print(f"geometric mean of {len(known)}: {mean:.2f}; load {os.getloadavg()[0]:.1f}; taken away {stolen:.1%}")
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
