"""Figures of a report that are gathered from several places: the funnel by stage, the summary, percentiles, rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.options import STAGE_NAMES
from compiler.statistics import OUTSIDE, elapsed_parts, funnel_of
from compiler.trace import PassRecord
from profiler.analysis.roofline import rates
from profiler.records import StageRecord

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


def stage_order(stage: str) -> int:
    """Where a stage comes on the way down; unknown ones come last."""
    return STAGE_NAMES.index(stage) if stage in STAGE_NAMES else len(STAGE_NAMES)


def funnel(compilation: dict[str, Any], stages: Sequence[StageRecord]) -> list[dict[str, Any]]:
    """A row a stage: operations after its last pass, lines and bytes of its text, and the time spent in it."""
    passes = [PassRecord(**row) for row in compilation["passes"]]
    steps = {step.stage: step for step in funnel_of(passes)}
    texts: dict[str, list[int]] = {}
    for stage in stages:
        lines, size = texts.setdefault(stage.stage, [0, 0])
        texts[stage.stage] = [lines + stage.text.count("\n"), size + len(stage.text.encode("utf-8", "surrogatepass"))]
    rows = [
        {
            "stage": name, "ops": getattr(steps.get(name), "ops", None), "lines": texts.get(name, [None, None])[0],
            "bytes": texts.get(name, [None, None])[1], "seconds": getattr(steps.get(name), "seconds", None),
            "share": getattr(steps.get(name), "share", None),
        }
        for name in sorted({*steps, *texts} - {"source"}, key=stage_order)
    ]  # fmt: skip
    return [row | {"bars": _bars(row, rows)} for row in rows]


def elapsed(compilation: dict[str, Any]) -> list[tuple[str, float, float]]:
    """(what, seconds, share) of the time that a compilation took by the clock; together they are all of it."""
    passes = [PassRecord(**row) for row in compilation["passes"]]
    whole = compilation["seconds"] + (compilation.get("stats") or {}).get("imports", 0.0)
    names = {OUTSIDE: "outside any pass (loading modules, waiting)"}
    return [(names.get(p.stage, p.stage), p.seconds, p.share) for p in elapsed_parts(passes, whole)]


def _bars(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How long the bar behind each figure is: its share of the largest in the column."""
    most = {name: max((other[name] or 0 for other in rows), default=0) for name in ("ops", "lines", "bytes", "seconds")}
    return {name: (row[name] or 0) / most[name] if most[name] else 0.0 for name in most}


def percentiles(nanoseconds: Sequence[int]) -> list[tuple[str, float]]:
    """(name, seconds) of the percentiles people ask for; only those that so many samples can tell."""
    values = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    asked = [p for p in PERCENTILES if min(p, 100 - p) * len(values) >= 100 or p == 50]
    return [(f"p{p}", float(np.percentile(values, p))) for p in asked] if values.size else []


def totals(document: dict[str, Any]) -> dict[str, Any]:
    """What the top of the page says about the whole run."""
    launches, times = document["launches"], document["times"]
    flops = sum(launch["flops"] or 0 for launch in launches)
    moved = sum(launch["bytes"] or 0 for launch in launches)
    inside = sum(launch["median"] for launch in launches)
    reached = rates("", -1, times["median"] if times else 0.0, flops, moved)
    decisions = document["compilation"]["decisions"] if document["compilation"] else []
    return {
        "flops": flops, "bytes": moved, "inside": inside, "gflops": reached.gflops, "gbytes": reached.gbytes,
        "spread": (times["high"] - times["low"]) / 2 / times["median"] if times and times["median"] else None,
        "fused": sum(d["accepted"] for d in decisions), "decisions": len(decisions),
        "longest": max((launch["median"] for launch in launches), default=0.0),
    }  # fmt: skip


def rules(decisions: Sequence[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """(rule, accepted, rejected) of the fusion ledger, the most used first."""
    counted = Counter((d["rule"], bool(d["accepted"])) for d in decisions)
    names = dict.fromkeys(d["rule"] for d in decisions)
    found = [(name, counted[name, True], counted[name, False]) for name in names]
    return sorted(found, key=lambda item: -(item[1] + item[2]))
