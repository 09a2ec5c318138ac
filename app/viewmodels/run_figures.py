"""The figures of a run: median and spread of each kernel, what it reached, and the distribution of whole runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.viewmodels.compilation import Compilation, Nodes
from app.viewmodels.requests import RunResult


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


def call_figures(compilation: Compilation, run: RunResult) -> list[CallFigures]:
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
            )
        )
    return rows


def kernel_times(run: RunResult) -> dict[str, float]:
    """Median seconds of each kernel, over all of its calls."""
    totals: dict[str, float] = {}
    for name, times in run.calls:
        totals[name] = totals.get(name, 0.0) + (float(np.median(times)) if times else 0.0)
    return totals


def node_costs(compilation: Compilation, run: RunResult) -> dict[str, float]:
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


def histogram(times: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Counts and bin edges; outliers beyond the 99th percentile share the last bin."""
    values = np.array(times)
    if not len(values):
        return np.zeros(1), np.array([0.0, 1.0])
    top = float(np.quantile(values, 0.99))
    bins = int(min(40, max(8, len(values) ** 0.5 * 2)))
    return np.histogram(np.minimum(values, top), bins)
