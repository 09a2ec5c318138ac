"""The roofline: what each launch reaches against what this machine could at its arithmetic intensity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profiler.ceilings import Ceiling


@dataclass(frozen=True)
class RooflinePoint:
    """One launch. `roof` is the most GFLOP/s possible at its intensity, `share` how much of it was reached."""

    kernel: str
    position: int
    seconds: float
    intensity: float | None
    gflops: float | None
    gbytes: float | None
    issued_ratio: float | None
    roof: float | None
    share: float | None
    bound: str


@dataclass(frozen=True)
class Roofline:
    """Points and the ceilings they lie under: `bandwidths` GB/s by level, `peaks` GFLOP/s by dtype."""

    points: tuple[RooflinePoint, ...]
    bandwidths: dict[str, float]
    peaks: dict[str, float]


def roofline(launches: Sequence[dict[str, Any]], ceilings: Sequence[Ceiling], dtype: str = "f32") -> Roofline:
    """The launches of a stored run against ceilings; without ceilings, points have no roof."""
    bandwidths = {c.name.removeprefix("copy "): c.value for c in ceilings if c.unit == "GB/s"}
    peaks = {c.name.removeprefix("multiply-add "): c.value for c in ceilings if c.unit == "GFLOP/s"}
    memory, peak = bandwidths.get("memory"), peaks.get(dtype)
    return Roofline(tuple(_point(launch, memory, peak) for launch in launches), bandwidths, peaks)


def _point(launch: dict[str, Any], memory: float | None, peak: float | None) -> RooflinePoint:
    seconds, flops, moved = launch["median"], launch["flops"], launch["bytes"]
    gflops = flops / seconds * 1e-9 if flops and seconds else None
    gbytes = moved / seconds * 1e-9 if moved and seconds else None
    intensity = flops / moved if flops and moved else None
    issued = (launch["loads"] or 0) + (launch["stores"] or 0)
    ratio = issued / moved if moved and launch["loads"] is not None else None
    roof = share = None
    bound = "unknown"
    if memory and peak and intensity is not None and gflops is not None:
        roof = min(peak, memory * intensity)
        share = gflops / roof
        bound = "compute" if peak < memory * intensity else "memory"
    elif memory and gbytes is not None and not flops:
        share, bound = gbytes / memory, "memory"
    return RooflinePoint(
        launch["kernel"], launch["position"], seconds, intensity, gflops, gbytes, ratio, roof, share, bound
    )
