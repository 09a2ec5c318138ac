"""Plots without a menu or buttons: made of pyqtgraph, which is slow to load, when there is something to draw."""

from __future__ import annotations

from typing import Any

from app.theme.tokens import Theme


def make_plot(name: str, least_height: int, **axes: Any) -> Any:
    """An empty plot; `axes` are axis items by side, the name is for screen readers until there is more to say."""
    from app.views.parts.plot import Plot

    plot: Any = Plot(axes)
    plot.setAccessibleName(name)
    plot.setMinimumHeight(least_height)
    return plot


def name_axes(plot: Any, theme: Theme, bottom: str, left: str) -> None:
    """Say what a plot's axes are, in the colours of the theme."""
    for side, text in (("bottom", bottom), ("left", left)):
        axis = plot.axes[side]
        axis.setLabel(text, color=theme.muted)
        axis.showLabel(bool(text))
        axis.setPen(theme.strong_border)
        axis.setTextPen(theme.muted)
