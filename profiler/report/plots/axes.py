"""What every plot is made of: scales, ticks, axes and marks as inline SVG. No script; every text is escaped.

Colours come from the page's style sheet by class, so that a plot follows the page into the dark and onto paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup, escape

from profiler.scale import Scale

WIDTH = 860
LETTER = 6.3  # the width of a letter at the size plots are set in, for what has to fit


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
