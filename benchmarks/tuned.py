"""What tuning gains over what kernels choose by themselves, on this machine's CPU: default over tuned, by workload.

    python benchmarks/tuned.py [--only TEXT] [--budget SECONDS] [--threads N] [--json]

Each workload is tuned as `kernelglass tune` does it: candidates are checked, raced, and the best has to be measurably
faster, in turns, than the default; where none is, the ratio is 1. Nothing is kept. The last line says the worst.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from _cpu_workloads import WORKLOADS, Workload  # noqa: E402
from cpu import inputs_of  # noqa: E402

NAMES = ("matmul", "matvec", "conv2d", "transpose", "softmax", "sum ", "attention")
BOUND = 1.10


def tuned(workload: Workload, budget: float, threads: int | None) -> dict[str, Any]:
    """What tuning a workload came to."""
    from compiler import Graph, TensorType, ops
    from compiler.language.library import default_library
    from profiler.records import MeasureRequest
    from profiler.tuning.records import Subject, choice_words
    from profiler.tuning.search import Tuning

    arrays = inputs_of(workload, np.random.default_rng(0))
    with Graph("workload", inputs=[TensorType("f32", array.shape) for array in arrays]) as graph:
        graph.output(workload.ours(ops, *graph.inputs))
    request = MeasureRequest(workload.name, threads=threads)
    tuning = Tuning(Subject(request, graph, arrays, 1e-4, default_library()), budget)
    for state in tuning.run():
        if sys.stderr.isatty():
            print(f"\r\x1b[K{workload.name}: {state.words}", end="", file=sys.stderr, flush=True)
    rows = tuning.state.rows
    # One kernel is what these workloads come to; of several, the worst.
    worst = min(rows, key=lambda row: row.verdict.ratio if row.faster and row.verdict else 1.0)
    ratio = worst.verdict.ratio if worst.faster and worst.verdict else 1.0
    return {
        "workload": workload.name, "ratio": 1 / ratio, "tried": sum(row.tried for row in rows),
        "low": 1 / worst.verdict.high if worst.faster and worst.verdict else None,
        "high": 1 / worst.verdict.low if worst.faster and worst.verdict else None,
        "best": choice_words(worst.best) if worst.faster else "", "words": worst.words,
        "dropped": [words for row in rows for words in row.dropped],
    }  # fmt: skip


def line(found: dict[str, Any]) -> str:
    """A row for a person."""
    interval = f" ({found['low']:.3f} to {found['high']:.3f})" if found["low"] else ""
    dropped = f"; {len(found['dropped'])} dropped" if found["dropped"] else ""
    what = found["best"] or found["words"]
    return f"{found['workload']:<28} {found['ratio']:6.3f}{interval:<18} of {found['tried']:>3} tried{dropped}: {what}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chosen = [w for w in WORKLOADS if w.name.startswith(NAMES) and asked.only in w.name]
    found = []
    print("workload                     default over tuned", file=sys.stderr)
    for workload in chosen:
        found.append(tuned(workload, asked.budget, asked.threads))
        if not asked.json:
            print(("\r\x1b[K" if sys.stderr.isatty() else "") + line(found[-1]), flush=True)
    worst = max(each["ratio"] for each in found)
    if asked.json:
        print(json.dumps({"workloads": found, "worst": worst, "bound": BOUND}, indent=2))
    else:
        print(f"the default takes at most {worst:.3f} of the tuned time; {BOUND} is the bound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
