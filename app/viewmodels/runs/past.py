"""The history of a source as the window plots it: what is asked, what came back, and where it changed, in words."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass

from app.viewmodels.frame.formats import seconds

BY = (("run", "By run"), ("commit", "By commit"), ("tag", "By tag"))


@dataclass(frozen=True)
class HistoryRequest:
    """The runs of a source under the conditions of its newest, put together by run, commit or tag."""

    source: str
    by: str = "run"


@dataclass(frozen=True)
class Point:
    """A moment: its newest run's number, what it is called, when it was, and its time with the interval."""

    run: int
    label: str
    started: str
    median: float
    low: float
    high: float
    runs: int = 1


@dataclass(frozen=True)
class Step:
    """A change: the point from which on it holds, the first run after it, and by which ratio."""

    at: int
    run: int
    ratio: float

    @property
    def words(self) -> str:
        """How much slower or faster it became, and from where on."""
        return f"{self.ratio - 1:+.1%} from run {self.run} on"


@dataclass(frozen=True)
class Past:
    """A history; where there is none, `note` says why."""

    source: str
    by: str
    conditions: tuple[tuple[str, str], ...] = ()
    points: tuple[Point, ...] = ()
    steps: tuple[Step, ...] = ()
    others: int = 0
    note: str = ""

    @property
    def title(self) -> str:
        """What is plotted: under which conditions, and what is left out."""
        if self.note:
            return self.note
        shown = [f"{name} {value}" for name, value in self.conditions if value not in ("", "null", "{}")]
        left = f"; {self.others} runs under other conditions are left out" if self.others else ""
        return f"{', '.join(shown)}{left}"

    @property
    def words(self) -> str:
        """The plot for those who do not see it."""
        if not self.points:
            return self.note or "no history"
        first, last = self.points[0], self.points[-1]
        changes = "; ".join(step.words for step in self.steps) or "no change is certain"
        return (
            f"{len(self.points)} points from {seconds(first.median)} ({first.label}) to {seconds(last.median)} "
            f"({last.label}): {changes}"
        )

    def levels(self) -> list[tuple[int, int, float]]:
        """The stretches between changes: first point, last point, and the median of their medians."""
        borders = [0, *(step.at for step in self.steps), len(self.points)]
        return [
            (a, b - 1, statistics.median(point.median for point in self.points[a:b]))
            for a, b in itertools.pairwise(borders)
            if b > a
        ]
