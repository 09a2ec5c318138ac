"""The roofline's figures: slopes and flats of the ceilings, and how near each launch comes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.viewmodels.runs.run_figures import CallFigures

Ceilings = tuple[tuple[str, float, str], ...]  # name, value, GB/s or GFLOP/s


@dataclass(frozen=True)
class RoofPoint:
    """A launch: FLOP per byte, GFLOP/s, the roof above it for its dtype, and what limits it there."""

    call: CallFigures
    intensity: float
    gflops: float
    roof: float | None
    bound: str

    @property
    def share(self) -> float | None:
        """How much of the roof it reached."""
        return self.gflops / self.roof if self.roof else None


def slopes(ceilings: Ceilings) -> list[tuple[str, float]]:
    """(level, GB/s), the slowest last."""
    found = [(name.removeprefix("copy "), value) for name, value, unit in ceilings if unit == "GB/s"]
    return sorted(found, key=lambda entry: -entry[1])


def nearby(levels: Sequence[tuple[str, float]], share: float = 0.25) -> list[tuple[str, float]]:
    """Levels whose lines lie too close together to be named apart, under one name, with the fastest's figure."""
    found: list[tuple[list[str], float]] = []
    for name, value in levels:
        if found and value > found[-1][1] * (1 - share):
            found[-1][0].append(name)
        else:
            found.append(([name], value))
    return [(", ".join(names), value) for names, value in found]


def flats(ceilings: Ceilings) -> list[tuple[str, float]]:
    """(dtype, GFLOP/s), the highest first; the tensor cores' are called `tensor` and the dtype."""
    found = [(name.removeprefix("multiply-add "), value) for name, value, unit in ceilings if unit == "GFLOP/s"]
    return sorted(found, key=lambda entry: -entry[1])


def peak(ceilings: Ceilings, dtype: str) -> tuple[str, float] | None:
    """(name, GFLOP/s) of the highest flat roof for a dtype: the tensor cores' where they were measured."""
    return next(((name, value) for name, value in flats(ceilings) if name in (dtype, f"tensor {dtype}")), None)


def points(calls: Sequence[CallFigures], ceilings: Ceilings, dtype: str = "f32") -> list[RoofPoint]:
    """The launches that have both work and traffic counted."""
    memory, top = dict(slopes(ceilings)).get("memory"), peak(ceilings, dtype)
    found = []
    for call in calls:
        if call.intensity <= 0 or call.flops <= 0:
            continue
        roof, bound = None, ""
        if memory and top:
            roof = min(top[1], memory * call.intensity)
            bound = "compute" if top[1] < memory * call.intensity else "memory"
        found.append(RoofPoint(call, call.intensity, call.flops / 1e9, roof, bound))
    return found
