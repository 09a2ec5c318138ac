"""What fusing costs and gains: samples and other graphs fused and not, named ops beside what is written out.

    python benchmarks/fusion.py samples [--threads N] [--pairs N] [--again N] [--target sm_90a]
    python benchmarks/fusion.py operands [--only TEXT] [--threads N] [--pairs N] [--again N] [--target sm_90a]
    python benchmarks/fusion.py random FIRST COUNT [--threads N] [--pairs N] [--again N] [--jobs N] [--target sm_90a]
    python benchmarks/fusion.py by-hand [--threads N] [--pairs N] [--again N] [--target sm_90a]

Both sides are timed in turns in this process, the order within each pair drawn: a pair's figure is the ratio of two
blocks of calls, a graph's the median of its pairs with the signed-rank interval of their logarithms, as `compare
--again` has it. A graph that seems to take longer fused is timed again in processes of its own, as where code and data
happen to lie makes processes differ; its figure is then the median of them all. Printed are the graphs above 1.02, the
worst, their share, and the geometric mean; of what is written out also whether it comes to the same machine code.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from _fusion_graphs import COMPUTED, TWICE, arrays_of, drawn  # noqa: E402

MOST = 1.02
BLOCK_SECONDS = 4e-3
LAYERED = ("gpt2", "llama-3.2-1b", "llama-32")

Timer = Callable[[int], float]
"""So many calls, and the seconds that one of them took."""


@dataclass(frozen=True)
class Row:
    """One comparison: the second side's time over the first's."""

    name: str
    ratio: float
    low: float
    high: float
    first_ms: float
    second_ms: float
    kernels: tuple[int, int]
    most: float = MOST
    same_code: bool = False


def compared(name: str, graphs: Sequence[Any], fuse: Sequence[bool], asked: argparse.Namespace, most: float) -> Row:
    """Time two graphs in turns."""
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    models = [compile_graph(g, CompileOptions(asked.target, fuse=f)) for g, f in zip(graphs, fuse, strict=True)]
    return timed(name, models, arrays_of(graphs[0], 0), asked, most)


def timed(name: str, models: Sequence[Any], arrays: list[np.ndarray], asked: argparse.Namespace, most: float) -> Row:
    from profiler.analysis.exact_tests import signed_rank_interval

    timers = [(on_cpu if asked.target == "cpu" else on_card)(model, arrays, asked.threads) for model in models]
    times = in_turns(timers, asked.pairs)
    logs = np.log(times[:, 1] / times[:, 0])
    low, high = signed_rank_interval(logs)
    first, second = (float(x) * 1e3 for x in np.median(times, axis=0))
    kernels = (len(models[0].host.calls), len(models[1].host.calls))
    return Row(name, math.exp(float(np.median(logs))), math.exp(low), math.exp(high), first, second, kernels, most)


def in_turns(timers: Sequence[Timer], pairs: int) -> np.ndarray:
    """Seconds of a call, [pairs, sides]; the order within a pair is drawn."""
    random = np.random.default_rng(0)
    counts = []
    for timer in timers:
        timer(2)
        counts.append(max(2, math.ceil(BLOCK_SECONDS / max(timer(2), 1e-7))))
    times = np.zeros((pairs, len(timers)))
    for pair in range(pairs):
        for side in random.permutation(len(timers)):
            times[pair, side] = timers[side](counts[side])
    return times


def on_cpu(model: Any, arrays: list[np.ndarray], threads: int) -> Timer:
    """The undisturbed half of some calls, by the native loop that `run` has."""
    from profiler.measure.cpu.native import BoundProgram

    bound = BoundProgram(model.program, [arrays], threads)

    def timer(count: int) -> float:
        spans = bound.measure(count)
        return float(np.quantile(spans[:, 1] - spans[:, 0], 0.25)) * 1e-9

    return timer


def on_card(model: Any, arrays: list[np.ndarray], threads: int) -> Timer:
    """Replays of a CUDA graph between two events."""
    from profiler.measure.cuda.model import CudaModel

    resident = CudaModel(model).upload(arrays)
    resident.capture()
    return lambda count: resident.time(count, replay=True) * 1e-3


def random_row(name: str, asked: argparse.Namespace) -> Row:
    graph = drawn(int(name))
    return compared(name, (graph, graph), (False, True), asked, MOST)


def operand_row(name: str, asked: argparse.Namespace) -> Row:
    graph = next(one for one in COMPUTED if one.name == name).graph()
    return compared(name, (graph, graph), (False, True), asked, MOST)


def sample_row(name: str, asked: argparse.Namespace) -> Row:
    """A sample with its own sizes, inputs and kernels."""
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from compiler.language.library import load_library
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    source = load_source(f"sample:{name}")
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 0, source.library_paths)
    options = [CompileOptions(asked.target, fuse=fuse) for fuse in (False, True)]
    models = [compile_graph(source.graph, one, load_library(*source.library_paths)) for one in options]
    return timed(name, models, inputs, asked, MOST)


def sample_names() -> list[str]:
    """Every sample; whole models with one of their layers, as the others repeat it."""
    from app.sources import samples

    names = [sample.name for sample in samples() if sample.name != "minilm"]  # wants a package of its own
    return [f"{name}:1" if name in LAYERED else name for name in names]


def operand_rows(asked: argparse.Namespace) -> list[Row]:
    names = [one.name for one in COMPUTED if asked.target != "cpu" or not one.for_cards]
    return measured_rows(asked, [name for name in names if asked.only in name])


def random_rows(asked: argparse.Namespace) -> list[Row]:
    """Every graph of the range, those that seem slower again."""
    numbers = range(asked.first, asked.first + asked.count)
    _compile_ahead(asked, numbers)
    return measured_rows(asked, [str(number) for number in numbers])


def measured_rows(asked: argparse.Namespace, names: Sequence[str]) -> list[Row]:
    """Each comparison; those that seem slower again, in processes of their own."""
    rows = []
    for name in names:
        try:
            row = ROW[asked.what](name, asked)
        except Exception as error:
            print(f"{asked.what} {name}: {type(error).__name__}: {error}", flush=True)
            continue
        if row.ratio > row.most:
            again = [_in_process(asked, name) for _ in range(asked.again)]
            ratios = sorted([row.ratio, *(one["ratio"] for one in again)])
            lows = sorted([row.low, *(one["low"] for one in again)])
            highs = sorted([row.high, *(one["high"] for one in again)])
            middle = len(ratios) // 2
            row = replace(row, ratio=ratios[middle], low=lows[middle], high=highs[middle])
        rows.append(row)
        if row.ratio > row.most or asked.what != "random":
            print(words(row), flush=True)
        if len(rows) % 100 == 0:
            print(summary(rows, asked), flush=True)
    return rows


def _compile_ahead(asked: argparse.Namespace, numbers: range) -> None:
    """Fill the cache with every graph, on several processes."""
    if asked.jobs < 2:
        return
    command = [sys.executable, __file__, "ahead", str(numbers.start), str(len(numbers)), "--target", asked.target]
    begun = time.monotonic()
    processes = [subprocess.Popen([*command, "--jobs", f"{asked.jobs}", "--part", f"{k}"]) for k in range(asked.jobs)]
    for process in processes:
        process.wait()
    print(f"compiled in {time.monotonic() - begun:.0f} s", flush=True)


def ahead(asked: argparse.Namespace) -> None:
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    for number in range(asked.first, asked.first + asked.count)[asked.part :: asked.jobs]:
        graph = drawn(number)
        for fuse in (True, False):
            compile_graph(graph, CompileOptions(asked.target, fuse=fuse, jobs=1))


def _in_process(asked: argparse.Namespace, name: str) -> dict[str, Any]:
    command = [sys.executable, __file__, asked.what, "--json", "--once", name]
    command += ["--threads", str(asked.threads), "--pairs", str(asked.pairs), "--target", asked.target]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[0]


def by_hand_row(name: str, asked: argparse.Namespace) -> Row:
    """An op beside the same thing written out."""
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    pair = next(pair for pair in TWICE if pair.name == name)
    graphs = [pair.graph(pair.named), pair.graph(pair.written)]
    models = [compile_graph(graph, CompileOptions(asked.target)) for graph in graphs]
    row = timed(name, models, arrays_of(graphs[0], 0), asked, pair.most)
    return replace(row, same_code=len({machine_code(model) for model in models}) == 1)


def machine_code(model: Any) -> tuple[str, ...]:
    """The machine code of a model's kernels, whatever they are called."""
    stage = "asm" if model.target.emission.grid is None else "ptx"
    return tuple(kernel.ir(stage).replace(kernel.name, "kernel") for kernel in model.kernels)


def by_hand_rows(asked: argparse.Namespace) -> list[Row]:
    return measured_rows(asked, [pair.name for pair in TWICE if asked.target != "cpu" or not pair.for_cards])


def sample_rows(asked: argparse.Namespace) -> list[Row]:
    return measured_rows(asked, sample_names())


ROWS = {"samples": sample_rows, "operands": operand_rows, "random": random_rows, "by-hand": by_hand_rows}
ROW = {"samples": sample_row, "operands": operand_row, "random": random_row, "by-hand": by_hand_row}


def words(row: Row) -> str:
    sides = f"{row.first_ms:9.3f} ms {row.second_ms:9.3f} ms  {row.kernels[0]:3d} {row.kernels[1]:3d} kernels"
    mark = "" if row.ratio <= row.most else "  above" if row.low > row.most else "  above, within its interval"
    mark += "  same machine code" if row.same_code else ""
    return f"{row.name:32s} {row.ratio:6.3f} [{row.low:.3f}, {row.high:.3f}]  {sides}{mark}"


def summary(rows: Sequence[Row], asked: argparse.Namespace) -> str:
    worst, above = max(rows, key=lambda row: row.ratio), [row for row in rows if row.ratio > row.most]
    surely = [row for row in above if row.low > row.most]
    return (
        f"{len(rows)} on {asked.target}, {asked.threads} threads: worst {worst.ratio:.3f} ({worst.name}), "
        f"{len(above)} above what is allowed, {len(surely)} of them with all of their interval, "
        f"geometric mean {statistics.geometric_mean([row.ratio for row in rows]):.3f}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "what", nargs="?", choices=("samples", "operands", "random", "by-hand", "ahead"), default="by-hand"
    )
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("count", type=int, nargs="?", default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--again", type=int, default=4, help="processes for a graph that seems to take longer")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile ahead")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--only", default="", help="part of the names of those whose operands are computed")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--once", default="", help=argparse.SUPPRESS)
    parser.add_argument("--part", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.what == "ahead":
        ahead(asked)
        return
    if asked.once:
        print(json.dumps([asdict(ROW[asked.what](asked.once, asked))]))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("KERNELGLASS_CACHE", folder)
        rows = ROWS[asked.what](asked)
    if asked.json:
        print(json.dumps([asdict(row) for row in rows]))
    print(summary(rows, asked) if rows else "nothing was timed")


if __name__ == "__main__":
    main()
