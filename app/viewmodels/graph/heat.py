"""What nodes cost, and how a cost is to be read: measured where it is, apportioned or estimated where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import flops, seconds, size
from profiler.sampled import Sampling


def node_costs(
    compilation: Compilation, heat: str, times: Mapping[int, float], samples: Mapping[str, float] | None = None
) -> np.ndarray:
    """The cost of each node, in the order of the nodes; `samples` of each node divide a launch's time, where known."""
    nodes = compilation.nodes
    if heat == "bytes":
        return np.array([node.bytes if node.kind == "op" else 0 for node in nodes], float)
    if heat == "flops":
        return np.array([node.flops for node in nodes], float)
    costs = apportioned(compilation, times, samples)
    return np.array([costs.get(node.name, 0.0) for node in nodes], float)


def node_samples(found: Sampling | None) -> dict[str, float]:
    """Samples of each graph node."""
    counts: dict[str, float] = {}
    for kernel in found.kernels if found is not None else ():
        for node, count in kernel.nodes:
            counts[node] = counts.get(node, 0.0) + count
    return counts


def apportioned(
    compilation: Compilation, times: Mapping[int, float], samples: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Seconds of each node by name: its launch's time, which is measured, divided among the launch's nodes: by samples
    where there are any of them, else by FLOPs."""
    costs: dict[str, float] = {}
    table = compilation.node_table
    for call in compilation.calls:
        if call.index in times:
            sampled = {node: samples[node] for node in call.nodes if node in samples} if samples else {}
            weights = sampled or {node: float(max(table[node].flops, 1)) for node in call.nodes if node in table}
            total = sum(weights.values())
            for node, weight in weights.items():
                costs[node] = costs.get(node, 0.0) + times[call.index] * weight / total
    return costs


def launch_cost(compilation: Compilation, heat: str, times: Mapping[int, float], calls: Iterable[int]) -> float:
    """The cost of launches together: their time is measured, not divided up."""
    if heat == "time":
        return sum(times.get(call, 0.0) for call in calls)
    return float(sum(getattr(compilation.calls[call], heat) for call in calls))


def heat_words(heat: str, measured: bool, sampled: bool = False) -> str:
    """How the heat is to be read."""
    if heat == "time" and measured and sampled:
        return "measured per kernel, divided among its nodes by samples"
    if heat == "time":
        return "measured per kernel, apportioned to its nodes by FLOPs" if measured else "not measured: run first (F5)"
    return {"bytes": "moved, estimated from shapes", "flops": "estimated from shapes"}.get(heat, "")


def amount(heat: str, value: float) -> str:
    """A cost in the unit of its heat."""
    return {"time": seconds, "bytes": size}.get(heat, flops)(value)
