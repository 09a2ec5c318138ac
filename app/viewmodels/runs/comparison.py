"""A comparison of runs or compilations as the window shows it: what differs first, then a verdict for each kernel."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from app.viewmodels.compilation import STAGES
from app.viewmodels.frame.formats import seconds

_WHAT = {"force_cut": "cut by hand", "force_fuse": "fused by hand", "sources": "edited kernels", "opt_level": "-O"}
SAME_FUSION = "same fusion"  # and so the same graph


@dataclass(frozen=True)
class Side:
    """One of the things compared, and the stored compilation its texts are of (0 where there is none); its run."""

    label: str
    compilation: int
    compile_seconds: float
    run: int = 0


@dataclass(frozen=True)
class Fact:
    """Something that is not the same on every side."""

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class SideVerdict:
    """A side against the first: the ratio of what calls need undisturbed, its interval, what that means, and that in
    full."""

    ratio: float
    interval: str
    words: str
    told: str = ""


@dataclass(frozen=True)
class KernelVerdict:
    """One kernel (or the whole model) over the sides: names, times, and a verdict for each side after the first.

    `differs_at` is the first stage whose IR differs between the first and the last side; empty where none does.
    """

    name: str
    nodes: tuple[str, ...]
    names: tuple[str, ...]
    times: tuple[str, ...]
    verdicts: tuple[SideVerdict | None, ...]
    differs_at: str
    note: str


@dataclass(frozen=True)
class ComparisonView:
    """All of it; `method` states the test behind the verdicts, in the profiler's words."""

    title: str
    differences: tuple[Fact, ...]
    warnings: tuple[str, ...]
    sides: tuple[Side, ...]
    rows: tuple[KernelVerdict, ...]
    method: str
    break_even: tuple[str, ...]
    timed: bool

    @property
    def runs(self) -> tuple[int, int] | None:
        """The first and the last run, where runs were compared."""
        ends = self.sides[0].run, self.sides[-1].run
        return ends if all(ends) and len(self.sides) > 1 else None

    def first_difference(self) -> KernelVerdict | None:
        """The row at which the comparison opens: the earliest stage that differs anywhere."""
        known = [row for row in self.rows if row.differs_at in STAGES]
        return min(known, key=lambda row: STAGES.index(row.differs_at), default=None)


def comparison_view(document: dict[str, Any]) -> ComparisonView:
    """The profiler's comparison document as the window shows it."""
    sides = tuple(
        Side(_label(side["label"]), side["compilation"] or 0, side["compile_seconds"] or 0.0, side["run"] or 0)
        for side in document["sides"]
    )
    timed = any(side["run"] is not None for side in document["sides"])
    whole = document["whole"] if timed else [None] * len(sides)
    stage = _stage(document["model_differs_at"])
    row = _row("whole model", (), ("",) * len(sides), whole, document["verdicts"], stage, timed)
    rows = [replace(row, note=SAME_FUSION if row.note == "same IR" else row.note)]
    for kernel in document["kernels"]:
        names = " / ".join(dict.fromkeys("+".join(name) for name in kernel["names"] if name))
        each = tuple(name[0] if name else "" for name in kernel["names"])
        row = _row(
            names,
            tuple(kernel["nodes"]),
            each,
            kernel["times"],
            kernel["verdicts"],
            _stage(kernel["differs_at"]),
            timed,
        )
        rows.append(row if kernel["matched"] == "what it computes" else replace(row, note="fused otherwise"))
    facts = [
        Fact(_WHAT.get(d["what"]) or str(d["what"]).replace("_", " "), tuple(map(_value, d["values"])))
        for d in document["differences"]
    ]
    if len({side.compile_seconds for side in sides}) > 1:
        facts.append(Fact("compile time", tuple(seconds(side.compile_seconds) for side in sides)))
    return ComparisonView(
        f"{sides[0].label} against {', '.join(side.label for side in sides[1:])}", tuple(facts),
        tuple(document["warnings"]), sides, tuple(rows), document.get("test", ""),
        tuple(document.get("break_even", ())), timed,
    )  # fmt: skip


def _label(text: str) -> str:
    return f"compilation {text[1:]}" if text[:1] == "c" and text[1:].isdigit() else text


def _value(text: str) -> str:
    """A list of edges as a reader writes it."""
    if not text.startswith("["):
        return text
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    pairs = [" \u2192 ".join(map(str, item)) if isinstance(item, list | tuple) else str(item) for item in found]
    return ", ".join(pairs) or "none"


def _stage(differs: str | None) -> str | None:
    """The profiler calls a changed graph `graph`; the stage to look at is the graph's text."""
    return "mo" if differs == "graph" else differs


def _told(verdict: dict[str, Any]) -> str:
    """The verdict in full, with what to do where there is none."""
    return "; ".join(filter(None, (verdict["words"], verdict["advice"])))


def _row(
    name: str, nodes: tuple[str, ...], names: tuple[str, ...], times: Any, verdicts: Any, differs: str | None,
    timed: bool,
) -> KernelVerdict:  # fmt: skip
    texts = tuple(f"{seconds(t['median'])}" if t else "" for t in times)
    found = tuple(
        SideVerdict(v["ratio"], f"{_ratio(v['low'])} to {_ratio(v['high'])}", v["verdict"], _told(v)) if v else None
        for v in verdicts
    )
    note = "IR not kept" if differs is None else "" if differs else "same IR"
    return KernelVerdict(name, nodes, names, texts, found, differs or "", note if timed else note or "compiled")


def _ratio(value: float) -> str:
    """A ratio with what can be read of it: of a hundredfold nobody wants hundredths."""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
