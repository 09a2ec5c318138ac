"""Per-kernel against all-kernel, and what the compilation of many kernels must hold to; every ratio within one run.

.venv/bin/python benchmarks/flows.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from _byte_code import keep_byte_code  # noqa: E402

MANY, DEEP = "sample:many-kernels:64", "sample:llama-32"
FLOWS = ("per-kernel", "all-kernel")


def compile_cpu(graph: Any, **options: Any) -> tuple[float, Any]:
    """Processor seconds of one compilation in this process, without caches or workers, and the model."""
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    start = time.process_time()
    model = compile_graph(graph, CompileOptions(**{"cache": False, "jobs": 1, **options}))
    return time.process_time() - start, model


def graph_of(source: str) -> Any:
    from app.sources import load_source

    return load_source(source).graph


def spread(values: list[float]) -> list[float]:
    return [min(values), max(values)]


def single_kernel(repeat: int) -> dict[str, Any]:
    """One kernel in both flows, alternating: neither may be slower."""
    found = {}
    for source in ("sample:many-kernels:1", "sample:softmax"):
        graph = graph_of(source)
        taken: dict[str, list[float]] = {flow: [] for flow in FLOWS}
        for turn in range(repeat + 1):
            for flow in FLOWS:
                seconds, _ = compile_cpu(graph, flow=flow)
                if turn:
                    taken[flow].append(seconds)
        medians = {flow: statistics.median(values) for flow, values in taken.items()}
        found[source] = {"per_over_all": medians["per-kernel"] / medians["all-kernel"], **medians}
    return found


def processes(source: str, repeat: int) -> dict[str, Any]:
    """Fresh processes, as `kernelglass flows` measures them."""
    from app.flows.cells import Request, cells, measure
    from app.flows.tables import document
    from compiler.options import CompileOptions

    wanted = [
        cell for cell in cells([3], ["none", "line-tables"], start_up=True) if cell.cache == "cold" or cell.execute
    ]
    request = Request(source, CompileOptions(jobs=1))
    measured = measure(request, wanted, repeat, lambda words: print(words, file=sys.stderr))
    return document(measured, "", len(os.sched_getaffinity(0)))


LLVM_ALONE = """
import json, resource, sys
from compiler.backend.tasks import Task, run_task
for entry in json.load(open(sys.argv[1])):
    run_task(Task("bundle", tuple(entry), "cpu", 3))
"""
WHOLE = """
import sys
from app.sources import load_source
from compiler import compile
from compiler.collector_pauses import end_without_collection
end_without_collection()  # as our programs do
compile(load_source(sys.argv[1]).graph, cache=False, jobs=1)
"""


IMPORTS_ALONE = """
import numpy, llvmlite.binding
from xdsl.dialects import arith, builtin, func, gpu, llvm, math, memref, scf, vector
"""


def process_cpu(code: str, argument: str) -> float:
    """User + system seconds of a fresh interpreter."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, argument], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"a measured process failed with status {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def tasks_of(graph: Any, jobs: int, **options: Any) -> list[Any]:
    """What a compilation hands to LLVM."""
    from compiler.backend.tasks import run_task
    from compiler.backend.workers import elsewhere

    kept: list[Any] = []

    def here(tasks: Any, _told: Any) -> Any:
        kept.extend(tasks)
        return [run_task(task) for task in tasks]

    with elsewhere(here):
        compile_cpu(graph, jobs=jobs, **options)
    return kept


def against_llvm(source: str, repeat: int) -> dict[str, Any]:
    """All of an all-kernel compilation against LLVM on the same IR: inside a process, and fresh processes of each."""
    from compiler.backend.tasks import run_task

    graph = graph_of(source)
    tasks = tasks_of(graph, 1)
    inside = []
    for _ in range(repeat):
        start = time.process_time()
        for task in tasks:
            run_task(task)
        alone = time.process_time() - start
        inside.append(compile_cpu(graph)[0] / alone)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([task.texts for task in tasks], file)
        file.flush()
        process_cpu(WHOLE, "sample:many-kernels:1")  # byte code and page cache
        pairs = [(process_cpu(WHOLE, source), process_cpu(LLVM_ALONE, file.name)) for _ in range(repeat)]
        imports = process_cpu(IMPORTS_ALONE, "")
    ratios = [whole / alone for whole, alone in pairs]
    return {
        "inside": statistics.median(inside), "inside_spread": spread(inside),
        "ratio": statistics.median(ratios), "spread": spread(ratios),
        "whole_s": pairs[0][0], "llvm_s": pairs[0][1], "imports_s": imports,
    }  # fmt: skip


def two_jobs(repeat: int) -> dict[str, Any]:
    """LLVM's wall time for 64 kernels: one process against two, workers warm, alternating.

    `balance` is what the wall time comes to where both cores are free: all processor time / that of the busier process.
    """
    from compiler.backend.tasks import run_task
    from compiler.backend.workers import Pool

    tasks = tasks_of(graph_of(MANY), 2)
    pool = Pool()
    pool.compile(tasks, 2)
    ratios, balance = [], []
    for _ in range(repeat):
        start = time.perf_counter()
        for task in tasks:
            run_task(task)
        one = time.perf_counter() - start
        start = time.perf_counter()
        done = pool.compile(tasks, 2)
        two = time.perf_counter() - start
        ratios.append(one / two)
        by_worker = [sum(d.cpu_seconds for d in done if d.worker == worker) for worker in (0, 1)]
        balance.append(sum(by_worker) / max(by_worker))
    pool.close()
    return {"ratio": statistics.median(ratios), "spread": spread(ratios), "balance": statistics.median(balance)}


def growth(sizes: list[int]) -> dict[str, Any]:
    """Processor time for each kernel as their number grows."""
    compile_cpu(graph_of("sample:many-kernels:16"))
    taken = {size: compile_cpu(graph_of(f"sample:many-kernels:{size}"))[0] for size in sizes}
    each = {size: seconds / size for size, seconds in taken.items()}
    return {
        "seconds": taken,
        "ms_per_kernel": {s: 1e3 * v for s, v in each.items()},
        "ratio": each[sizes[-1]] / each[sizes[0]],
    }


def ir_at_levels() -> dict[str, Any]:
    """Bytes of IR that enter LLVM at O0 against O3."""
    found = {}
    for source in (MANY, "sample:transformer-block"):
        graph = graph_of(source)
        sizes = [compile_cpu(graph, opt_level=level)[1].stats["bytes"]["llvm"] for level in (0, 3)]
        found[source] = {"O0": sizes[0], "O3": sizes[1], "ratio": sizes[0] / sizes[1]}
    return found


def cached_start(repeat: int) -> dict[str, Any]:
    """A start with everything in the cache against a cold one: in a warm process, and in a fresh one."""
    found: dict[str, Any] = {}
    for source in ("sample:transformer-block", MANY, DEEP):
        graph = graph_of(source)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["KERNELGLASS_CACHE"] = folder
            compile_cpu(graph)
            cold = statistics.median(compile_cpu(graph)[0] for _ in range(max(repeat // 2, 1)))
            compile_cpu(graph, cache=True)
            warm = statistics.median(compile_cpu(graph, cache=True)[0] for _ in range(repeat))
        found[source] = {"cold_s": cold, "cached_s": warm, "ratio": warm / cold}
    del os.environ["KERNELGLASS_CACHE"]
    return found


def one_kernel_changed() -> dict[str, Any]:
    """Which kernels a second compilation works on after one kernel of 64 was edited."""
    graph = graph_of(MANY)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KERNELGLASS_CACHE"] = folder
        cold, model = compile_cpu(graph, cache=True)
        kernel = model.kernels[5]
        edited = "\n".join((kernel.source or "").splitlines()) + "\n# edited\n"
        edited = edited.replace("add(", "sub(", 1) if "add(" in edited.split("def", 1)[1] else edited
        seconds, changed = compile_cpu(graph, cache=True, sources=((kernel.name, edited),))
        del os.environ["KERNELGLASS_CACHE"]
    worked = {record.kernel for record in changed.trace.passes if record.stage == "machine"}
    return {"compiled": sorted(worked), "seconds": seconds, "cold_s": cold}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and sizes")
    parser.add_argument("--only", metavar="STEP", help="one step, by its name in the JSON report")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    repeat = 2 if options.quick else 5
    keep_byte_code()
    steps: dict[str, Callable[[], Any]] = {
        "two_jobs": lambda: two_jobs(repeat),  # first: workers fork while this process has one thread
        "single_kernel": lambda: single_kernel(3 * repeat),
        "growth": lambda: growth([16, 64, 128] if options.quick else [16, 64, 256, 512]),
        "ir_at_levels": ir_at_levels,
        "against_llvm": lambda: against_llvm(MANY, repeat),
        "cached_start": lambda: cached_start(repeat),
        "one_kernel_changed": one_kernel_changed,
        "many": lambda: processes(MANY, 1 if options.quick else 3),
        "deep": lambda: processes(DEEP, 1 if options.quick else 3),
    }
    if options.only and options.only not in steps:
        parser.error(f"there is no step {options.only}; the steps are {', '.join(steps)}")
    report = {}
    for name, step in steps.items():
        if options.only not in (None, name):
            continue
        print(f"{name} ...", file=sys.stderr)
        report[name] = step()
        if not options.json:
            for line in lines(name, report[name]):
                print(line, flush=True)
    if options.json:
        print(json.dumps(report, indent=1))


def lines(name: str, found: Any) -> list[str]:
    """A step's figures as a person reads them."""
    if name == "single_kernel":
        return [
            f"one kernel, per-kernel / all-kernel   {v['per_over_all']:.3f}  (0.95 to 1.05)   {s}"
            for s, v in found.items()
        ]
    if name == "two_jobs":
        return [
            f"LLVM wall, one job / two jobs         {found['ratio']:.2f}  (at least 1.7), {found['spread'][0]:.2f} to "
            f"{found['spread'][1]:.2f}; work over the busier process {found['balance']:.2f}"
        ]
    if name == "growth":
        each = ", ".join(f"{size}: {ms:.1f} ms" for size, ms in found["ms_per_kernel"].items())
        return [f"time a kernel, most / fewest kernels  {found['ratio']:.2f}  (at most 1)   {each}"]
    if name == "ir_at_levels":
        return [f"IR into LLVM, O0 / O3                 {v['ratio']:.2f}  (at most 3)   {s}" for s, v in found.items()]
    if name == "against_llvm":
        low, high = found["inside_spread"]
        times = f"{found['whole_s']:.2f} s / {found['llvm_s']:.2f} s"
        return [
            f"all-kernel -O3 / LLVM alone           {found['inside']:.2f}  (at most 1.6), {low:.2f} to {high:.2f}",
            f"  as fresh processes                  {found['ratio']:.2f}  {times}; importing NumPy, xDSL and llvmlite "
            f"alone takes {found['imports_s']:.2f} s",
        ]
    if name == "cached_start":
        return [f"cached start / cold                   {v['ratio']:.3f} (under 0.05)   {s}" for s, v in found.items()]
    if name == "one_kernel_changed":
        return [
            f"compiled after one kernel changed     {len(found['compiled'])}     (1)   {', '.join(found['compiled'])}"
        ]
    cold = next(
        c for c in found["cells"] if c["flow"] == "all-kernel" and c["cache"] == "cold" and c["debug"] == "none"
    )
    start = next(c for c in found["start_up"] if c["flow"] == "all-kernel" and c["cache"] == "cold")
    tables = next(c for c in found["line_tables"] if c["flow"] == "all-kernel")
    title = f"{found['source']} ({found['kernels']} kernels)"
    base = found["base"]["cpu_s"]
    per = next(c for c in found["cells"] if c["flow"] == "per-kernel" and c["cache"] == "cold" and c["debug"] == "none")
    net = (per["user_s"] + per["system_s"] - base) / (cold["user_s"] + cold["system_s"] - base)
    return [
        f"user + system, per / all              {cold['time_ratio']:.2f}  (2.10; {net:.2f} net of start)   {title}",
        f"peak memory, per / all                {cold['memory_ratio']:.2f}  (0.69)   {title}",
        f"first result, per / all               {start['start_ratio']:.2f}  (3.72)   {title}",
        f"line tables: time, memory             {tables['time']:.2f}, {tables['memory']:.2f}  (1.3, 1.5)   {title}",
    ]


if __name__ == "__main__":
    main()
