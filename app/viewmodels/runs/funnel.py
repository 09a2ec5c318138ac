"""The funnel: for each stage how large its IR is and how long it took, in the order a graph goes through them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.viewmodels.compilation import Compilation

ORDER = ("mo", "mogg", "mgp", "kgen", "kernel", "llvm", "machine", "cache", "link")
TITLES = {
    "mo": "graph passes", "mogg": "fusion", "mgp": "program", "kgen": "elaboration", "kernel": "kernel passes",
    "llvm": "LLVM emission", "machine": "LLVM optimise + emit", "link": "link", "cache": "reading the cache",
}  # fmt: skip


@dataclass(frozen=True)
class FunnelRow:
    """One stage; a size that was not counted is -1."""

    stage: str
    title: str
    seconds: float
    ops: int
    bytes: int
    passes: int


def funnel(compilation: Compilation) -> list[FunnelRow]:
    """The stages that ran."""
    rows = []
    stages = {row.stage for row in compilation.passes if row.stage != "llvm-pass"}
    for stage in (*ORDER, *sorted(stages - set(ORDER))):
        passes = [row for row in compilation.passes if row.stage == stage]
        if passes:
            ops = {row.kernel: row.ops_after for row in passes if row.ops_after >= 0}
            held = {row.kernel: row.bytes_after for row in passes if row.bytes_after >= 0}
            rows.append(
                FunnelRow(
                    stage, TITLES.get(stage, stage), sum(row.seconds for row in passes), _all(ops), _all(held),
                    len(passes),
                )
            )  # fmt: skip
    return rows


def _all(last: dict[str, int]) -> int:
    """What the last pass over each kernel left, together; a pass over the whole module (no kernel) holds them all."""
    if not last:
        return -1
    return last[""] if "" in last else sum(last.values())


def from_cache(rows: Sequence[FunnelRow]) -> bool:
    """Whether the stages that make code did not run because their results were already there."""
    return bool(rows) and not any(row.stage in ("kgen", "kernel", "llvm", "machine") for row in rows)


def bar_share(value: float, values: Sequence[float], log: bool) -> float:
    """How long a bar is, 0 to 1. With `log`, a tenth of the largest is a step shorter, and the smallest still shows."""
    known = [v for v in values if v > 0]
    if value <= 0 or not known:
        return 0.0
    most = max(known)
    if not log:
        return value / most
    low = min(known) / 10
    return math.log(value / low) / math.log(most / low)
