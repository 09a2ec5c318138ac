"""The roofline as it is drawn: which launches have a place in it, and which of its lines share a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.viewmodels.runs.run_figures import CallFigures
from profiler.analysis.roofline import under_roofs
from profiler.records import Ceiling


@dataclass(frozen=True)
class RoofPoint:
    """A launch and its place: FLOP per byte across, GFLOP/s up, the roof above it and what limits it there."""

    call: CallFigures
    intensity: float
    gflops: float
    roof: float | None
    share: float | None
    bound: str
    peak: str
    measured: bool = False
    """Whether its bytes were counted by the device."""
    above_memory: bool = False


def points(calls: Sequence[CallFigures], ceilings: Sequence[Ceiling], dtype: str = "") -> list[RoofPoint]:
    """The launches that have both work and traffic counted, under the peak of their own dtype or of one for all."""
    given = [replace(call.point, dtype=dtype) if dtype else call.point for call in calls]
    return [
        RoofPoint(
            call, p.intensity, p.gflops, p.roof, p.share, p.bound if p.roof else "", p.peak, p.measured, p.above_memory
        )
        for call, p in zip(calls, under_roofs(given, ceilings))
        if p.intensity and p.gflops
    ]


def nearby(levels: Iterable[tuple[str, float]], share: float = 0.25) -> list[tuple[str, float]]:
    """Levels whose lines lie too close together to be named apart, under one name, with the fastest's figure."""
    found: list[tuple[list[str], float]] = []
    for name, value in levels:
        if found and value > found[-1][1] * (1 - share):
            found[-1][0].append(name)
        else:
            found.append(([name], value))
    return [(", ".join(names), value) for names, value in found]
