"""How long calls took: the distribution, the order they came in, and the distribution of every kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from profiler.analysis.statistics import outlier_limit
from profiler.report.plots.axes import WIDTH, box, dot, fitted, line, plain, svg, text, x_axis, y_axis
from profiler.report.words import seconds, time_unit
from profiler.scale import Scale, linear

MOST_DOTS = 1500


def histogram(nanoseconds: Sequence[int], times: dict[str, Any]) -> Markup:
    """How many calls took how long, with the median and its interval. Far outliers share the last bar."""
    values = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    if not values.size:
        return Markup("")
    edge = outlier_limit(values)
    beyond = values[values > edge]
    shown = values[values <= edge]
    width, height, left, right, top, bottom = 520.0, 250.0, 56.0, 14.0, 26.0, 46.0
    scale = linear(float(shown.min()), float(shown.max()), left, width - right - (46 if beyond.size else 0), room=0.03)
    counts, edges = np.histogram(shown, bins=_bins(shown), range=(scale.low, scale.high))
    most = max(int(counts.max()), int(beyond.size))
    up = Scale(0, most * 1.05, height - bottom, top)
    unit, one = time_unit(float(values.max()))
    parts = y_axis(up, left, width - right, "calls")
    parts += x_axis(scale, height - bottom, height - bottom, f"time of a call, {unit}", lambda v: plain(v / one), 7)
    parts.append(
        box(scale(times["low"]), top, scale(times["high"]) - scale(times["low"]), height - bottom - top, "band")
    )
    for count, begin, end in zip(counts, edges, edges[1:]):
        if count:
            words = f"{count} calls of {seconds(begin)} to {seconds(end)}"
            x = scale(begin)
            parts.append(box(x + 0.5, up(count), scale(end) - x - 1, height - bottom - up(count), "bar", words))
    if beyond.size:
        x = width - right - 30
        words = f"{beyond.size} calls above {seconds(edge)}, the slowest {seconds(float(beyond.max()))}"
        parts.append(box(x, up(beyond.size), 22, height - bottom - up(beyond.size), "bar outlier", words))
        parts.append(text(x + 11, height - bottom + 15, f"> {plain(float(f'{edge / one:.3g}'))}", "middle", "tick"))
    x = scale(times["median"])
    anchor = "end" if x > width * 0.6 else "start"
    parts.append(line(x, top - 6, x, height - bottom, "median"))
    parts.append(
        text(x + (5 if anchor == "start" else -5), top - 9, f"median {seconds(times['median'])}", anchor, "name")
    )
    return svg(height, parts, "how many calls took how long", width)


def _bins(values: np.ndarray) -> int:
    """Freedman and Diaconis, within what can be drawn."""
    low, high = np.percentile(values, (25, 75))
    width = 2 * (high - low) / max(len(values), 1) ** (1 / 3)
    span = float(values.max() - values.min())
    return int(min(max(span / width if width > 0 else 1, 8), 48)) if span > 0 else 1


def samples_plot(nanoseconds: Sequence[int], blocks: Sequence[int], times: dict[str, Any]) -> Markup:
    """Every call in the order it was made, outliers too: a drift or a disturbance shows here, not in a histogram."""
    values = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    if not values.size:
        return Markup("")
    width, height, left, right, top, bottom = 520.0, 250.0, 56.0, 14.0, 26.0, 46.0
    unit, one = time_unit(float(values.max()))
    up = linear(float(values.min()), float(values.max()), height - bottom, top, room=0.06)
    across = Scale(0, max(len(values), 1), left, width - right)
    parts = y_axis(up, left, width - right, f"time of a call, {unit}", lambda v: plain(v / one))
    position = 0
    for number, count in enumerate(blocks):
        if number % 2:
            x = across(position)
            parts.append(box(x, top, across(position + count) - x, height - bottom - top, "stripe"))
        position += count
    parts += x_axis(across, height - bottom, height - bottom, "call, in order; stripes are blocks", most=6)
    parts.append(box(left, up(times["high"]), width - left - right, up(times["low"]) - up(times["high"]), "band"))
    parts.append(line(left, up(times["median"]), width - right, up(times["median"]), "median"))
    edge = outlier_limit(values)
    for index in _drawn(values, edge):
        kind, words = ("dot outlier", " (outlier)") if values[index] > edge else ("dot", "")
        parts.append(
            dot(across(index + 0.5), up(values[index]), 2, kind, f"call {index}: {seconds(values[index])}{words}")
        )
    return svg(height, parts, "the time of every call, in order", width)


def _drawn(values: np.ndarray, edge: float) -> list[int]:
    """Which samples to draw: all outliers, and as many of the others, evenly, as make a picture."""
    step = max(len(values) // MOST_DOTS, 1)
    return sorted({*range(0, len(values), step), *np.flatnonzero(values > edge).tolist()[:MOST_DOTS]})


def kernel_plot(launches: Sequence[dict[str, Any]]) -> Markup:
    """A row a launch: its samples, their quartiles as a box, 5% to 95% as whiskers, the median as a stroke."""
    rows = [(x, np.asarray(x["samples_ns"], dtype=np.float64) * 1e-9) for x in launches]
    rows = [(launch, values[values > 0]) for launch, values in rows]
    rows = [(launch, values) for launch, values in rows if values.size]
    if not rows:
        return Markup("")
    left, right, step, top = 210.0, 92.0, 26.0, 10.0
    low = min(float(values.min()) for _, values in rows)
    high = max(float(values.max()) for _, values in rows)
    bottom = top + len(rows) * step
    if high / low > 20:
        scale = Scale(low * 0.85, high * 1.15, left, WIDTH - right, log=True)
    else:
        scale = linear(0.0, high, left, WIDTH - right, room=0.0)
    unit, one = time_unit(high)
    words = f"time in the kernel, {unit}{' (logarithmic)' if scale.log else ''}"
    parts = x_axis(scale, top, bottom, words, lambda v: plain(float(f"{v / one:.3g}")))
    for number, (launch, values) in enumerate(rows):
        parts += _kernel_row(scale, top + (number + 0.5) * step, left, launch, values)
    return svg(bottom + 40, parts, "the distribution of each kernel's time")


def _kernel_row(scale: Scale, y: float, left: float, launch: dict[str, Any], values: np.ndarray) -> list[str]:
    p5, p25, p75, p95 = (float(v) for v in np.percentile(values, (5, 25, 75, 95)))
    median = launch["median"]
    words = (
        f"{launch['kernel']}: median {seconds(median)}, quartiles {seconds(p25)} to {seconds(p75)}, "
        f"5% to 95% {seconds(p5)} to {seconds(p95)}"
    )
    name = fitted(launch["kernel"], left - 40)
    parts = [
        text(24, y + 4, launch["position"], "end", "tick"),
        text(32, y + 4, name, "start"),
    ]
    for index in range(0, len(values), max(len(values) // 120, 1)):
        parts.append(dot(scale(values[index]), y + ((index * 7) % 9 - 4), 1.4, "dot faint"))
    parts.append(line(scale(p5), y, scale(p95), y, "whisker"))
    parts.append(box(scale(p25), y - 6, scale(p75) - scale(p25), 12, "boxplot", words, launch["nodes"], 2))
    parts.append(line(scale(median), y - 7, scale(median), y + 7, "median"))
    parts.append(text(WIDTH - 84, y + 4, seconds(median), "start", "figure"))
    return parts
