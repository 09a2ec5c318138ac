"""Things over time: the launches of one call by thread, and the passes of a compilation by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from profiler.report.lanes import lanes
from profiler.report.plots.axes import WIDTH, box, fitted, plain, svg, text, x_axis
from profiler.report.words import seconds, time_unit
from profiler.scale import Scale

LEFT, RIGHT, TOP, ROW = 92.0, 16.0, 8.0, 26.0
HUES = 10


def _across(end: float) -> tuple[Scale, str, float]:
    unit, one = time_unit(end)
    return Scale(0.0, end or 1e-9, LEFT, WIDTH - RIGHT), unit, one


def _span(scale: Scale, y: float, begin: float, end: float, hue: int, words: str, name: str, nodes: Any = ()) -> str:
    """A box with its name in it where that fits."""
    x, width = scale(begin), scale(end) - scale(begin)
    inside = fitted(name, width - 8)
    label = text(x + 4, y + 14.5, inside, "start", "inside") if inside else ""
    return box(x, y, width, ROW - 6, f"span hue{hue % HUES}", words, nodes, 1, 2) + label


def timeline_plot(timeline: Sequence[Any], launches: Sequence[dict[str, Any]], track: str = "thread") -> Markup:
    """One traced call: a row a thread, a box a launch; what is empty is waiting."""
    if not timeline or not launches:
        return Markup("")
    end = max((pair[1] for thread in timeline for pair in thread), default=1) * 1e-9
    scale, unit, one = _across(end)
    bottom = TOP + len(timeline) * ROW
    parts = x_axis(scale, TOP, bottom, f"time since the call began, {unit}", lambda v: plain(float(f"{v / one:.4g}")))
    hues = {name: number for number, name in enumerate(dict.fromkeys(launch["kernel"] for launch in launches))}
    for number, thread in enumerate(timeline):
        y = TOP + number * ROW + 3
        parts.append(text(LEFT - 8, y + 14.5, f"{track} {number}", "end"))
        for launch, (begin, stop) in zip(launches, thread):
            name = f"{launch['position']} {launch['kernel']}"
            words = f"{name}: {seconds((stop - begin) * 1e-9)}, from {seconds(begin * 1e-9)}"
            parts.append(
                _span(scale, y, begin * 1e-9, stop * 1e-9, hues[launch["kernel"]], words, name, launch["nodes"])
            )
    return svg(bottom + 40, parts, "timeline of one call")


def passes_plot(passes: Sequence[dict[str, Any]]) -> Markup:
    """The passes of a compilation: at least a row a stage, more where passes ran at once."""
    if not passes:
        return Markup("")
    scale, unit, one = _across(max(p["start"] + p["seconds"] for p in passes))
    parts: list[str] = []
    hues = {name: number for number, name in enumerate(dict.fromkeys(p["name"] for p in passes))}
    y = TOP
    for stage in dict.fromkeys(p["stage"] for p in passes):
        spans = [(p["start"], p["start"] + p["seconds"], p) for p in passes if p["stage"] == stage]
        for number, lane in enumerate(lanes(spans)):
            if number == 0:
                parts.append(text(LEFT - 8, y + 17.5, stage, "end"))
            for begin, stop, p in lane:
                name = f"{p['name']} {p['kernel']}".strip()
                parts.append(
                    _span(scale, y + 3, begin, stop, hues[p["name"]], f"{name}: {seconds(p['seconds'])}", name)
                )
            y += ROW
    axis = x_axis(scale, TOP, y, f"time since the compilation began, {unit}", lambda v: plain(float(f"{v / one:.4g}")))
    return svg(y + 40, axis + parts, "compile passes over time")
