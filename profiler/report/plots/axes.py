"""What every plot is made of: scales, ticks, axes and marks as inline SVG. No script; every text is escaped.

Colours come from the page's style sheet by class, so that a plot follows the page into the dark and onto paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

WIDTH = 860
LETTER = 6.3  # the width of a letter at the size plots are set in, for what has to fit


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` on the way from `begin` to `end`, in picture units."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False
    binary: bool = False  # steps are powers of two, as sizes in memory are

    def __call__(self, value: float) -> float:
        """Where a value lies; values outside lie at the edge."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the scale, `most` at the most where it is linear; the 1, 2, 5 or 1 of decades else."""
        if self.log:
            return _log_ticks(self.low, self.high)
        rough = (self.high - self.low) / most
        step = 2.0 ** math.ceil(math.log2(rough)) if self.binary else round_up(rough)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def round_up(value: float) -> float:
    """The next of 1, 2 and 5 of a decade."""
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= value * 0.999)


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) <= 3.2 else (1,)
    found = [10.0**decade * factor for decade in decades for factor in factors]
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def linear(low: float, high: float, begin: float, end: float, *, room: float = 0.0) -> Scale:
    """A linear scale with some room at both ends; a span of nothing gets a little width."""
    span = high - low
    if span <= 0:
        span = abs(high) * 0.02 or 1.0
        low, high = low - span / 2, high + span / 2
    return Scale(low - span * room, high + span * room, begin, end)


def size_unit(most: float) -> tuple[str, float]:
    """The unit in which the axis of sizes up to `most` bytes reads well, and its size in bytes."""
    found = ("B", 1.0)
    for number, unit in enumerate(("KiB", "MiB", "GiB", "TiB")):
        if most >= 1024.0 ** (number + 1) * 2:
            found = (unit, 1024.0 ** (number + 1))
    return found


def plain(value: float) -> str:
    """A tick's number without more digits than it has."""
    return f"{value:.6g}" if abs(value) < 1e5 else f"{value:,.0f}"


def svg(height: float, parts: Sequence[str], label: str, width: float = WIDTH) -> Markup:
    """The picture; `label` is what a screen reader says."""
    return Markup(
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(label)}" class="plot"><title>{escape(label)}</title>{"".join(parts)}</svg>'
    )


def text(x: float, y: float, words: Any, anchor: str = "start", kind: str = "", turn: float = 0.0) -> str:
    """Words at a place, perhaps turned by some degrees."""
    turned = f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})"' if turn else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}{turned}>{escape(words)}</text>'


def box(
    x: float, y: float, width: float, height: float, kind: str, words: str = "", nodes: Sequence[str] = (),
    least: float = 1.0, radius: float = 0.0,
) -> str:  # fmt: skip
    """A rectangle that says `words` under the mouse and is marked with its nodes."""
    shape = f' rx="{radius:.0f}"' if radius else ""
    title = f"<title>{escape(words)}</title>" if words else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, least):.1f}" height="{max(height, 0.5):.1f}"{shape} '
        f'class="{kind}"{linked(nodes)}>{title}</rect>'
    )


def dot(x: float, y: float, radius: float, kind: str, words: str = "", nodes: Sequence[str] = ()) -> str:
    """A round mark."""
    title = f"<title>{escape(words)}</title>" if words else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{kind}"{linked(nodes)}>{title}</circle>'


def linked(nodes: Sequence[str]) -> str:
    """The attribute by which the page's script lights up what comes from these nodes."""
    return f' data-nodes="{escape(" ".join(nodes))}"' if nodes else ""


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def x_axis(
    scale: Scale, top: float, bottom: float, title: str, words: Callable[[float], str] = plain, most: int = 8
) -> list[str]:
    """Grid lines, numbers under them, and what they are."""
    parts = [line(scale.begin, bottom, scale.end, bottom, "axis")]
    for value in scale.ticks(most):
        x = scale(value)
        parts.append(line(x, top, x, bottom, "grid"))
        parts.append(text(x, bottom + 15, words(value), "middle", "tick"))
    parts.append(text((scale.begin + scale.end) / 2, bottom + 31, title, "middle", "name"))
    return parts


def y_axis(
    scale: Scale, left: float, right: float, title: str, words: Callable[[float], str] = plain, most: int = 5
) -> list[str]:
    """Grid lines, numbers to their left, and what they are, upright along the side."""
    parts = []
    for value in scale.ticks(most):
        y = scale(value)
        parts.append(line(left, y, right, y, "grid"))
        parts.append(text(left - 7, y + 4, words(value), "end", "tick"))
    middle = (scale.begin + scale.end) / 2
    parts.append(text(13, middle, title, "middle", "name", -90))
    return parts


def fitted(words: str, width: float) -> str:
    """Words that fit a width, cut with an ellipsis; nothing where not even a few letters do."""
    most = int(width / LETTER)
    if len(words) <= most:
        return words
    return words[: most - 1] + "…" if most >= 4 else ""
