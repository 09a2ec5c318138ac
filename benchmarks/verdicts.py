"""How often a run compared with itself is said to differ, and whether a slower one is found: error rates, measured.

    python benchmarks/verdicts.py [--source SRC] [--dim NAME=N] [--change 1.5] [--runs 20] [--busy 2] [--db DB]

Runs are made anew, in processes of their own, alternately as they are (A) and changed (B): an input dim, or the rounds
of a kernel of known cost, is `--change` times as large. Neighbouring runs are pairs, of the same code and of changed
code; `--busy` loops run beside them. What is counted: verdicts of a difference, right ones, those that cannot be told,
and how often the printed interval has the true ratio in it. The truth is `--change` for the kernel of known cost, and
for a dim what quiet runs came to (`--truth`). With `--db` runs are kept, and a later call goes on where the last one
ended; `--runs 0` only counts. `--turns N` measures N times in turns, as `compare --again` and a gate that cannot tell
do: the same code with itself, and with the changed one.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

KNOWN = "known"
"""The source of a kernel whose cost is known: rounds of dependent multiply-adds, as many in each thread."""
ROUNDS, ROUNDS_IN_THREADS = 20_000, 100_000
"""In one thread and in several: handing work to threads takes a microsecond or two, which does not grow with it."""


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


def compared(store: Any, pairs: Iterable[tuple[int, int]], say: Any = None) -> Tally:
    """Compare pairs of stored runs and count what was said to differ."""
    from profiler.analysis.compare import compare_runs
    from profiler.analysis.verdicts import FASTER, SLOWER

    called: Counter[str] = Counter()
    count = unlikely = 0
    for a, b in pairs:
        found = compare_runs(store, [a, b])
        count += 1
        verdicts = {WHOLE: found.verdicts[1]} | {" + ".join(k.names[0]): k.verdicts[1] for k in found.kernels}
        differing = [name for name, verdict in verdicts.items() if verdict and verdict.verdict in (FASTER, SLOWER)]
        called.update(differing)
        called.update({name: 0 for name in verdicts})
        unlikely += any(name != WHOLE for name in differing)
        if say:
            said = [f"{name} {v.ratio:.3f} {v.words}" for name, v in verdicts.items() if v and name in differing]
            say(f"{a} {b}: {'; '.join(said) or found.verdicts[1].words}")  # pyright: ignore[reportOptionalMemberAccess]
    return Tally(count, dict(called), unlikely)


@dataclass(frozen=True)
class Score:
    """Verdicts on pairs whose true ratio is known: right, wrong and none, and intervals that have the truth in them."""

    pairs: int = 0
    right: int = 0
    wrong: int = 0
    covered: int = 0

    def with_(self, verdict: Any, truth: float) -> Score:
        """One more. Of code that is the same only a difference is wrong; of changed code also that there is none."""
        from profiler.analysis.verdicts import CANNOT_TELL, FASTER, SAME, SLOWER

        expected = SAME if truth == 1 else SLOWER if truth > 1 else FASTER
        right, untold = verdict.verdict == expected, verdict.verdict == CANNOT_TELL
        covered = verdict.low <= truth <= verdict.high
        return Score(
            self.pairs + 1, self.right + right, self.wrong + (not right and not untold), self.covered + covered
        )

    def __str__(self) -> str:
        untold = self.pairs - self.right - self.wrong
        return (
            f"{self.pairs} pairs: {self.right} right, {self.wrong} wrong, {untold} cannot tell; "
            f"the interval covers the truth in {self.covered}"
        )


def runs_of(store: Any, request: Any, graph: Any, arrays: Any, count: int) -> Iterator[int]:
    """Make the same run so many times."""
    from profiler.keeping import begin_together, keep
    from profiler.measure.machine import machine_with
    from profiler.measure.measuring import measure
    from profiler.records import FINISHED

    for _ in range(count):
        (begun,) = begin_together(store, [request], [machine_with(request.device)])
        outcome = measure(request, graph, arrays)
        run = keep(begun, outcome).run
        if outcome.result.status != FINISHED or run is None:
            raise SystemExit(f"a run failed: {outcome.result.error}")
        yield run


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many programs beside this one that do nothing but compute."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or they would outlive us
    loops = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        signal.signal(signal.SIGTERM, before)


def contender(options: argparse.Namespace, change: float) -> Any:
    """What is run: the source with a dim, or the kernel of known cost with its rounds, `change` times as large."""
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from profiler.measure.in_turns import Contender
    from profiler.records import MeasureRequest

    common = dict(budget=options.budget, processes=options.processes, count=False)
    if options.source == KNOWN:
        threads = options.threads or 1
        graph, arrays, library = known_cost(round((ROUNDS if threads == 1 else ROUNDS_IN_THREADS) * change), threads)
        made = MeasureRequest(f"{KNOWN} {change:g}", threads=threads, libraries=(library,), **common)
        return Contender(made, graph, arrays)
    source = load_source(options.source)
    chosen = {name: int(size) for name, _, size in (text.partition("=") for text in options.dim)}
    sizes = dict(graph_sizes(source.graph, source.dims, chosen))
    if change != 1:
        name = next(iter(chosen or sizes))
        sizes[name] = round(sizes[name] * change)
    libraries = tuple(str(folder) for folder in source.library_paths)
    made = MeasureRequest(
        f"{options.source} {change:g}", dims=sizes, threads=options.threads, libraries=libraries, **common
    )
    return Contender(made, source.graph, random_inputs(source.graph, sizes, 0))


def known_cost(rounds: int, threads: int) -> tuple[Any, list[Any], str]:
    """A graph whose time is that of `rounds` dependent multiply-adds in each thread, its inputs, and its kernel."""
    from profiler.measure.ceilings.cpu_probes import LIBRARY, multiply_rounds

    graph, array = multiply_rounds("f32", rounds, 1, threads)
    return graph, [array], str(LIBRARY)


def stored(store: Any) -> list[tuple[int, str]]:
    """Finished runs by their number, oldest first, with the source that says what was changed."""
    from profiler.records import FINISHED
    from profiler.store import queries

    rows = reversed(queries.list_runs(store, queries.RunFilter(limit=100_000)))
    return [(row["id"], row["source"]) for row in rows if row["status"] == FINISHED]


def make_runs(store: Any, sides: tuple[Any, Any], count: int) -> None:
    """So many runs more, alternately of the one side and of the other."""
    begun = len(stored(store))
    for number in range(begun, begun + count):
        side = sides[number % 2]
        next(runs_of(store, side.request, side.graph, side.arrays, 1))


def scores(store: Any, truth: float, say: Any) -> tuple[Score, Score]:
    """Neighbouring runs of the same code, and of changed code."""
    from profiler.analysis.compare import compare_runs

    known = [(run, source) for run, source in stored(store) if "turns" not in source]
    found = [Score(), Score()]
    same = zip(known, known[2:])
    changed = itertools.pairwise(known)
    for number, pairs in enumerate((same, changed)):
        for (a, first), (b, second) in pairs:
            expected = 1.0 if first == second else truth if second != f"{first.rpartition(' ')[0]} 1" else 1 / truth
            verdict = compare_runs(store, [a, b]).verdicts[1]
            found[number] = found[number].with_(verdict, expected)
            say(f"{a} {b} truth {expected:.3f}: {_words(verdict)}")
    return found[0], found[1]


def in_turns(store: Any, sides: tuple[Any, Any], truth: float, count: int, say: Any) -> tuple[Score, Score]:
    """The same code with itself, and with changed code, measured in turns."""
    from profiler.analysis.compare import compare_runs
    from profiler.measure.in_turns import run_in_turns

    found = [Score(), Score()]
    for number in range(2 * count):
        changed = number % 2
        verdict = compare_runs(store, run_in_turns(store, (sides[0], sides[changed]))).verdicts[1]
        found[changed] = found[changed].with_(verdict, truth if changed else 1.0)
        say(f"in turns, truth {truth if changed else 1.0:.3f}: {_words(verdict)}")
    return found[0], found[1]


def _marked(side: Any) -> Any:
    """Under another name, so that it is not taken for a run to pair with others."""
    return replace(side, request=replace(side.request, source=f"{side.request.source} turns"))


def _words(verdict: Any) -> str:
    return f"{verdict.ratio:.3f} ({verdict.low:.3f} to {verdict.high:.3f}) {verdict.words}"


def main() -> None:
    from profiler.store import open_store

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", default=KNOWN, help="a source, or 'known'")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--change", type=float, default=1.5)
    parser.add_argument("--truth", type=float, help="the ratio of undisturbed times, where it is not the change")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--db")
    options = parser.parse_args()
    truth = options.truth or options.change
    say = lambda words: print(words, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder, open_store(options.db or Path(folder, "t.db")) as store:
        sides = contender(options, 1.0), contender(options, options.change)
        with busy_loops(options.busy):
            if options.turns:
                same, changed = in_turns(store, (_marked(sides[0]), _marked(sides[1])), truth, options.turns, say)
                print(f"in turns, the same code: {same}\nin turns, {truth:g} times: {changed}")
            make_runs(store, sides, options.runs)
        if not options.turns:
            same, changed = scores(store, truth, say)
            print(f"the same code: {same}\n{truth:g} times: {changed}")


if __name__ == "__main__":
    main()
