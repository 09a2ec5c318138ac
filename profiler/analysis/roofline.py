"""The roofline: what each launch reaches against what a machine could at its arithmetic intensity and dtype.

Reports, the command line and the window draw or print these points; none of them reckons a rate or a roof itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from profiler.counted import CountedLaunch, counted_at
from profiler.records import COPY, GBYTES, GFLOPS, MULTIPLY, TENSOR, Ceiling


@dataclass(frozen=True)
class RooflinePoint:
    """One launch, or a whole run: what it reached, and under which roof.

    `roof` is the most GFLOP/s possible at its intensity and dtype, `share` how much of it was reached; `peak` names
    what the flat part of the roof is: a dtype, or the tensor cores' products of it. Where the device counted the bytes
    that went to and from its memory (`measured`), intensity and GB/s are of those; else of the bytes that had to.
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
    measured: bool = False

    @property
    def above_memory(self) -> bool:
        """Whether its bytes came faster than memory gives them: from a cache, or memory was measured too slow."""
        return self.share is not None and self.share > 1 and self.bound == "memory" and not self.measured


_TENSORS = re.compile(r"\b(\w+): Tensor\[(\w+),")
_FLOATS = ("f64", "f32", "bf16", "f16")


def kernel_dtype(source: str) -> str:
    """The dtype a kernel computes in, as its signature tells: that of its first floating-point operand; else empty."""
    found = _TENSORS.findall(source.partition("):")[0])
    operands = sorted(found, key=lambda item: item[0].startswith("out"))  # what it reads before what it writes
    return next((dtype for _, dtype in operands if dtype in _FLOATS), "")


def roofline(
    launches: Sequence[Mapping[str, Any]],
    ceilings: Sequence[Ceiling],
    dtypes: Mapping[str, str] | None = None,
    counted: Sequence[CountedLaunch] = (),
) -> list[RooflinePoint]:
    """The launches of a run against ceilings, a point each; without ceilings, points have no roof.

    `dtypes` says what each kernel computes in, f32 where it does not. No peak was measured for some: they have no roof.
    """
    at = counted_at(counted)
    return under_roofs(
        [
            rates(
                launch["kernel"], launch["position"], launch["median"], launch["flops"], launch["bytes"],
                None if launch["loads"] is None else launch["loads"] + (launch["stores"] or 0),
                (dtypes or {}).get(launch["kernel"], "f32"), at(launch["position"]),
            )
            for launch in launches
        ],
        ceilings,
    )  # fmt: skip


def rates(
    kernel: str, position: int, seconds: float, flops: int | None, moved: int | None, issued: int | None = None,
    dtype: str = "f32", counted: CountedLaunch | None = None,
) -> RooflinePoint:  # fmt: skip
    """What a launch (or a whole run) reaches: rates and intensity, under no roof yet."""
    dram = counted.dram_bytes if counted is not None else None
    went = dram or moved
    gflops = flops / seconds * 1e-9 if flops and seconds else None
    gbytes = went / seconds * 1e-9 if went and seconds else None
    intensity = flops / went if flops and went else None
    ratio = issued / moved if moved and issued is not None else None
    return RooflinePoint(
        kernel, position, seconds, intensity, gflops, gbytes, ratio, None, None, "unknown", dtype, measured=bool(dram)
    )


def under_roofs(points: Sequence[RooflinePoint], ceilings: Sequence[Ceiling]) -> list[RooflinePoint]:
    """The same points under the roofs of a machine, each under those of its own dtype."""
    memory, peaks = levels_of(ceilings).get("memory"), peaks_of(ceilings)
    return [_under(point, memory, *(peak_for(point.dtype, peaks) or ("", None))) for point in points]


def _under(point: RooflinePoint, memory: float | None, name: str, peak: float | None) -> RooflinePoint:
    if memory and peak and point.intensity is not None and point.gflops is not None:
        roof = min(peak, memory * point.intensity)
        bound = "compute" if peak < memory * point.intensity else "memory"
        return replace(point, roof=roof, share=point.gflops / roof, bound=bound, peak=name)
    if memory and point.gbytes is not None and point.gflops is None:
        return replace(point, share=point.gbytes / memory, bound="memory", peak=name)
    return replace(point, peak=name)


def levels_of(ceilings: Sequence[Ceiling]) -> dict[str, float]:
    """GB/s by level of memory, the fastest first."""
    return _by_name(ceilings, GBYTES, COPY)


def peaks_of(ceilings: Sequence[Ceiling]) -> dict[str, float]:
    """GFLOP/s by dtype, and by "tensor" and dtype, the highest first."""
    return _by_name(ceilings, GFLOPS, MULTIPLY)


def _by_name(ceilings: Sequence[Ceiling], unit: str, prefix: str) -> dict[str, float]:
    found = {c.name.removeprefix(prefix): c.value for c in ceilings if c.unit == unit}
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def peak_for(dtype: str, peaks: Mapping[str, float]) -> tuple[str, float] | None:
    """The highest peak for a dtype, and its name: the tensor cores' where they were measured."""
    found = [(name, peaks[name]) for name in (dtype, f"{TENSOR}{dtype}") if name in peaks]
    return max(found, key=lambda entry: entry[1], default=None)
