"""Colour, size and spacing tokens of both themes. No Qt here: style sheets and painters read the same table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

RADIUS = 5
ROW = 26  # height of a table or list row
BAR = 34  # height of a tool bar or pane header
_READ = 4.5  # WCAG's contrast of text
_INK = "#14181e"  # on light grounds in a dark theme


@dataclass(frozen=True)
class Theme:
    """One theme. `series` tells graph nodes apart and is chosen to stay distinct under colour-blind vision."""

    name: str
    dark: bool
    window: str
    panel: str
    raised: str
    hover: str
    code: str
    border: str
    strong_border: str
    text: str
    muted: str
    faint: str
    disabled: str
    accent: str
    accent_text: str
    selection: str
    hover_line: str
    good: str
    warning: str
    bad: str
    info: str
    series: tuple[str, ...]
    heat: tuple[str, ...]
    syntax: dict[str, str]

    def series_colour(self, index: int) -> str:
        """The colour of the node numbered `index`; the number is always shown beside it."""
        return self.series[index % len(self.series)]


DARK = Theme(
    name="dark",
    dark=True,
    window="#15181d",
    panel="#1b1f26",
    raised="#242a33",
    hover="#2c333e",
    code="#171a20",
    border="#2b313b",
    strong_border="#3d4653",
    text="#dfe4ec",
    muted="#9aa5b5",
    faint="#8994a5",
    disabled="#6a7586",
    accent="#5aa7ff",
    accent_text="#08121f",
    selection="#2b4a70",
    hover_line="#262e3a",
    good="#4cc38a",
    warning="#f0b13c",
    bad="#ff7a6b",
    info="#5aa7ff",
    # Okabe-Ito, lightened for a dark ground, then four of Paul Tol's.
    series=(
        "#56b4e9", "#e69f00", "#2ec4a0", "#f0e442", "#d991bd", "#f0763a", "#8fa8ff", "#b7d968",
        "#c7a6f5", "#e8c39e",
    ),
    heat=("#26324a", "#2f5d7c", "#2f8f8b", "#8fbf5f", "#f0c14b", "#f58b4b"),
    syntax={
        "comment": "#7a8699", "keyword": "#c792ea", "type": "#5fc9c0", "number": "#f0a36b", "string": "#a8d177",
        "value": "#82b7ff", "symbol": "#ffd479", "op": "#7fb7e8", "attribute": "#c3cbd8", "label": "#ffd479",
        "directive": "#7a8699", "register": "#9fd0c7", "text": "#d3dae4",
    },
)  # fmt: skip

LIGHT = Theme(
    name="light",
    dark=False,
    window="#eef0f4",
    panel="#f8f9fb",
    raised="#ffffff",
    hover="#e4e8ef",
    code="#ffffff",
    border="#d9dee6",
    strong_border="#b9c1cd",
    text="#1b2430",
    muted="#566274",
    faint="#5f6a7a",
    disabled="#8591a3",
    accent="#0f5fd0",
    accent_text="#ffffff",
    selection="#c6dcfb",
    hover_line="#edf3fc",
    good="#117046",
    warning="#8f5400",
    bad="#c4301c",
    info="#0f5fd0",
    series=(
        "#0072b2", "#b86e00", "#00805f", "#8a7a00", "#a8457f", "#c04f00", "#4453c9", "#4e7d10",
        "#7a3fb0", "#8a5a2b",
    ),
    heat=("#e6edf5", "#bcd9e8", "#86c5c0", "#b9d47a", "#f3c65a", "#ee8a4a"),
    syntax={
        "comment": "#6b7686", "keyword": "#8031a7", "type": "#00716b", "number": "#a84a00", "string": "#3b7a00",
        "value": "#0b57b7", "symbol": "#8a5a00", "op": "#195fa5", "attribute": "#465264", "label": "#8a5a00",
        "directive": "#6b7686", "register": "#2c6e63", "text": "#243040",
    },
)  # fmt: skip


def contrast(one: str, other: str) -> float:
    """WCAG contrast ratio of two `#rrggbb` colours."""
    first, second = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


@lru_cache(maxsize=4096)  # asked for each box that is painted
def readable(ground: str, *inks: str) -> tuple[str, ...]:
    """Inks for a ground of any colour: each that can be read on it as text; for others the first, or what can be."""
    first = max((inks[0], _INK), key=lambda ink: contrast(ink, ground))
    return first, *(ink if contrast(ink, ground) >= _READ else first for ink in inks[1:])


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
