"""The roofline: what each launch reached, under what this machine was measured to be able to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from profiler.analysis.roofline import levels_of, peaks_of
from profiler.records import GBYTES, GFLOPS, Ceiling
from profiler.report.plots.axes import WIDTH, dot, line, svg, text, x_axis, y_axis
from profiler.report.words import seconds
from profiler.scale import Scale, round_up
from profiler.units import rate

HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400.0, 62.0, 20.0, 14.0, 350.0


def roofline_plot(points: Sequence[dict[str, Any]], ceilings: Sequence[dict[str, Any]]) -> Markup:
    """GFLOP/s over FLOP/B, both logarithmic. Points are numbered as the table of kernels is."""
    shown = [p for p in points if p["intensity"] and p["gflops"]]
    if not shown:
        return Markup("")
    measured = [Ceiling(**ceiling) for ceiling in ceilings]
    bandwidths, peaks = levels_of(measured), peaks_of(measured)
    across, up = _scales(shown, bandwidths, peaks)
    parts = y_axis(up, LEFT, WIDTH - RIGHT, "achieved, GFLOP/s")
    parts += x_axis(across, TOP, BOTTOM, "arithmetic intensity, FLOP per byte of compulsory traffic")
    parts += _slopes(across, up, bandwidths, max(peaks.values(), default=up.high))
    parts += _flats(across, up, bandwidths, peaks)
    for point in shown:
        under = f"{point['bound']}, {point['peak'] or point['dtype']}"
        reached = f", {point['share']:.0%} of its roof ({under})" if point["share"] is not None else ""
        words = (
            f"{point['position']} {point['kernel']}: {rate(point['gflops'], GFLOPS)} "
            f"at {point['intensity']:.3g} FLOP/B, {seconds(point['median'])}{reached}"
        )
        x, y = across(point["intensity"]), up(point["gflops"])
        parts.append(dot(x, y, 9, "point", words, point.get("nodes", ())))
        parts.append(text(x, y + 3.6, point["position"], "middle", "inpoint"))
    return svg(HEIGHT, parts, "roofline")


def _scales(
    shown: Sequence[dict[str, Any]], bandwidths: dict[str, float], peaks: dict[str, float]
) -> tuple[Scale, Scale]:
    """Scales that hold the points, the peaks and the bends between slope and peak of the slowest memory."""
    highest = [max(peaks.values())] if peaks else []
    bends = [highest[0] / bandwidths["memory"]] if highest and bandwidths.get("memory") else []
    xs = [p["intensity"] for p in shown] + bends
    ys = [p["gflops"] for p in shown] + highest
    across = Scale(_floor(min(xs) / 2), round_up(max(xs) * 2), LEFT, WIDTH - RIGHT, log=True)
    return across, Scale(_floor(min(ys) / 1.6), round_up(max(ys) * 1.5), BOTTOM, TOP, log=True)


def _floor(value: float) -> float:
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * factor for factor in (5, 2, 1) if size * factor <= value * 1.001)


def _slopes(across: Scale, up: Scale, bandwidths: dict[str, float], highest: float) -> list[str]:
    """A sloped roof a memory level, named along it; levels that measure alike share a name."""
    parts = []
    named: list[tuple[float, list[str]]] = []
    for name, value in sorted(bandwidths.items(), key=lambda item: -item[1]):
        start, bend = max(across.low, up.low / value), min(highest / value, across.high)
        if bend <= start:
            continue
        x1, y1, x2, y2 = across(start), up(start * value), across(bend), up(bend * value)
        parts.append(line(x1, y1, x2, y2, "roof memory" if name == "memory" else "roof"))
        words = f"{name} {rate(value, GBYTES)}"
        if named and named[-1][0] / value < 1.25:
            named[-1][1].append(words)
        else:
            named.append((value, [words]))
    for value, words in named:
        start, bend = max(across.low, up.low / value), min(highest / value, across.high)
        x1, y1, x2, y2 = across(start), up(start * value), across(bend), up(bend * value)
        turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
        x, y = x1 + (x2 - x1) * 0.06 + 4, y1 + (y2 - y1) * 0.06
        parts.append(text(x - 3, y - 6, ", ".join(words), "start", "small", turn))
    return parts


def _flats(across: Scale, up: Scale, bandwidths: dict[str, float], peaks: dict[str, float]) -> list[str]:
    """A flat roof a dtype, from where the fastest level reaches it."""
    parts = []
    fastest = max(bandwidths.values(), default=0)
    for name, value in peaks.items():
        if not up.low <= value <= up.high:
            continue
        start = across(max(value / fastest, across.low)) if fastest else across.begin
        parts.append(line(start, up(value), across.end, up(value), "roof"))
        parts.append(text(across.end - 4, up(value) - 5, f"{name} {rate(value, GFLOPS)}", "end", "small"))
    return parts
