"""A plot of two axes and what lies between them, of pyqtgraph's parts; and an axis that is logarithmic, with plain
numbers: every decade, and 2 and 5 between them where there is room for words.

Not of its whole plot, which makes a form of some forty controls for a menu that is never shown: most of the work,
and enough to be felt. Only those who draw import this: pyqtgraph is slow to load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyqtgraph import AxisItem, GraphicsView, GraphicsWidget, LegendItem, PlotCurveItem, ViewBox
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsItem

_PLACES = {"left": (0, 0), "bottom": (1, 1)}
_ROOM = {"bottom": 36.0, "left": 20.0}  # pixels a number needs along the axis


class Plot(GraphicsView):
    """Shows the range that its `box` is told, in which the mouse pans and zooms; `axes` are beside that, by side, and
    `drawn` is what was added."""

    def __init__(self, axes: Mapping[str, AxisItem] | None = None) -> None:
        super().__init__()
        field, self.box = GraphicsWidget(), ViewBox(enableMenu=False)
        self.box.disableAutoRange()
        self.axes = {side: (axes or {}).get(side) or AxisItem(side) for side in _PLACES}
        self.drawn: list[Any] = []
        self._legend: LegendItem | None = None
        layout = QGraphicsGridLayout()
        layout.setContentsMargins(1, 7, 1, 1)  # the highest number of an axis is as high as others
        layout.setSpacing(0)
        layout.addItem(self.box, 0, 1)
        layout.setRowStretchFactor(0, 100)
        layout.setColumnStretchFactor(1, 100)
        for side, axis in self.axes.items():
            axis.linkToView(self.box)
            axis.setZValue(0.5)  # over what is drawn, as its ticks lie there
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            layout.addItem(axis, *_PLACES[side])
        field.setLayout(layout)
        self.setCentralItem(field)

    def paintEvent(self, event: Any) -> None:
        super().paintEvent(event)
        if self.hasFocus():  # the frame that other views have as well
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().text().color())
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
            painter.end()

    def focusInEvent(self, event: Any) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: Any) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def addItem(self, item: Any) -> None:
        """Show something of pyqtgraph's; one with a name is in the legend, where there is one."""
        self.drawn.append(item)
        self.box.addItem(item, ignoreBounds=True)
        if self._legend is not None and (name := getattr(item, "name", str)()):
            self._legend.addItem(item, name)

    def plot(self, x: Sequence[float], y: Sequence[float], pen: Any) -> None:
        """A line through these points."""
        self.addItem(PlotCurveItem([*map(float, x)], [*map(float, y)], pen=pen, antialias=True))

    def clear(self) -> None:
        """Take away what was added; axes and legend stay."""
        for item in self.drawn:
            self.box.removeItem(item)
        if self._legend is not None:
            self._legend.clear()
        self.drawn = []

    def addLegend(self, **how: Any) -> LegendItem:
        """The legend: of what is added from now on, and the same one when asked again."""
        if self._legend is None:
            self._legend = LegendItem(**how)
            self._legend.layout.setContentsMargins(6, 1, 6, 1)  # pyright: ignore[reportAttributeAccessIssue]  its own grid
            self._legend.setParentItem(self.box)
        return self._legend


class LogAxis(AxisItem):
    """Ticks stay where pyqtgraph puts them; only those that can be read are given a number. What is drawn along it is
    given as logarithms."""

    def __init__(self, side: str) -> None:
        super().__init__(side)
        self.setLogMode(True)  # type: ignore[arg-type]  annotated as if it were given a tuple

    def logTickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Numbers for the ticks of one level; nothing for those that would run into their neighbours."""
        low, high = self.range
        length = self.width() if self.orientation == "bottom" else self.height()
        decade = length / max(high - low, 1e-6)
        need = _ROOM.get(self.orientation, 36.0)
        if decade * 0.3 >= need:  # from 5 to 10, the narrowest gap
            named = {1, 2, 5}
        else:
            named = {1}
        return [_number(value) if _leading(value) in named else "" for value in values]


def _leading(value: float) -> int:
    """The first figure of 10 to the power of a tick: ticks lie on whole ones."""
    return round(10 ** (value % 1.0)) % 9 or 9


def _number(value: float) -> str:
    """As people write it."""
    number = 10**value
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
