"""The memory plan over the calls of a model: which block lies where and when, and how many bytes are alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from profiler.report.plots.axes import WIDTH, box, fitted, line, plain, size_unit, svg, text, y_axis
from profiler.scale import Scale
from profiler.units import size

LEFT, RIGHT, TOP = 62.0, 16.0, 18.0
HUES = 10


def memory_plot(memory: dict[str, Any], launches: Sequence[dict[str, Any]]) -> Markup:
    """The arena, a box a block from the launch that makes it to the last that reads it; below, the bytes alive."""
    blocks, steps = memory.get("blocks", ()), memory.get("steps", ())
    peak = memory.get("planned_peak", 0)
    if not blocks or not peak or not steps:
        return Markup("")
    across = Scale(0, len(steps), LEFT, WIDTH - RIGHT)
    unit, one = size_unit(peak)
    arena, alive = Scale(0, peak, 230, TOP, binary=True), Scale(0, peak, 350, 264, binary=True)
    parts = y_axis(arena, LEFT, WIDTH - RIGHT, f"place in the arena, {unit}", lambda v: _tick(v / one), 5)
    for number, block in enumerate(blocks):
        x, end = across(block["first"]), across(block["last"] + 1)
        y = arena(block["offset"] + block["size"])
        height = arena(block["offset"]) - y
        words = f"{block['name']}: {size(block['size'])} at {size(block['offset'])}"
        words += f", launch {block['first']} to {block['last']}"
        if block.get("reuses"):
            words += f", in place of {block['reuses']}"
        kind = f"span hue{number % HUES}"
        parts.append(box(x + 1, y + 0.5, end - x - 2, height - 1, kind, words, (block["name"],), 1, 2))
        inside = fitted(block["name"], end - x - 12)
        if inside and height >= 15:
            parts.append(text(x + 6, y + 14, inside, "start", "inside"))
    parts.append(line(LEFT, arena(peak), WIDTH - RIGHT, arena(peak), "median"))
    parts.append(text(WIDTH - RIGHT, TOP - 5, f"planned peak {size(peak)}", "end", "name"))
    parts += y_axis(alive, LEFT, WIDTH - RIGHT, "alive", lambda v: _tick(v / one), 2)
    for step, amount in enumerate(steps):
        x, width = across(step), across(step + 1) - across(step)
        name = launches[step]["kernel"] if step < len(launches) else ""
        words = f"launch {step} {name}: {size(amount)} alive"
        parts.append(box(x + 1, alive(amount), width - 2, 350 - alive(amount), "bar", words))
    parts += _columns(across, len(steps), launches)
    return svg(390, parts, "memory plan over the launches")


def _tick(value: float) -> str:
    return plain(float(f"{value:.4g}"))


def _columns(across: Scale, count: int, launches: Sequence[dict[str, Any]]) -> list[str]:
    """The number of each launch, or of some where there are many, and its name where it fits."""
    every = max(round(count / 28), 1)
    width = across(1) - across(0)
    parts = []
    for step in range(0, count, every):
        middle = across(step + 0.5)
        parts.append(text(middle, 365, step, "middle", "tick"))
        if step < len(launches):
            parts.append(text(middle, 379, fitted(launches[step]["kernel"], width - 4), "middle", "small"))
    return parts
