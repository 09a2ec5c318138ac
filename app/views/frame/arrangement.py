"""Where graph and panes stand in the middle of the window: side by side, stacked, below the graph, or without it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.theme.tokens import BAR

BESIDE, STACKED, BELOW, ALONE = "beside", "stacked", "below", "alone"
"""Panes right of the graph in a row, right of it on top of each other, in a row below it, or in a row without it."""

SHAPES = (BESIDE, STACKED, BELOW, ALONE)
READABLE = 280  # pixels: a pane that is narrower shows too little of a line


def fitting(width: int, panes: int) -> str:
    """How panes stand beside a graph that has half of the width: in a row where each can be read, else stacked."""
    return BESIDE if width // 2 >= panes * READABLE else STACKED


def place_docks(
    area: QMainWindow, graph: QDockWidget, source: QDockWidget, panes: list[QDockWidget], shape: str
) -> None:
    """Put the docks into a shape. All are taken out first: a dock split off a tab would become a tab itself."""
    top, across, down = Qt.DockWidgetArea.TopDockWidgetArea, Qt.Orientation.Horizontal, Qt.Orientation.Vertical
    for dock in (graph, source, *panes):
        if dock.isFloating():
            dock.setFloating(False)
        area.removeDockWidget(dock)
    first, *rest = panes if shape == ALONE else [graph, *panes]
    area.addDockWidget(top, first)
    last = first
    for number, dock in enumerate(rest):
        turned = (shape == STACKED and number > 0) or (shape == BELOW and number == 0)
        area.splitDockWidget(last, dock, down if turned else across)
        last = dock
    if shape != ALONE:
        area.tabifyDockWidget(graph, source)
        source.show()
    for dock in (first, *rest):
        dock.show()
    if shape != ALONE:
        graph.raise_()


def share_room(area: QMainWindow, graph: QDockWidget, panes: list[QDockWidget], shape: str) -> None:
    """Half for the graph, equal parts of the rest for the panes."""
    across, down, seam = Qt.Orientation.Horizontal, Qt.Orientation.Vertical, 6
    wide, high = area.width(), area.height()
    each = max(wide // max(len(panes), 1), 120)
    if shape == BELOW:
        half = (high + 1) // 2 + seam + BAR  # its tab stands above it
        area.resizeDocks([graph, panes[0]], [half, high - half], down)
        area.resizeDocks(panes, [each] * len(panes), across)
    elif shape == STACKED:
        area.resizeDocks([graph, panes[0]], [(wide + 1) // 2 + seam, wide // 2], across)
        area.resizeDocks(panes, [high // len(panes)] * len(panes), down)
    elif shape == ALONE:
        area.resizeDocks(panes, [each] * len(panes), across)
