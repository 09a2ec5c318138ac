"""GPU kernels side by side with Triton, torch.compile and a device copy, each figure a ratio taken in this run.

    python benchmarks/gpu.py [--only grayscale,softmax,...] [--repeats N] [--json FILE]

Inputs are random and rotate; times are medians of CUDA events, ours and the peer's in turn, with the GPU kept busy
while the host queues the next launch; results are checked against float64 (16-bit ones: f32) on outputs that were
poisoned before. A part that fails prints its error and the others go on. The table comes last: `ratio` is the peer's
time over ours, `time` ours over the peer's, whose geometric mean is the last line.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _gpu_bandwidth import chain, chain_exp, grayscale, layernorm_gelu, softmax
from _gpu_bench import Bench, Row, conditions
from _gpu_launch import launch
from _gpu_products import attention, matmul
from _gpu_workloads import llama, memory, products

PARTS: dict[str, Callable[[Bench], list[Row]]] = {
    "grayscale": grayscale,
    "softmax": softmax,
    "layernorm-gelu": layernorm_gelu,
    "chain": chain,
    "chain-exp": chain_exp,
    "launch": launch,
    "matmul": matmul,
    "attention": attention,
    "products": products,
    "memory": memory,
    "llama": llama,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {','.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", metavar="FILE", help="where to write everything that was measured")
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    from compiler.errors import UnavailableError

    try:
        bench = Bench(options.repeats)
    except (ImportError, UnavailableError, RuntimeError, AssertionError) as missing:
        print(f"gpu: skipped, {str(missing).splitlines()[0]}")
        return
    print(
        f"{bench.device.name}, {bench.device.target}, driver {bench.device.record.driver}, "
        f"torch {bench.torch.__version__}"
    )
    before = conditions(bench)
    rows: list[Row] = []
    failures: dict[str, str] = {}
    for name in wanted:
        start = time.perf_counter()
        print(f"{name} ...", flush=True)
        try:
            rows += PARTS[name](bench)
        except Exception as error:  # the other parts go on
            failures[name] = f"{type(error).__name__}: {error}"
            traceback.print_exc(limit=-6)
        print(f"  {time.perf_counter() - start:.1f} s", flush=True)
        bench.torch.cuda.empty_cache()
    if options.json:
        document = {
            "device": bench.device.name, "target": bench.device.target, "driver": bench.device.record.driver,
            "conditions": {"before": before, "after": conditions(bench)},
            "rows": [asdict(row) for row in rows], "failures": failures,
        }  # fmt: skip
        Path(options.json).write_text(json.dumps(document, indent=1))
    print(table(rows, failures))


def table(rows: list[Row], failures: dict[str, str]) -> str:
    lines = [
        f"{'part':<22}{'ours':>10}{'peer':>10} {'unit':<10}{'ratio':>7}{'target':>8}{'time':>7}{'error':>10}  peer"
    ]
    for row in rows:
        if row.unit == "us/kernel":
            ratio, goal, time_of = f"{row.ours / row.theirs:.2f}", "<10 us", ""
        else:
            ratio, goal, time_of = f"{row.ratio:.3f}", f"{row.target:.2f}", f"{1 / row.ratio:.3f}"
        verdict = "" if row.met else "   MISSED"
        lines.append(
            f"{row.part:<22}{row.ours:>10.3f}{row.theirs:>10.3f} {row.unit:<10}{ratio:>7}{goal:>8}{time_of:>7}"
            f"{row.error:>10.1e}  {row.peer}{verdict}"
        )
    lines += [f"{name:<22}FAILED {' '.join(words.split())[:200]}" for name, words in failures.items()]
    ratios = [row.ratio for row in rows if row.unit != "us/kernel"]
    if ratios:
        mean = math.exp(-sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"{'geometric mean':<22}our time over the best peer's, {len(ratios)} workloads: {mean:.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
