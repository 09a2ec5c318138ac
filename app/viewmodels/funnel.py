"""The funnel: for each stage how large its IR is and how long it took, in the order a graph goes through them."""

from __future__ import annotations

from dataclasses import dataclass

from app.viewmodels.compilation import Compilation

ORDER = ("mo", "mogg", "mgp", "kgen", "kernel", "llvm", "machine", "link")
TITLES = {
    "mo": "graph passes", "mogg": "fusion", "mgp": "program", "kgen": "elaboration", "kernel": "kernel passes",
    "llvm": "LLVM emission", "machine": "LLVM optimise + emit", "link": "link",
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
            ops = [row.ops_after for row in passes if row.ops_after >= 0]
            held = [row.bytes_after for row in passes if row.bytes_after >= 0]
            merged = ops[-1] if ops else -1
            rows.append(
                FunnelRow(
                    stage, TITLES.get(stage, stage), sum(row.seconds for row in passes), merged,
                    sum(held) if held else -1, len(passes),
                )
            )  # fmt: skip
    return rows
