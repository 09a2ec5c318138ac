"""Runs side by side: the time of a call on each, and the ratio of each kernel with its interval."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from profiler.report.markdown import kernel_words
from profiler.report.plots.axes import WIDTH, box, dot, fitted, line, plain, svg, text, x_axis
from profiler.report.words import seconds, time_unit
from profiler.scale import Scale, linear

LEFT, RIGHT, TOP, ROW = 230.0, 190.0, 8.0, 28.0
_KINDS = {"faster": "good", "slower": "bad", "cannot tell": "untold"}
_BRIEF = {"no measurable difference": "no difference"}
_FARTHEST = 20.0  # an interval may reach anywhere; the others are still to be read


def whole_plot(document: dict[str, Any]) -> Markup:
    """A row a side: the median of a call and its interval."""
    rows = [(side, times) for side, times in zip(document["sides"], document["whole"]) if times]
    if not rows:
        return Markup("")
    most = max(times["high"] for _, times in rows)
    unit, one = time_unit(most)
    scale = linear(0.0, most * 1.05, LEFT, WIDTH - RIGHT)
    bottom = TOP + len(rows) * ROW
    parts = x_axis(scale, TOP, bottom, f"median of a call, {unit}, with its interval", lambda v: plain(v / one))
    for number, (side, times) in enumerate(rows):
        y = TOP + number * ROW + ROW / 2
        words = f"{side['label']}: {seconds(times['median'])} ({seconds(times['low'])} to {seconds(times['high'])})"
        parts.append(text(LEFT - 10, y + 4, fitted(f"{side['label']} {side['source']}", LEFT - 20), "end"))
        parts.append(box(LEFT, y - 8, scale(times["median"]) - LEFT, 16, "bar", words, (), 1, 2))
        parts += _whisker(scale, y, times["low"], times["high"])
        parts.append(text(WIDTH - RIGHT + 12, y + 4, seconds(times["median"]), "start", "figure"))
    return svg(bottom + 40, parts, "time of a call on each side")


def _whisker(scale: Scale, y: float, low: float, high: float) -> list[str]:
    a, b = scale(low), scale(high)
    return [line(a, y, b, y, "whisker"), line(a, y - 5, a, y + 5, "whisker"), line(b, y - 5, b, y + 5, "whisker")]


def ratio_plot(document: dict[str, Any]) -> Markup:
    """A row a kernel of the last side: its time over that on the first, with the interval; left of 1 is faster."""
    rows = [(kernel_words(k), k["verdicts"][-1], k["nodes"]) for k in document["kernels"] if k["verdicts"][-1]]
    if document["verdicts"] and document["verdicts"][-1]:
        rows.insert(0, ("whole model", document["verdicts"][-1], ()))
    if not rows:
        return Markup("")
    low = min(min(max(v["low"], v["ratio"] / _FARTHEST) for _, v, _ in rows), 0.9)
    high = max(max(min(v["high"], v["ratio"] * _FARTHEST) for _, v, _ in rows), 1.1)
    low = max(low, 1e-3)
    scale = Scale(low / 1.04, high * 1.04, LEFT, WIDTH - RIGHT, log=high / low > 4)
    if not scale.log:
        scale = linear(low, high, LEFT, WIDTH - RIGHT, room=0.03)
    bottom = TOP + len(rows) * ROW
    first, last = document["sides"][0]["label"], document["sides"][-1]["label"]
    parts = x_axis(scale, TOP, bottom, f"time of {last} over time of {first}; below 1 is faster", most=8)
    parts.append(line(scale(1), TOP, scale(1), bottom, "median"))
    for number, (name, verdict, nodes) in enumerate(rows):
        y = TOP + number * ROW + ROW / 2
        kind = _KINDS.get(verdict["verdict"], "same")
        brief = _BRIEF.get(verdict["verdict"], verdict["verdict"])
        figures = f"{verdict['ratio']:.3f} ({verdict['low']:.3f} to {verdict['high']:.3f})"
        parts.append(text(LEFT - 10, y + 4, fitted(name, LEFT - 20), "end", "strong" if number == 0 else ""))
        parts += _whisker(scale, y, max(verdict["low"], low), min(verdict["high"], high))
        parts.append(
            dot(scale(verdict["ratio"]), y, 5, f"verdict {kind}", f"{name}: {figures}, {verdict['words']}", nodes)
        )
        parts.append(text(WIDTH - RIGHT + 12, y + 4, f"{verdict['ratio']:.3f} {brief}", "start", kind))
    return svg(bottom + 40, parts, "ratio of times with intervals")
