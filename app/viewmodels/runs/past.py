"""The history of a source as the window plots it: what is asked, what came back, and where it changed, in words."""

from __future__ import annotations

import itertools
import json
import statistics
from dataclasses import dataclass

from app.viewmodels.frame.formats import many, seconds
from profiler.records import Change, History, Moment

BY = (("run", "By run"), ("commit", "By commit"), ("tag", "By tag"))


@dataclass(frozen=True)
class HistoryRequest:
    """The runs of a source under the conditions of its newest, put together by run, commit or tag."""

    source: str
    by: str = "run"


@dataclass(frozen=True)
class Past:
    """A history; where there is none, `note` says why."""

    source: str
    by: str
    found: History | None = None
    note: str = ""

    @property
    def points(self) -> tuple[Moment, ...]:
        """The moments, oldest first."""
        return self.found.moments if self.found is not None else ()

    @property
    def steps(self) -> tuple[Change, ...]:
        """Where it changed."""
        return self.found.changes if self.found is not None else ()

    @property
    def title(self) -> str:
        """What is plotted: under which conditions, and what is left out."""
        if self.found is None:
            return self.note
        known, others = self.found.conditions.items(), self.found.others
        shown = [_condition(name, value) for name, value in known if value not in ("", "null", "{}")]
        left = f"; {many(others, 'run')} under other conditions left out" if others else ""
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


def _condition(name: str, value: str) -> str:
    """A condition as it is written elsewhere: what says by itself what it is stands alone."""
    if name == "dims" and isinstance(sizes := _read(value), dict):
        return " ".join(f"{dim}={size}" for dim, size in sizes.items())
    return {"opt_level": f"-O{value}", "flow": value, "machine": value, "device": f"on {value}"}.get(
        name, f"{name} {value}"
    )


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
