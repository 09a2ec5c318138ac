"""The time of a source's runs, oldest first, with their intervals, and where it changed."""

from __future__ import annotations

from markupsafe import Markup

from profiler.records import History
from profiler.report.plots.axes import WIDTH, dot, fitted, line, plain, svg, text, y_axis
from profiler.report.words import seconds, time_unit
from profiler.scale import linear, top_of

LEFT, RIGHT, TOP, HEIGHT = 70.0, 20.0, 26.0, 240.0
_MOST_NAMED = 12


def history_plot(history: History) -> Markup:
    """A dot a run with its interval; a line and the ratio where the time changes."""
    moments = history.moments
    if len(moments) < 2:
        return Markup("")
    most = top_of([moment.median for moment in moments], [moment.high for moment in moments])
    unit, one = time_unit(most)
    bottom = TOP + HEIGHT
    y = linear(min(moment.low for moment in moments), most, bottom, TOP, room=0.05)
    x = linear(0, len(moments) - 1, LEFT, WIDTH - RIGHT, room=0.03)
    parts = y_axis(y, LEFT, WIDTH - RIGHT, f"median of a call, {unit}", lambda value: plain(value / one))
    every = -(-len(moments) // _MOST_NAMED)
    for at, moment in enumerate(moments):
        words = f"{moment.label}, {moment.started[:16].replace('T', ' ')}: {seconds(moment.median)}"
        parts.append(line(x(at), y(moment.low), x(at), y(moment.high), "whisker"))
        parts.append(dot(x(at), y(moment.median), 3.5, "verdict", words))
        if at % every == 0:
            room = (WIDTH - LEFT - RIGHT) / _MOST_NAMED
            parts.append(text(x(at), bottom + 15, fitted(moment.label, room), "middle", "tick"))
    for change in history.changes:
        place = x(change.at - 0.5)
        parts.append(line(place, TOP - 6, place, bottom, "median"))
        kind = "bad" if change.ratio > 1 else "good"
        parts.append(text(place, TOP - 11, f"{change.ratio - 1:+.1%}", "middle", kind))
    return svg(bottom + 24, parts, f"time of {len(moments)} runs of {history.source}")
