"""Hardware counters as reports, the command line and the window show them: measured traffic beside the estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from profiler.counted import BYTES, KINDS, SHARE, CountedLaunch, CounterKind, counted_at, total
from profiler.units import count, percent, size

MOST = 40
"""More launches than these are put together by kernel."""
HEADER = ("kernel", "estimated", *(kind.words for kind in KINDS))
"""Estimated are the bytes that had to be moved, from the graph; what follows was counted by the device."""


def counter_words(kind: CounterKind, value: float | None) -> str:
    """A counter's value as people read it; empty where there is none."""
    if value is None:
        return ""
    if kind.unit == BYTES:
        return size(value)
    return percent(value) if kind.unit == SHARE else count(value)


def counter_rows(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """A row a launch, or a kernel where there are many; nothing where nothing was counted."""
    counted = [CountedLaunch(**item) for item in (document.get("sampling") or {}).get("counted", ())]
    launches: Sequence[Mapping[str, Any]] = document["launches"]
    if not counted:
        return []
    if len(launches) <= MOST:
        at = counted_at(counted)
        return [_row(x["kernel"], x["bytes"], found) for x in launches if (found := at(x["position"])) is not None]
    moved: dict[str, int] = {}
    for x in launches:
        moved[x["kernel"]] = moved.get(x["kernel"], 0) + (x["bytes"] or 0)
    return [_row(name, whole, found) for name, whole in moved.items() if (found := total(counted, name)) is not None]


def uncounted_words(document: Mapping[str, Any]) -> str:
    """Why a sampled run has no counters, where that is worth a sentence."""
    return (document.get("sampling") or {}).get("uncounted", "")


def _row(kernel: str, moved: int | None, found: CountedLaunch) -> tuple[str, ...]:
    values = [counter_words(kind, getattr(found, kind.field)) for kind in KINDS]
    return kernel, size(moved) if moved is not None else "", *values
