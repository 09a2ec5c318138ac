"""The figures of a run as the window shows them: the profiler's summaries and rates, row by row, and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.viewmodels.compilation import Compilation, Nodes
from app.viewmodels.frame.formats import seconds, size, time_scale
from app.viewmodels.requests import RunTimes
from profiler.analysis.aggregation import between_launches
from profiler.analysis.roofline import RooflinePoint, kernel_dtype, rates
from profiler.analysis.statistics import outlier_limit, quartiles, summarise
from profiler.counted import BYTES, COUNT, KINDS, SHARE, counted_at, total
from profiler.records import Summary


@dataclass(frozen=True)
class CallFigures:
    """One launch (or the whole model): its summary, quartiles, share of the whole call, what it reached, its times.

    `point` is where it lies in the roofline, under no roof yet.
    """

    index: int
    kernel: str
    nodes: Nodes
    summary: Summary | None
    quartiles: tuple[float, float]
    share: float
    point: RooflinePoint
    times: tuple[float, ...] = ()
    together: float | None = None
    """Of several launches: the sum of their medians; of what lies between them: what is left."""
    launches: int = 1
    uneven: float = 0.0
    """How many times the mean of its threads the slowest takes, where that is worth a word."""
    why: str = ""

    @property
    def median(self) -> float:
        """The median of process medians, in seconds; 0 where nothing was timed."""
        if self.together is not None:
            return self.together
        return self.summary.median if self.summary else 0.0


WHOLE = "whole model"
BETWEEN, TRACED = "between launches", "longer when launches are timed"


def whole_figures(run: RunTimes) -> CallFigures:
    """The run as one row: what all launches together took, from the beginning of the first to the end of the last."""
    median = run.summary.median if run.summary else 0.0
    point = rates(WHOLE, -1, median, sum(work for work, _ in run.work), sum(moved for _, moved in run.work))
    return CallFigures(-1, WHOLE, (), run.summary, _quartiles(run.totals), 1.0, point, run.totals)


CHECKS = {True: "\u2713 check passed", False: "\u2717 CHECK FAILED", None: "not checked"}


def run_words(run: RunTimes) -> str:
    """A run in a few words, for the status bar."""
    name = f"Run {run.number}" if run.number else "Run"
    return f"{name}: {seconds(whole_figures(run).median)} median, {CHECKS[run.ok]}"


def call_figures(compilation: Compilation, run: RunTimes) -> list[CallFigures]:
    """A row a launch."""
    total = _whole(run)
    rows = []
    counted = counted_at(run.sampling.counted if run.sampling is not None else ())
    for call, (_, times), summary, (work, moved) in zip(compilation.calls, run.calls, run.summaries, run.work):
        kernel = compilation.kernel_table.get(call.kernel)
        dtype = kernel_dtype(kernel.source) if kernel else ""
        point = rates(call.kernel, call.index, summary.median, work, moved, None, dtype, counted(call.index))
        share = summary.median / total
        rows.append(CallFigures(call.index, call.kernel, call.nodes, summary, _quartiles(times), share, point, times))
    return rows


def counted_rows(run: RunTimes) -> list[tuple[str, float | None, str, str]]:
    """What the device counted of each kernel, over all of its launches, as counters of the run; or why it did not."""
    found = run.sampling
    if found is None:
        return []
    rows: list[tuple[str, float | None, str, str]] = []
    for kernel in dict.fromkeys(launch.kernel for launch in found.counted):
        whole = total(found.counted, kernel)
        moved = sum(run.work[launch.position][1] for launch in found.counted if launch.kernel == kernel)
        for kind in KINDS:
            value = getattr(whole, kind.field)
            note = f"read and written, {size(moved)} were estimated" if kind.unit == BYTES else ""
            scaled = 100 * value if value is not None and kind.unit == SHARE else value
            rows.append((f"{kernel}: {kind.words}", scaled, "" if kind.unit == COUNT else kind.unit, note))
    if found.uncounted:
        rows.append(("the device's counters", None, "", found.uncounted))
    return rows


def between_figures(run: RunTimes) -> CallFigures | None:
    """What no launch accounts for, so that the rows of launches and this one are the whole call."""
    if run.summary is None or not run.summaries:
        return None
    rest = between_launches(run.summary.median, [summary.median for summary in run.summaries])
    words = "The median of whole calls, less those of all launches: barriers, waking threads, the host program."
    if rest < 0:
        words = "Launches are timed in calls of their own, which took longer than calls timed as a whole."
    name, point = BETWEEN if rest >= 0 else TRACED, rates(BETWEEN, -2, 0.0, None, None)
    return CallFigures(-2, name, (), None, (0.0, 0.0), rest / _whole(run), point, together=rest, why=words)


def _whole(run: RunTimes) -> float:
    """What shares are of: the whole call, where it was timed."""
    known = run.summary.median if run.summary else sum(summary.median for summary in run.summaries)
    return known or 1.0


def _quartiles(times: Sequence[float]) -> tuple[float, float]:
    return quartiles(times) if times else (0.0, 0.0)


def launch_times(run: RunTimes) -> dict[int, float]:
    """Median seconds of each launch, by its position."""
    return {index: summary.median for index, summary in enumerate(run.summaries)}


def kernel_times(run: RunTimes) -> dict[str, float]:
    """Median seconds of each kernel, over all of its calls."""
    totals: dict[str, float] = {}
    for (name, _), summary in zip(run.calls, run.summaries):
        totals[name] = totals.get(name, 0.0) + summary.median
    return totals


@dataclass(frozen=True)
class Distribution:
    """Times as bars, with the median, its interval, and every outlier by itself; all in seconds."""

    counts: np.ndarray
    edges: np.ndarray
    median: float
    low: float
    high: float
    outliers: tuple[float, ...]
    cut: float
    """Where the bars end; outliers may lie far beyond it."""
    coverage: float = 0.95

    @property
    def scale(self) -> tuple[float, str]:
        """What to multiply by, and the unit that gives."""
        return time_scale(self.median)


def distribution(times: Sequence[float], summary: Summary | None = None) -> Distribution | None:
    """The distribution of some times. Outliers are what the profiler counts as such, and no bar swallows them."""
    values = np.sort(np.array(times, dtype=float))
    if not len(values):
        return None
    limit = outlier_limit(values)
    outliers, rest = values[values > limit], values[values <= limit]
    found = summary or summarise(values * 1e9)
    bins = int(min(40, max(8, len(rest) ** 0.5 * 2)))
    counts, edges = (
        np.histogram(rest, bins)
        if rest[-1] > rest[0]
        else np.histogram(rest, 1, (rest[0] * 0.995, rest[0] * 1.005 + 1e-12))
    )
    return Distribution(
        counts,
        edges,
        found.median,
        found.low,
        found.high,
        tuple(float(x) for x in outliers),
        float(edges[-1]),
        found.coverage,
    )
