"""What nodes cost, and how a cost is to be read: measured where it is, apportioned or estimated where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import flops, seconds, size


def node_costs(compilation: Compilation, heat: str, times: Mapping[int, float]) -> np.ndarray:
    """The cost of each node, in the order of the nodes."""
    nodes = compilation.nodes
    if heat == "bytes":
        return np.array([node.bytes if node.kind == "op" else 0 for node in nodes], float)
    if heat == "flops":
        return np.array([node.flops for node in nodes], float)
    costs = apportioned(compilation, times)
    return np.array([costs.get(node.name, 0.0) for node in nodes], float)


def apportioned(compilation: Compilation, times: Mapping[int, float]) -> dict[str, float]:
    """Seconds of each node by name: its launch's time, which is measured, divided among the launch's nodes by FLOPs."""
    costs: dict[str, float] = {}
    table = compilation.node_table
    for call in compilation.calls:
        if call.index in times:
            weights = {node: max(table[node].flops, 1) for node in call.nodes if node in table}
            total = sum(weights.values())
            for node, weight in weights.items():
                costs[node] = costs.get(node, 0.0) + times[call.index] * weight / total
    return costs


def launch_cost(compilation: Compilation, heat: str, times: Mapping[int, float], calls: Iterable[int]) -> float:
    """The cost of launches together: their time is measured, not divided up."""
    if heat == "time":
        return sum(times.get(call, 0.0) for call in calls)
    return float(sum(getattr(compilation.calls[call], heat) for call in calls))


def heat_words(heat: str, measured: bool) -> str:
    """How the heat is to be read."""
    if heat == "time":
        return "measured per kernel, apportioned to its nodes by FLOPs" if measured else "not measured: run first (F5)"
    return {"bytes": "moved, estimated from shapes", "flops": "estimated from shapes"}.get(heat, "")


def amount(heat: str, value: float) -> str:
    """A cost in the unit of its heat."""
    return {"time": seconds, "bytes": size}.get(heat, flops)(value)
