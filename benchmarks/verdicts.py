"""How often a run compared with itself is said to differ, and whether a slower one is found: error rates, measured.

    python benchmarks/verdicts.py [--runs 100] [--source SRC] [--dim NAME=N] [--processes 5] [--turns]

Every run is made anew, in processes of its own, and compared with the one before it (with --turns, measured in turns
with itself). Counted are verdicts other than "no measurable difference", for the whole model and for each kernel.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


@dataclass(frozen=True)
class Tally:
    """How many comparisons were made, and how many of them called a difference for each thing that was compared."""

    comparisons: int
    called: dict[str, int]
    unlikely: int
    """Comparisons in which any kernel was said to differ."""

    def same(self, name: str) -> int:
        """Comparisons that called no difference for `name`."""
        return self.comparisons - self.called.get(name, 0)


WHOLE = "whole model"


def compared(store: Any, pairs: Iterator[tuple[int, int]], say: Any = None) -> Tally:
    """Compare pairs of stored runs and count."""
    from profiler.analysis.compare import compare_runs
    from profiler.analysis.verdicts import SAME

    called: Counter[str] = Counter()
    count = unlikely = 0
    for a, b in pairs:
        found = compare_runs(store, [a, b])
        count += 1
        whole = found.verdicts[1]
        verdicts = {WHOLE: whole} | {" + ".join(k.names[0]): k.verdicts[1] for k in found.kernels}
        differing = [name for name, verdict in verdicts.items() if verdict and verdict.verdict != SAME]
        called.update(differing)
        called.update({name: 0 for name in verdicts})
        unlikely += any(name != WHOLE for name in differing)
        if say:
            words = [f"{name} {verdicts[name].ratio:.3f}" for name in differing]  # pyright: ignore[reportOptionalMemberAccess]
            doubts = [f"{name} {v.ratio:.3f} {v.why}" for name, v in verdicts.items() if v and v.why]
            say(f"{a} {b}: {'; '.join(words) or SAME}{' | ' + '; '.join(doubts) if doubts else ''}")
    return Tally(count, dict(called), unlikely)


def runs_of(store: Any, request: Any, graph: str, arrays: Any, count: int) -> Iterator[int]:
    """Make the same run so many times."""
    from profiler.recording import run_and_record
    from profiler.records import FINISHED

    for _ in range(count):
        run, outcome = run_and_record(store, request, graph, arrays)
        if outcome.result.status != FINISHED or run is None:
            raise SystemExit(f"a run failed: {outcome.result.error}")
        yield run


def in_turns(store: Any, request: Any, graph: str, arrays: Any, count: int) -> Iterator[tuple[int, int]]:
    """Measure the same thing in turns with itself so many times."""
    from profiler.measure.in_turns import Contender, run_in_turns

    side = Contender(request, graph, arrays)
    for _ in range(count):
        yield run_in_turns(store, (side, side))


def main() -> None:
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from profiler.records import MeasureRequest
    from profiler.store import open_store

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--source", default="sample:layernorm-gelu")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0)
    parser.add_argument("--turns", action="store_true")
    options = parser.parse_args()
    source = load_source(options.source)
    chosen = {name: int(size) for name, _, size in (text.partition("=") for text in options.dim)}
    sizes = graph_sizes(source.graph, source.dims, chosen)
    request = MeasureRequest(
        options.source, dims=sizes, threads=options.threads, budget=options.budget, processes=options.processes,
        count=False, libraries=tuple(str(folder) for folder in source.library_paths),
    )  # fmt: skip
    made = (source.graph, random_inputs(source.graph, sizes, 0))
    say = lambda words: print(words, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "t.db")) as store:
        if options.turns:
            tally = compared(store, in_turns(store, request, *made, options.runs), say)
        else:
            tally = compared(store, itertools.pairwise(runs_of(store, request, *made, options.runs + 1)), say)
    for name in tally.called:
        print(f"{name}: no measurable difference in {tally.same(name)} of {tally.comparisons}")
    print(f"any kernel: no measurable difference in {tally.comparisons - tally.unlikely} of {tally.comparisons}")


if __name__ == "__main__":
    main()
