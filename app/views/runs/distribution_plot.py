"""The plot of a run's times: bars with the median and its interval, or every call in the order it was made."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.theme.look import Look, tint
from app.viewmodels.frame.formats import seconds
from app.viewmodels.runs.run_figures import Distribution, distribution
from app.views.parts.controls import column
from app.views.parts.later import one_shot
from app.views.parts.plain import plain_tip
from app.views.parts.plots import make_plot, name_axes
from app.views.parts.widgets import Choice, Elided, header
from profiler.records import Summary

MODES = (("bars", "Distribution"), ("calls", "Every call"))
_LATER = 15  # milliseconds: the figures are painted first
_TALL = 170  # pixels below which the plot needs the room of its lower label itself
_FAR = 1.6  # outliers further out than this share of the bars' end are drawn at the edge, so that the bars keep room


class DistributionPlot(QWidget):
    """Empty until there are times; pyqtgraph is imported then, since it is slow to load."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._plot: Any = None
        self._times: tuple[float, ...] = ()
        self.shown: Distribution | None = None
        self.name = ""
        self.title = Elided(where=Qt.TextElideMode.ElideMiddle, role="muted")
        self.title.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.title.setMinimumWidth(60)
        self.mode = Choice("What the plot shows", MODES, flat=True)
        self.mode.chosen.connect(lambda _: self._draw())
        controls = header(self.mode, self.title)
        controls.stretch(self.title)
        self._layout = column(self, controls)
        self.setMinimumWidth(240)
        look.changed.connect(self._draw)
        self._drawing = one_shot(self, self._draw, _LATER)

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        if self._plot is not None and self.shown is not None:
            self._plot.getAxis("bottom").showLabel(self.height() >= _TALL)
            self._name()

    def _name(self) -> None:
        """What the times are of; with their unit, where the axis has no room to say it."""
        unit = f", {self.shown.scale[1]}" if self.shown is not None and self.height() < _TALL else ""
        self.title.setText(f"{self.name}{unit}")

    def set_times(self, name: str, times: tuple[float, ...], summary: Summary | None = None) -> None:
        """Show these times, in seconds."""
        self._times = times
        self.shown = distribution(times, summary)
        self.name = name
        self._name()
        self._drawing.start()

    def describe(self) -> str:
        """The plot in words, for those who do not see it."""
        found = self.shown
        if found is None:
            return "no times"
        far = f", {len(found.outliers)} outliers up to {seconds(max(found.outliers))}" if found.outliers else ""
        return (
            f"{self.name}: median {seconds(found.median)}, {100 * found.coverage:.0f} % interval "
            f"{seconds(found.low)} to {seconds(found.high)}{far}"
        )

    def prepare(self) -> None:
        """Make the plot, which takes long enough to be felt: before there is something to show, where there is time."""
        if self._plot is None:
            self._plot = make_plot(60)
            self._plot.setMouseEnabled(x=False, y=False)
            self._layout.addWidget(self._plot, 1)

    def _draw(self) -> None:
        if self.shown is None:
            return
        import pyqtgraph

        theme = self._look.theme
        self.prepare()
        self._plot.clear()
        self._plot.setBackground(theme.panel)
        self._plot.setAccessibleName(self.describe())
        self._plot.setToolTip(plain_tip(self.describe()))
        self._plot.getViewBox().enableAutoRange()
        words = self._bars(pyqtgraph) if self.mode.value == "bars" else self._calls(pyqtgraph)
        name_axes(self._plot, theme, *words)
        self._plot.getAxis("bottom").showLabel(self.height() >= _TALL)

    def _bars(self, pyqtgraph: Any) -> tuple[str, str]:
        found, theme, plot = self.shown, self._look.theme, self._plot
        assert found is not None
        scale, unit = found.scale
        top = float(found.counts.max()) or 1.0
        plot.addItem(
            pyqtgraph.BarGraphItem(
                x0=found.edges[:-1] * scale, x1=found.edges[1:] * scale, height=found.counts,
                brush=tint(theme.series[0], 190), pen=pyqtgraph.mkPen(theme.panel),
            )
        )  # fmt: skip
        self._interval_band(pyqtgraph, "vertical", scale)
        end = found.cut
        if found.outliers:
            edge = found.cut * _FAR if max(found.outliers) > found.cut * _FAR else max(found.outliers)
            places = np.minimum(found.outliers, edge)
            end = float(edge)
            plot.addItem(
                pyqtgraph.ScatterPlotItem(
                    places * scale, np.full(len(places), top * 0.05), symbol="d", size=9,
                    pen=pyqtgraph.mkPen(theme.panel), brush=tint(theme.warning),
                )
            )  # fmt: skip
            several = "s" * (len(found.outliers) != 1)
            words = f"{len(found.outliers)} outlier{several}, up to {seconds(max(found.outliers))}"
            text = pyqtgraph.TextItem(words, color=theme.warning, anchor=(1, 1))
            text.setPos(end * scale, top * 0.1)
            plot.addItem(text)
        first = float(found.edges[0])
        side = 1 if found.median - first > 0.55 * (end - first) else 0  # where there is more room for the words
        plot.addItem(
            pyqtgraph.InfiniteLine(
                found.median * scale, pen=pyqtgraph.mkPen(theme.series[1], width=2),
                label=f"median {seconds(found.median)}",
                labelOpts={"color": theme.text, "position": 0.92, "anchors": [(side, 0.5), (side, 0.5)]},
            )
        )  # fmt: skip
        span = max(end - float(found.edges[0]), 1e-12)
        plot.setXRange((float(found.edges[0]) - span * 0.02) * scale, (end + span * 0.04) * scale, padding=0)
        plot.setYRange(0, top * 1.12, padding=0)
        plot.getAxis("left").setTickSpacing(levels=[(max(1, round(top / 5)), 0)])  # there are no half calls
        return f"one call, {unit}", "calls"

    def _calls(self, pyqtgraph: Any) -> tuple[str, str]:
        found, theme, plot = self.shown, self._look.theme, self._plot
        assert found is not None
        scale, unit = found.scale
        values = np.array(self._times) * scale
        far = values > found.cut * scale
        numbers = np.arange(1, len(values) + 1)
        self._interval_band(pyqtgraph, "horizontal", scale)
        for mask, symbol, colour, pixels in ((~far, "o", theme.series[0], 4), (far, "d", theme.warning, 9)):
            plot.addItem(
                pyqtgraph.ScatterPlotItem(
                    numbers[mask], values[mask], symbol=symbol, size=pixels, brush=tint(colour, 200),
                    pen=None,
                )
            )  # fmt: skip
        plot.addItem(
            pyqtgraph.InfiniteLine(found.median * scale, angle=0, pen=pyqtgraph.mkPen(theme.series[1], width=1.5))
        )
        plot.getAxis("left").setTickSpacing(levels=None)
        plot.setXRange(0, len(values) + 1, padding=0)
        plot.setYRange(0, float(values.max()) * 1.08, padding=0)
        return "call", f"time, {unit}"

    def _interval_band(self, pyqtgraph: Any, direction: str, scale: float) -> None:
        found, theme = self.shown, self._look.theme
        assert found is not None
        self._plot.addItem(
            pyqtgraph.LinearRegionItem(
                (found.low * scale, found.high * scale), orientation=direction, movable=False,
                brush=tint(theme.series[1], 50), pen=pyqtgraph.mkPen(None),
            )
        )  # fmt: skip
