"""Plots as inline SVG: no script, no network, every text escaped. Colours come from the page's style sheet by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from profiler.units import seconds, size

WIDTH, LEFT, RIGHT = 760, 170, 20


def _svg(height: float, parts: Sequence[str], label: str) -> Markup:
    body = "".join(parts)
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}" class="plot">{body}</svg>'
    )


def _text(x: float, y: float, words: Any, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def _bar(x: float, y: float, width: float, height: float, kind: str, words: str, nodes: Sequence[str] = ()) -> str:
    linked = f' data-nodes="{escape(" ".join(nodes))}"' if nodes else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.8):.1f}" height="{height:.1f}" class="{kind}"{linked}>'
        f"<title>{escape(words)}</title></rect>"
    )


def samples_plot(nanoseconds: Sequence[int], blocks: Sequence[int], low: float, high: float) -> Markup:
    """Every sample in the order it was taken, outliers too; blocks are set apart, the band is the median's interval."""
    times = [x * 1e-9 for x in nanoseconds]
    if not times:
        return Markup("")
    bottom, top = min(times), max(times)
    top = top if top > bottom else bottom * 1.01 + 1e-12
    height = 180.0

    def y(value: float) -> float:
        return 160 - (value - bottom) / (top - bottom) * 140

    span = WIDTH - LEFT - RIGHT
    parts = [_bar(LEFT, y(high), span, max(y(low) - y(high), 1), "band", "95 % interval of the median")]
    step = max(len(times) // 3000, 1)
    edges = set()
    position = 0
    for count in blocks:
        position += count
        edges.add(position)
    for index in range(0, len(times), step):
        x = LEFT + (index + 0.5) / len(times) * span
        parts.append(f'<circle cx="{x:.1f}" cy="{y(times[index]):.1f}" r="1.6" class="dot"/>')
    for edge in sorted(edges)[:-1]:
        x = LEFT + edge / len(times) * span
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="15" y2="165" class="faint"/>')
    parts += [_text(LEFT - 8, y(value) + 4, seconds(value), "end") for value in (bottom, top)]
    return _svg(height, parts, "time of every call")


def bars_plot(rows: Sequence[dict[str, Any]], label: str) -> Markup:
    """Horizontal bars with intervals: rows have name, value, low, high and perhaps nodes; values are seconds."""
    if not rows:
        return Markup("")
    most = max(row["high"] for row in rows) or 1.0
    span = WIDTH - LEFT - RIGHT - 70
    parts = []
    for index, row in enumerate(rows):
        y = 8 + index * 22
        reach = row["value"] / most * span
        words = f"{row['name']}: {seconds(row['value'])} ({seconds(row['low'])} to {seconds(row['high'])})"
        parts.append(_text(LEFT - 8, y + 12, _short(row["name"]), "end"))
        parts.append(_bar(LEFT, y, reach, 16, "bar", words, row.get("nodes", ())))
        a, b = LEFT + row["low"] / most * span, LEFT + row["high"] / most * span
        parts.append(f'<line x1="{a:.1f}" x2="{b:.1f}" y1="{y + 8}" y2="{y + 8}" class="whisker"/>')
        parts.append(_text(max(LEFT + reach, b) + 6, y + 12, seconds(row["value"])))
    return _svg(16 + len(rows) * 22, parts, label)


def _short(words: str, most: int = 26) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def roofline_plot(points: Sequence[dict[str, Any]], ceilings: Sequence[dict[str, Any]]) -> Markup:
    """Achieved GFLOP/s over intensity, both logarithmic, under the measured roofs."""
    shown = [p for p in points if p["intensity"] and p["gflops"]]
    bandwidths = {c["name"].removeprefix("copy "): c["value"] for c in ceilings if c["unit"] == "GB/s"}
    peaks = {c["name"].removeprefix("multiply-add "): c["value"] for c in ceilings if c["unit"] == "GFLOP/s"}
    if not shown:
        return Markup("")
    xs = [p["intensity"] for p in shown]
    ys = [p["gflops"] for p in shown] + list(peaks.values())
    x0, x1 = math.log10(min(xs)) - 0.7, math.log10(max(xs)) + 0.7
    y0, y1 = math.log10(min(ys)) - 0.4, math.log10(max(ys)) + 0.3

    def x(value: float) -> float:
        return 60 + (math.log10(value) - x0) / (x1 - x0) * (WIDTH - 200)

    def y(value: float) -> float:
        return 260 - (math.log10(value) - y0) / (y1 - y0) * 240

    parts = []
    highest = max(peaks.values(), default=10**y1)
    for number, (name, value) in enumerate(bandwidths.items()):
        bend = min(highest / value, 10**x1)
        start = max(10**x0, 10**y0 / value)
        if bend > start:
            parts.append(_line(x(start), y(start * value), x(bend), y(bend * value), "roof"))
            parts.append(
                _text(x(bend) + 4, y(bend * value) - 4 - 11 * (number % 2), f"{name} {value:.3g} GB/s", kind="small")
            )
    for name, value in peaks.items():
        parts.append(_line(x(10**x0), y(value), x(10**x1), y(value), "roof"))
        parts.append(_text(WIDTH - 136, y(value) + 4, f"{name} {value:.3g} GFLOP/s", kind="small"))
    for point in shown:
        words = f"{point['kernel']}: {point['gflops']:.3g} GFLOP/s at {point['intensity']:.3g} FLOP/B"
        nodes = escape(" ".join(point.get("nodes", ())))
        parts.append(
            f'<circle cx="{x(point["intensity"]):.1f}" cy="{y(point["gflops"]):.1f}" r="5" class="point" '
            f'data-nodes="{nodes}"><title>{escape(words)}</title></circle>'
        )
    parts.append(_text(60, 285, "arithmetic intensity, FLOP/B (log)"))
    parts.append(_text(4, 14, "GFLOP/s (log)"))
    return _svg(295, parts, "roofline")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def timeline_plot(timeline: Sequence[Any], launches: Sequence[dict[str, Any]]) -> Markup:
    """One traced call: a row a thread, a box a launch."""
    if not timeline or not launches:
        return Markup("")
    end = max((pair[1] for thread in timeline for pair in thread), default=1) or 1
    span = WIDTH - LEFT - RIGHT
    parts = []
    for number, thread in enumerate(timeline):
        y = 8 + number * 26
        parts.append(_text(LEFT - 8, y + 14, f"thread {number}", "end"))
        for launch, (begin, stop) in zip(launches, thread):
            words = f"{launch['kernel']}: {seconds((stop - begin) * 1e-9)}"
            kind = f"bar hue{launch['position'] % 6}"
            parts.append(
                _bar(LEFT + begin / end * span, y, (stop - begin) / end * span, 20, kind, words, launch["nodes"])
            )
    height = 8 + len(timeline) * 26
    parts += [_text(LEFT, height + 12, "0"), _text(WIDTH - RIGHT, height + 12, seconds(end * 1e-9), "end")]
    return _svg(height + 18, parts, "timeline of one call")


def memory_plot(memory: dict[str, Any], launches: Sequence[dict[str, Any]]) -> Markup:
    """The arena: a box a block, from the call that makes it to the last that reads it."""
    blocks = memory.get("blocks", ())
    peak = memory.get("planned_peak", 0)
    calls = len(memory.get("steps", ()))
    if not blocks or not peak or not calls:
        return Markup("")
    span = WIDTH - LEFT - RIGHT
    parts = [_text(LEFT - 8, 18, size(peak), "end"), _text(LEFT - 8, 170, "0", "end")]
    for number, block in enumerate(blocks):
        x = LEFT + block["first"] / calls * span
        width = (block["last"] - block["first"] + 1) / calls * span
        height = block["size"] / peak * 160
        y = 170 - (block["offset"] + block["size"]) / peak * 160
        words = f"{block['name']}: {size(block['size'])}, call {block['first']} to {block['last']}"
        parts.append(_bar(x, y, width, height, f"block hue{number % 6}", words))
    for launch in launches[:calls]:
        x = LEFT + (launch["position"] + 0.5) / calls * span
        parts.append(_text(x, 186, launch["position"], "middle", "small"))
    return _svg(192, parts, "memory plan")


def passes_plot(passes: Sequence[dict[str, Any]]) -> Markup:
    """The passes of a compilation over time, a row a stage."""
    if not passes:
        return Markup("")
    stages = list(dict.fromkeys(p["stage"] for p in passes))
    end = max(p["start"] + p["seconds"] for p in passes) or 1
    span = WIDTH - LEFT - RIGHT
    parts = []
    for row, stage in enumerate(stages):
        parts.append(_text(LEFT - 8, 20 + row * 22, stage, "end"))
        for number, p in enumerate(passes):
            if p["stage"] == stage:
                words = f"{p['name']} {p['kernel']}: {seconds(p['seconds'])}"
                x = LEFT + p["start"] / end * span
                parts.append(_bar(x, 8 + row * 22, p["seconds"] / end * span, 16, f"bar hue{number % 6}", words))
    height = 8 + len(stages) * 22
    parts.append(_text(WIDTH - RIGHT, height + 12, seconds(end), "end"))
    return _svg(height + 18, parts, "compile passes")


def kernel_bars(launches: Sequence[dict[str, Any]]) -> Markup:
    """A bar a launch."""
    rows = [
        {
            "name": f"{x['position']} {x['kernel']}",
            "value": x["median"],
            "low": x["low"],
            "high": x["high"],
            "nodes": x["nodes"],
        }
        for x in launches
    ]
    return bars_plot(rows, "time of each kernel")


def comparison_bars(document: dict[str, Any]) -> Markup:
    """A bar a side."""
    rows = [
        {"name": side["label"], "value": times["median"], "low": times["low"], "high": times["high"]}
        for side, times in zip(document["sides"], document["whole"])
        if times
    ]
    return bars_plot(rows, "time of a call on each side")
