"""The figures of a run: median and spread of each kernel, what it reached, and the distribution of whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.viewmodels.compilation import Compilation, Nodes
from app.viewmodels.frame.formats import seconds
from app.viewmodels.requests import RunTimes


@dataclass(frozen=True)
class CallFigures:
    """One launch: seconds at the median and the quartiles, bytes and FLOPs a second."""

    index: int
    kernel: str
    nodes: Nodes
    median: float
    low: float
    high: float
    share: float
    bandwidth: float
    flops: float
    intensity: float
    times: tuple[float, ...] = ()


WHOLE = "whole model"


def whole_figures(run: RunTimes) -> CallFigures:
    """The run as one row: what all launches together took, from the beginning of the first to the end of the last."""
    times = run.totals
    low, high = (float(q) for q in np.quantile(times, (0.25, 0.75))) if times else (0.0, 0.0)
    median = float(np.median(times)) if times else 0.0
    work, moved = sum(w for w, _ in run.work), sum(b for _, b in run.work)
    rate = 1 / median if median else 0.0
    return CallFigures(
        -1, WHOLE, (), median, low, high, 1.0, moved * rate, work * rate, work / moved if moved else 0.0, times
    )


CHECKS = {True: "\u2713 check passed", False: "\u2717 CHECK FAILED", None: "not checked"}


def run_words(run: RunTimes) -> str:
    """A run in a few words, for the status bar."""
    name = f"Run {run.number}" if run.number else "Run"
    return f"{name}: {seconds(whole_figures(run).median)} median, {CHECKS[run.ok]}"


def call_figures(compilation: Compilation, run: RunTimes) -> list[CallFigures]:
    """A row a launch."""
    medians = [float(np.median(times)) if times else 0.0 for _, times in run.calls]
    total = sum(medians) or 1.0
    rows = []
    for call, (_, times), median in zip(compilation.calls, run.calls, medians):
        counted = run.work[call.index] if call.index < len(run.work) else (0, 0)
        work, moved = counted[0] or call.flops, counted[1] or call.bytes
        low, high = (float(q) for q in np.quantile(times, (0.25, 0.75))) if times else (0.0, 0.0)
        rate = 1 / median if median else 0.0
        intensity = work / moved if moved else 0.0
        rows.append(
            CallFigures(
                call.index,
                call.kernel,
                call.nodes,
                median,
                low,
                high,
                median / total,
                moved * rate,
                work * rate,
                intensity,
                times,
            )
        )
    return rows


def kernel_times(run: RunTimes) -> dict[str, float]:
    """Median seconds of each kernel, over all of its calls."""
    totals: dict[str, float] = {}
    for name, times in run.calls:
        totals[name] = totals.get(name, 0.0) + (float(np.median(times)) if times else 0.0)
    return totals


def node_costs(compilation: Compilation, run: RunTimes) -> dict[str, float]:
    """Seconds of each node: its call's median, which is measured, apportioned among the call's nodes by FLOPs."""
    costs: dict[str, float] = {}
    table = compilation.node_table
    for call, (_, times) in zip(compilation.calls, run.calls):
        if times:
            weights = {node: max(table[node].flops, 1) for node in call.nodes if node in table}
            total = sum(weights.values())
            for node, weight in weights.items():
                costs[node] = costs.get(node, 0.0) + float(np.median(times)) * weight / total
    return costs


def line_heat(sets: tuple[Nodes, ...], line_sets: np.ndarray, costs: dict[str, float]) -> np.ndarray:
    """0 to 1 for each line: the cost of its nodes shared out over the lines that came from them."""
    lines = np.bincount(line_sets, minlength=len(sets))
    share = np.array([sum(costs.get(node, 0.0) for node in nodes) for nodes in sets]) / np.maximum(lines, 1)
    top = share.max() if len(share) else 0.0
    return np.sqrt(share / top)[line_sets] if top > 0 else np.zeros(len(line_sets))


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

    @property
    def scale(self) -> tuple[float, str]:
        """What to multiply by, and the unit that gives."""
        for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "\u00b5s")):
            if self.median * factor >= 1:
                return factor, unit
        return 1e9, "ns"


def distribution(times: Sequence[float], interval: tuple[float, float] = (0.0, 0.0)) -> Distribution | None:
    """The distribution of some times. Outliers are what the profiler counts as such, and no bar swallows them."""
    from profiler.analysis.statistics import order_interval

    values = np.sort(np.array(times, dtype=float))
    if not len(values):
        return None
    first, third = np.quantile(values, (0.25, 0.75))
    limit = third + 3 * (third - first)
    outliers = values[values > limit]
    rest = values[values <= limit]
    low, high = interval if interval[1] else order_interval(values)
    bins = int(min(40, max(8, len(rest) ** 0.5 * 2)))
    counts, edges = (
        np.histogram(rest, bins)
        if rest[-1] > rest[0]
        else np.histogram(rest, 1, (rest[0] * 0.995, rest[0] * 1.005 + 1e-12))
    )
    return Distribution(
        counts, edges, float(np.median(values)), low, high, tuple(float(x) for x in outliers), float(edges[-1])
    )
