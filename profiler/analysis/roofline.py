"""The roofline: what each launch reaches against what this machine could at its arithmetic intensity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiler.records import COPY, GBYTES, GFLOPS, MULTIPLY, TENSOR, Ceiling


@dataclass(frozen=True)
class RooflinePoint:
    """One launch. `roof` is the most GFLOP/s possible at its intensity and dtype, `share` how much of it it reached.

    `peak` names what the flat part of the roof is: a dtype, or the tensor cores' products of it.
    """

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
    peak: str = ""


@dataclass(frozen=True)
class Roofline:
    """Points and the ceilings they lie under: `bandwidths` GB/s by level, `peaks` GFLOP/s by dtype ("tensor bf16")."""

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
    bandwidths, peaks = levels_of(ceilings), peaks_of(ceilings)
    memory = bandwidths.get("memory")
    points = []
    for launch in launches:
        dtype = (dtypes or {}).get(launch["kernel"], "f32")
        points.append(_point(launch, memory, peak_for(dtype, peaks), dtype))
    return Roofline(tuple(points), bandwidths, peaks)


def levels_of(ceilings: Sequence[Ceiling]) -> dict[str, float]:
    """GB/s by level of memory."""
    return {c.name.removeprefix(COPY): c.value for c in ceilings if c.unit == GBYTES}


def peaks_of(ceilings: Sequence[Ceiling]) -> dict[str, float]:
    """GFLOP/s by dtype, and by "tensor" and dtype."""
    return {c.name.removeprefix(MULTIPLY): c.value for c in ceilings if c.unit == GFLOPS}


def peak_for(dtype: str, peaks: Mapping[str, float]) -> tuple[str, float] | None:
    """The highest peak for a dtype, and its name: the tensor cores' where they were measured."""
    found = [(name, peaks[name]) for name in (dtype, f"{TENSOR}{dtype}") if name in peaks]
    return max(found, key=lambda entry: entry[1], default=None)


def _point(launch: dict[str, Any], memory: float | None, top: tuple[str, float] | None, dtype: str) -> RooflinePoint:
    name, peak = top or ("", None)
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
        launch["kernel"], launch["position"], seconds, intensity, gflops, gbytes, ratio, roof, share, bound, dtype, name
    )
