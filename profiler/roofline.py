"""The roofline: what each launch reaches against what this machine could at its arithmetic intensity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiler.ceilings import Ceiling


@dataclass(frozen=True)
class RooflinePoint:
    """One launch. `roof` is the most GFLOP/s possible at its intensity and dtype, `share` how much of it it reached."""

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
    dtype: str = "f32"


@dataclass(frozen=True)
class Roofline:
    """Points and the ceilings they lie under: `bandwidths` GB/s by level, `peaks` GFLOP/s by dtype."""

    points: tuple[RooflinePoint, ...]
    bandwidths: dict[str, float]
    peaks: dict[str, float]


_TENSORS = re.compile(r"\b(\w+): Tensor\[(\w+),")
_FLOATS = ("f64", "f32", "bf16", "f16")


def kernel_dtype(source: str) -> str:
    """The dtype a kernel computes in, as its signature tells: that of its first floating-point operand; else empty."""
    found = _TENSORS.findall(source.partition("):")[0])
    operands = sorted(found, key=lambda item: item[0].startswith("out"))  # what it reads before what it writes
    return next((dtype for _, dtype in operands if dtype in _FLOATS), "")


def roofline(
    launches: Sequence[dict[str, Any]], ceilings: Sequence[Ceiling], dtypes: Mapping[str, str] | None = None
) -> Roofline:
    """The launches of a stored run against ceilings; without ceilings, points have no roof.

    `dtypes` says what each kernel computes in, f32 where it does not. No peak was measured for some: they have no roof.
    """
    bandwidths = {c.name.removeprefix("copy "): c.value for c in ceilings if c.unit == "GB/s"}
    peaks = {c.name.removeprefix("multiply-add "): c.value for c in ceilings if c.unit == "GFLOP/s"}
    memory = bandwidths.get("memory")
    points = []
    for launch in launches:
        dtype = (dtypes or {}).get(launch["kernel"], "f32")
        points.append(_point(launch, memory, peaks.get(dtype), dtype))
    return Roofline(tuple(points), bandwidths, peaks)


def _point(launch: dict[str, Any], memory: float | None, peak: float | None, dtype: str) -> RooflinePoint:
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
        launch["kernel"], launch["position"], seconds, intensity, gflops, gbytes, ratio, roof, share, bound, dtype
    )
