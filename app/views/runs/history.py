"""The plot of a source's history: each run or commit with its interval, the level between changes, changes marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.theme.look import Look, tint
from app.viewmodels.frame.formats import seconds, time_scale
from app.viewmodels.runs.past import BY, Past
from app.views.parts.controls import column, paragraph
from app.views.parts.header import Header
from app.views.parts.later import one_shot
from app.views.parts.plain import plain_tip
from app.views.parts.plots import make_plot, name_axes
from app.views.parts.widgets import Choice, Elided, MessageBar
from profiler.records import Moment
from profiler.scale import top_of

_EMPTY = (
    "Run what is compiled (F5) a few times: its history is plotted here, with changes marked from about ten runs on."
)
_LABELS = 12  # names below the plot at most
_FEW = 3.8  # points that a plot has room for at least: one or two would lie a screen apart


class HistoryView(QWidget):
    """Empty until there are runs; pyqtgraph is imported then. A click on a point opens its run."""

    open_wanted = Signal(int)
    ask_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)  # else what is behind it, while there is no plot
        self._look = look
        self._plot: Any = None
        self._undrawn = False
        self._come = one_shot(self, self._draw)  # into sight, with something to draw
        self.shown: Past | None = None
        self.bar = MessageBar(look, "history")
        self.by = Choice("What is one point", BY, flat=True)
        self.by.chosen.connect(lambda _: self.ask_wanted.emit())
        self.title = Elided(where=Qt.TextElideMode.ElideRight, role="muted")
        controls = Header(self.by, self.title, wide=self.title)
        self.empty = paragraph(_EMPTY, (40, 20, 40, 20))
        self._layout = column(self, self.bar, controls, self.empty, main=self.empty)
        look.changed.connect(self._draw)

    def showEvent(self, event) -> None:
        super().showEvent(event)
        self.ask_wanted.emit()

    def set_past(self, past: Past) -> None:
        """Show a history."""
        self.shown = past
        self.title.setText(past.title)
        self._draw()

    def paintEvent(self, event) -> None:
        super().paintEvent(event)
        if self._undrawn:
            self._come.start()

    def prepare(self) -> None:
        """Make the plot, which takes long enough to be felt: before there is something to show, where there is time."""
        if self._plot is None:
            self._plot = make_plot("History", 80)
            self._plot.box.setMouseEnabled(x=True, y=False)
            self._plot.hide()
            self._layout.addWidget(self._plot, 1)

    def _draw(self) -> None:
        past = self.shown
        points = past.points if past is not None else ()
        self.empty.setVisible(not points)
        if self._plot is not None:
            self._plot.setVisible(bool(points))
        self._undrawn = bool(points) and self.visibleRegion().isEmpty()  # behind another tab: not for nobody
        if past is None or not points or self._undrawn:
            return
        import pyqtgraph

        theme = self._look.theme
        self.prepare()
        plot: Any = self._plot
        plot.show()
        plot.clear()
        plot.setBackground(theme.panel)
        plot.setAccessibleName(past.words)
        plot.setToolTip(plain_tip(past.words))
        most = top_of([point.median for point in points], [point.high for point in points])
        scale, unit = time_scale(most)
        at = np.arange(len(points))
        medians = np.array([point.median for point in points]) * scale
        low = np.array([point.low for point in points]) * scale
        high = np.array([point.high for point in points]) * scale
        plot.addItem(
            pyqtgraph.ErrorBarItem(
                x=at, y=medians, top=high - medians, bottom=medians - low, beam=0.15,
                pen=pyqtgraph.mkPen(tint(theme.series[0], 150)),
            )
        )  # fmt: skip
        for first, last, level in past.levels():
            plot.plot([first - 0.4, last + 0.4], [level * scale] * 2, pen=pyqtgraph.mkPen(theme.series[1], width=2))
        dots = pyqtgraph.ScatterPlotItem(
            at, medians, size=9, symbol="o", brush=tint(theme.series[0]), pen=pyqtgraph.mkPen(theme.panel),
            hoverable=True, tip=lambda x, y, data: plain_tip(_tip(points[int(data)])), data=list(range(len(points))),
        )  # fmt: skip
        dots.sigClicked.connect(lambda _, found, *rest: self._clicked(found))
        plot.addItem(dots)
        for step in past.steps:
            mark, colour = ("\u25b2", theme.warning) if step.ratio > 1 else ("\u25bc", theme.good)
            machine = f", machine {step.machine - 1:+.1%}" if step.reason else ""
            plot.addItem(
                pyqtgraph.InfiniteLine(
                    step.at - 0.5, pen=pyqtgraph.mkPen(colour, width=1.5, style=Qt.PenStyle.DashLine),
                    label=f"{mark} {step.ratio - 1:+.1%}{machine}",
                    labelOpts={"color": colour, "position": 0.93, "anchors": [(0, 0.5), (0, 0.5)]},
                )
            )  # fmt: skip
        every = -(-len(points) // _LABELS)
        plot.axes["bottom"].setTicks([[(i, points[i].label) for i in range(0, len(points), every)]])
        middle = (len(points) - 1) / 2
        half = max(middle + 0.8, _FEW / 2)
        plot.box.setXRange(middle - half, middle + half, padding=0)
        bottom, top = float(low.min()), most * scale
        room = max(top - bottom, top * 0.02) * 0.15
        plot.box.setYRange(max(bottom - room, 0), top + room, padding=0)
        said = all(point.label.startswith(past.by) for point in points)  # by the numbers along it
        name_axes(plot, theme, "" if said else past.by, f"time, {unit}")

    def _clicked(self, found: Any) -> None:
        if self.shown is not None and len(found):
            self.open_wanted.emit(self.shown.points[int(found[0].data())].newest)


def _tip(point: Moment) -> str:
    several = f", {len(point.runs)} runs" if len(point.runs) > 1 else ""
    return (
        f"{point.label}{several}, {point.started[:16].replace('T', ' ')}: "
        f"{seconds(point.median)} ({seconds(point.low)} to {seconds(point.high)})"
    )
