"""A comparison of runs as lines to show: what differs first, then a verdict for each kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.viewmodels.formats import seconds


@dataclass(frozen=True)
class KernelVerdict:
    """One kernel (or the whole model) over the sides; `ratio` is the last side against the first."""

    name: str
    nodes: tuple[str, ...]
    times: tuple[str, ...]
    ratio: float
    interval: str
    verdict: str
    differs_at: str


@dataclass(frozen=True)
class ComparisonView:
    """All of it."""

    title: str
    differences: tuple[str, ...]
    warnings: tuple[str, ...]
    sides: tuple[str, ...]
    rows: tuple[KernelVerdict, ...]


def comparison_view(document: dict[str, Any]) -> ComparisonView:
    """The profiler's comparison document as the window shows it."""
    sides = tuple(side["label"] for side in document["sides"])
    rows = [_row("whole model", (), document["whole"], document["verdicts"], document["model_differs_at"])]
    for kernel in document["kernels"]:
        names = " / ".join(dict.fromkeys("+".join(name) for name in kernel["names"] if name))
        rows.append(_row(names, tuple(kernel["nodes"]), kernel["times"], kernel["verdicts"], kernel["differs_at"]))
    differences = tuple(f"{d['what']}: {' | '.join(d['values'])}" for d in document["differences"])
    return ComparisonView(
        " against ".join(reversed(sides)), differences, tuple(document["warnings"]), sides, tuple(rows)
    )


def _row(name: str, nodes: tuple[str, ...], times: Any, verdicts: Any, differs: str | None) -> KernelVerdict:
    texts = tuple(seconds(t["median"]) if t else "" for t in times)
    verdict = verdicts[-1] if verdicts else None
    stage = "IR not kept" if differs is None else differs or "same IR"
    if verdict is None:
        return KernelVerdict(name, nodes, texts, 1.0, "", "one side only", stage)
    interval = f"{verdict['low']:.2f} to {verdict['high']:.2f}"
    return KernelVerdict(name, nodes, texts, verdict["ratio"], interval, verdict["verdict"], stage)
