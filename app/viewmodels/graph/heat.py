"""What nodes cost, and how a cost is to be read: measured where it is, apportioned or estimated where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import flops, seconds, size


def node_costs(compilation: Compilation, heat: str, times: Mapping[int, float]) -> np.ndarray:
    """The cost of each node; a measured launch's time is divided among its nodes by their FLOPs."""
    nodes = compilation.nodes
    if heat == "bytes":
        return np.array([node.bytes if node.kind == "op" else 0 for node in nodes], float)
    work = np.array([node.flops for node in nodes], float)
    if heat == "flops":
        return work
    call = np.array([node.call for node in nodes], np.int64)
    known, share = call >= 0, np.maximum(work, 1.0)
    measured = np.zeros(int(call.max(initial=-1)) + 1)
    for index, value in times.items():
        if index < len(measured):
            measured[index] = value
    weight = np.bincount(call[known], share[known], len(measured))
    result = np.zeros(len(nodes))
    result[known] = measured[call[known]] * share[known] / np.maximum(weight[call[known]], 1.0)
    return result


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
