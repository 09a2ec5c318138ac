"""The funnel as the window shows it: the compiler's figures of each stage, with its title, and the length of bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.viewmodels.compilation import Compilation
from compiler.options import STAGE_TABLE
from compiler.statistics import UNACCOUNTED, Elapsed, elapsed_parts, funnel_of


@dataclass(frozen=True)
class FunnelRow:
    """One stage; a size that was not counted is -1."""

    stage: str
    title: str
    seconds: float
    ops: int
    bytes: int
    passes: int
    elapsed: float = 0.0  # by the clock: what several processes did at once counts once
    share: float = 0.0  # of all that went by


def funnel(compilation: Compilation) -> list[FunnelRow]:
    """The stages that ran."""
    passes = Counter(row.stage for row in compilation.passes)
    parts = {part.stage: part for part in _elapsed(compilation)}
    return [
        FunnelRow(
            step.stage, _title(step.stage), step.seconds, -1 if step.ops is None else step.ops,
            -1 if step.bytes is None else step.bytes, passes[step.stage],
            parts[step.stage].seconds, parts[step.stage].share,
        )
        for step in funnel_of(compilation.passes)
    ]  # fmt: skip


def unaccounted(compilation: Compilation) -> list[FunnelRow]:
    """The time that no pass accounts for, so that all rows together are the time that went by."""
    return [
        FunnelRow(part.stage, UNACCOUNTED[part.stage], part.seconds, -1, -1, 0, part.seconds, part.share)
        for part in _elapsed(compilation)
        if part.stage in UNACCOUNTED
    ]


def _elapsed(compilation: Compilation) -> list[Elapsed]:
    return elapsed_parts(compilation.passes, compilation.elapsed, compilation.imports)


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


def _title(stage: str) -> str:
    """What is done in a stage; its name where nobody says, as in a store from another version."""
    known = STAGE_TABLE.get(stage)
    return known.work if known and known.work else stage
