"""For pytest: a fixture `kernelglass` that times a graph in a test, compares it with a baseline file, and fails by it.

    def test_mlp(kernelglass):
        kernelglass.time("sample:mlp", group="mlp")          # or a file, or a Graph with its arrays
        assert kernelglass.time(graph, arrays).median < 2e-3

`--kernelglass-update` writes the baseline file; without it each time is compared with what is there, by the verdicts
that `kernelglass compare` gives. Slower by more than `--kernelglass-fail-if-slower` fails the test, and so does a time
of which that cannot be told, unless `--kernelglass-untold=warn` is asked for. Nothing is imported until a test times.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from profiler.analysis.verdicts import Verdict
    from profiler.records import MeasuredRun, MeasureRequest, Summary

BASELINE = ".kernelglass-baseline.json"
_FORM = "kernelglass-baseline/1"
_taken: list[Taken] = []


@dataclass(frozen=True)
class Taken:
    """What a test timed: its name in the baseline file, its group, the times, and the verdict where there is one."""

    name: str
    group: str
    summary: Summary
    verdict: Verdict | None


def pytest_addoption(parser: pytest.Parser) -> None:
    """What may be asked for on pytest's command line."""
    group = parser.getgroup("kernelglass", "timing kernels with the fixture `kernelglass`")
    group.addoption("--kernelglass-baseline", metavar="FILE", default=BASELINE, help=f"The baseline file ({BASELINE}).")
    group.addoption("--kernelglass-update", action="store_true", help="Write the times of this run as the baseline.")
    group.addoption(
        "--kernelglass-fail-if-slower", metavar="PERCENT", default="5",
        help="Fail a test whose time is measurably slower than its baseline by more than this (5).",
    )  # fmt: skip
    group.addoption(
        "--kernelglass-untold", choices=("fail", "warn"), default="fail",
        help="What to do where it cannot be told whether a time is slower.",
    )  # fmt: skip


@pytest.fixture
def kernelglass(request: pytest.FixtureRequest) -> Iterator[Timer]:
    """Times graphs, and compares them with the baseline file."""
    yield Timer(request.config, request.node.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The times of this run, group by group."""
    if not _taken:
        return
    from profiler.units import seconds

    terminalreporter.section("kernelglass")
    for taken in sorted(_taken, key=lambda taken: (taken.group, taken.name)):
        found, verdict = taken.summary, taken.verdict
        words = f"{verdict.ratio:.3f} of its baseline: {verdict.words}" if verdict else "no baseline"
        where = f"{taken.group}  " if taken.group else ""
        interval = f"({seconds(found.low)} to {seconds(found.high)})"
        terminalreporter.write_line(f"{where}{taken.name}  {seconds(found.median)} {interval}  {words}")


class Timer:
    """What the fixture gives; `time` is all there is to it."""

    def __init__(self, config: pytest.Config, test: str) -> None:
        self._config, self._test, self._count = config, test, 0

    def time(
        self, what: str | Graph, arrays: Sequence[Any] | None = None, *, name: str = "", group: str = "",
        dims: dict[str, int] | None = None, threads: int | None = None, processes: int = 5, budget: float = 1.0,
        opt_level: int = 3,
    ) -> Summary:  # fmt: skip
        """Time a source (`sample:NAME`, a file) or a graph; the summary. Fails the test if it got slower."""
        from compiler.options import CompileOptions
        from profiler.analysis.statistics import summarise
        from profiler.records import MeasureRequest

        self._count += 1
        key = f"{self._test}::{name or self._count}"
        asked = MeasureRequest(
            key, threads=threads, processes=processes, budget=budget, count=False,
            options=CompileOptions(opt_level=opt_level),
        )  # fmt: skip
        result = _measured(asked, what, arrays, dims or {})
        summary = summarise(result.samples, result.blocks, result.processes)
        entry = entry_of(result)
        path = Path(str(self._config.getoption("--kernelglass-baseline")))
        known = read_baseline(path)
        verdict = None
        if self._config.getoption("--kernelglass-update"):
            write_baseline(path, known | {key: entry})
        elif key in known:
            verdict = judged(known[key], entry)
        _taken.append(Taken(key, group, summary, verdict))
        if verdict is not None:
            self._judge(key, verdict, known[key]["machine"] != entry["machine"])
        return summary

    def _judge(self, key: str, verdict: Verdict, elsewhere: bool) -> None:
        from profiler.analysis.verdicts import CANNOT_TELL, SLOWER

        limit = float(str(self._config.getoption("--kernelglass-fail-if-slower")).rstrip("%")) / 100
        words = (
            f"{key}: {verdict.ratio - 1:+.1%} against its baseline ({verdict.low - 1:+.1%} to {verdict.high - 1:+.1%})"
        )
        if not elsewhere and verdict.verdict == SLOWER and verdict.ratio > 1 + limit:
            pytest.fail(f"slower: {words}", pytrace=False)
        if elsewhere or verdict.verdict == CANNOT_TELL or verdict.high > 1 + limit:
            why = "the baseline is of another machine" if elsewhere else verdict.why or "the interval passes the limit"
            told = f"cannot tell whether it is slower: {words}: {why}"
            if self._config.getoption("--kernelglass-untold") == "fail":
                pytest.fail(told, pytrace=False)
            warnings.warn(told, stacklevel=3)


def _measured(
    asked: MeasureRequest, what: str | Graph, arrays: Sequence[Any] | None, dims: dict[str, int]
) -> MeasuredRun:
    """Times of a source or a graph, in processes of their own; whatever goes wrong fails the test in one line."""
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from compiler.errors import CompilerError
    from profiler.measure.measuring import measure
    from profiler.records import FINISHED

    try:
        graph, defaults = what, {}
        if isinstance(what, str):
            source = load_source(what)
            graph, defaults = source.graph, source.dims
            asked = replace(asked, libraries=tuple(map(str, source.library_paths)))
        assert not isinstance(graph, str)
        sizes = graph_sizes(graph, defaults, dims) if arrays is None else dims
        given = random_inputs(graph, sizes, 0, asked.libraries) if arrays is None else list(arrays)
        outcome = measure(replace(asked, dims=sizes), graph, given)
    except CompilerError as error:
        pytest.fail(f"it cannot be timed: {error}", pytrace=False)
    if outcome.error is not None or outcome.result.status != FINISHED:
        pytest.fail(f"it cannot be timed: it {outcome.error or outcome.result.error}", pytrace=False)
    return outcome.result


def entry_of(result: MeasuredRun) -> dict[str, Any]:
    """What is kept of a run: for each process what it needs for a call, the processor time it lost, and how long a
    fixed piece of work took beside it, in ns."""
    import numpy as np

    from profiler.analysis.undisturbed import times_of
    from profiler.measure.machine import this_machine

    times = times_of(result)
    threads = times.threads
    needed, own = np.exp(times.logs), np.exp(times.own_logs)
    lost = np.where(times.steady, 0.0, (1 - own / needed) * needed * threads)
    return {
        "machine": this_machine().fingerprint, "threads": threads, "ns": [round(float(x), 3) for x in needed],
        "lost_ns": [round(float(max(x, 0.0)), 3) for x in lost], "yardstick_ns": list(times.yardsticks),
    }  # fmt: skip


def judged(before: dict[str, Any], now: dict[str, Any]) -> Verdict:
    """Two entries against each other, by the verdicts of every comparison."""
    import numpy as np

    from profiler.analysis.undisturbed import Times
    from profiler.analysis.verdicts import compare_times

    def times(entry: dict[str, Any]) -> Times:
        ones = (1,) * len(entry["ns"])
        return Times(
            np.array(entry["ns"]), ones, ones, np.array(entry["lost_ns"]), entry["threads"],
            yardsticks=tuple(entry.get("yardstick_ns", ())),
        )  # fmt: skip

    return compare_times(times(before), times(now))


def read_baseline(path: Path) -> dict[str, Any]:
    """The entries of a baseline file; none where there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["form"] != _FORM or not all(_sound(entry) for entry in found["times"].values()):
            raise ValueError("it is none of this version")
        return found["times"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        words = f"{path} is not a baseline file ({error}); --kernelglass-update after removing it makes a new one"
        pytest.fail(words, pytrace=False)


def _sound(entry: Any) -> bool:
    numbers = [*entry["ns"], *entry["lost_ns"], *entry.get("yardstick_ns", ()), entry["threads"]]
    return len(entry["ns"]) == len(entry["lost_ns"]) > 0 and all(isinstance(x, int | float) and x >= 0 for x in numbers)


def write_baseline(path: Path, times: dict[str, Any]) -> None:
    """Write the entries, in their order, so that a difference of two files is one of times."""
    text = json.dumps({"form": _FORM, "times": dict(sorted(times.items()))}, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
