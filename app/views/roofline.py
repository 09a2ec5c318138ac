"""The roofline: what each launch reaches, under this machine's measured ceilings."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QSplitter, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look, tint
from app.viewmodels.roof import Ceilings, RoofPoint, flats, nearby, points, slopes
from app.viewmodels.run_figures import CallFigures
from app.viewmodels.selection import Selection
from app.views.table import RecordView
from app.views.widgets import Choice, MessageBar, header, label

DTYPES = (("f32", "f32"), ("f64", "f64"), ("f16", "f16"))


class RooflineView(QWidget):
    """A table of the launches beside the plot; a click on a row or a point selects its nodes."""

    measure_wanted = Signal()

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self.ceilings: Ceilings = ()
        self.calls: list[CallFigures] = []
        self._device = "cpu"
        self._plot: Any = None
        self.bar = MessageBar(look, "roofline")
        self.note = label("", "muted")
        self.dtype = Choice("Peak to compare with", DTYPES, flat=True)
        self.dtype.chosen.connect(lambda _: self._refresh())
        self.measure = QPushButton("Measure this machine")
        self.measure.setToolTip("Copies by cache level and multiply-adds by dtype, with our own kernels: half a minute")
        self.measure.clicked.connect(self.measure_wanted)
        self.view = RecordView(
            "Roofline",
            [
                Column("#", lambda p: p.call.index + 1, right=True),
                Column("Kernel", lambda p: p.call.kernel),
                Column("FLOP/B", lambda p: p.intensity, lambda v: f"{v:.3g}", right=True),
                Column("GFLOP/s", lambda p: p.gflops, lambda v: f"{v:.3g}", right=True),
                Column("Of roof", lambda p: None if p.share is None else p.share * 100,
                       lambda v: "" if v is None else f"{v:.0f} %", right=True),
                Column("Bound", lambda p: p.bound),
            ],
            stretch=1,
            empty="Run (F5), and measure this machine once, to see how near each kernel comes to what is possible.",
            key=lambda point: point.call.index,
        )  # fmt: skip
        for column, width in ((0, 34), (2, 70), (3, 76), (4, 66), (5, 76)):
            self.view.table.setColumnWidth(column, width)
        self.view.spare_columns({2: 400, 5: 460})
        self.view.current.connect(lambda point: selection.select(point.call.nodes, self))
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.addWidget(self.view)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(
            header(self.note, None, label("peak", "muted"), self.dtype, self.measure).spare(self.note).spaced()
        )
        layout.addWidget(self._split, 1)
        look.changed.connect(self._draw)
        selection.changed.connect(self._selected)
        self._refresh()

    def set_ceilings(self, ceilings: Ceilings) -> None:
        """(name, value, unit) of each ceiling."""
        self.ceilings = ceilings
        self._refresh()

    def set_calls(self, calls: list[CallFigures], device: str = "cpu") -> None:
        """The launches of a run on a device."""
        self.calls, self._device = calls, device
        self._refresh()

    @property
    def roofs(self) -> Ceilings:
        """The ceilings that hold for what is on show: they are of this machine's processor."""
        return self.ceilings if self._device == "cpu" else ()

    def _refresh(self) -> None:
        self.points: list[RoofPoint] = points(self.calls, self.roofs, self.dtype.value)
        self.view.set_records(self.points)
        if self._device != "cpu":
            self.note.setText(f"No ceilings of {self._device} were measured; what is measured here is the processor.")
        elif self.ceilings:
            self.note.setText(";  ".join(f"{name} {value:.3g} {unit}" for name, value, unit in self.ceilings))
        else:
            self.note.setText("This machine's ceilings have not been measured yet.")
        self.note.setToolTip(self.note.text())
        self._draw()

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if origin is not self:
            self.view.select_records([p for p in self.points if not nodes.isdisjoint(p.call.nodes)])

    def _draw(self) -> None:
        if not self.points and not self.roofs:
            return
        import pyqtgraph

        theme = self._look.theme
        if self._plot is None:
            self._plot = pyqtgraph.PlotWidget()
            self._plot.setLogMode(True, True)
            self._plot.setMenuEnabled(False)
            self._plot.hideButtons()
            self._plot.setAccessibleName("Roofline plot")
            self._split.addWidget(self._plot)
            self._split.setSizes([380, 420])
            self._split.setStretchFactor(1, 1)
        plot = self._plot
        plot.clear()
        plot.setBackground(theme.panel)
        low, high = self._range()
        self._draw_roofs(pyqtgraph, low, high)
        if self.points:
            self._draw_points(pyqtgraph)
        plot.setXRange(float(np.log10(low)), float(np.log10(high)), padding=0)
        bottom, top = self._heights()
        plot.setYRange(float(np.log10(bottom)), float(np.log10(top)), padding=0)
        for side, words in (("bottom", "FLOP per byte"), ("left", "GFLOP/s")):
            axis = plot.getAxis(side)
            axis.setLabel(words, color=theme.muted)
            axis.setPen(theme.strong_border)
            axis.setTextPen(theme.muted)

    def _range(self) -> tuple[float, float]:
        """The intensities on show: the launches', and the ridge where memory stops being what limits."""
        found = [p.intensity for p in self.points]
        memory, peak = dict(slopes(self.roofs)).get("memory"), dict(flats(self.roofs)).get(self.dtype.value)
        if memory and peak:
            found.append(peak / memory)
        return min(found, default=0.1) / 4, max(found, default=10.0) * 6

    def _heights(self) -> tuple[float, float]:
        """The GFLOP/s on show."""
        found = [value for _, value in flats(self.roofs)] + [p.gflops for p in self.points]
        return min(found, default=1.0) / 3, max(found, default=10.0) * 2.5

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        if self._plot is not None:
            self._draw()  # what can be named depends on the room

    def _draw_roofs(self, pyqtgraph: Any, low: float, high: float) -> None:
        theme, plot = self._look.theme, self._plot
        tops = flats(self.roofs)
        highest = tops[0][1] if tops else np.inf
        for level, value in slopes(self.roofs):
            end = min(highest / value, high)
            if end <= low:
                continue
            strong = level == "memory"
            pen = pyqtgraph.mkPen(theme.text if strong else theme.muted, width=2 if strong else 1)
            plot.plot([low, end], [low * value, end * value], pen=pen)
        at, placed = low * 1.08, []
        for names, value in sorted(nearby(slopes(self.roofs)), key=lambda entry: entry[0] != "memory"):
            below = names == "memory"
            self._label(pyqtgraph, placed, f"{names} {value:.3g} GB/s", at, at * value, (0, 0 if below else 1))
        widest = slopes(self.roofs)[0][1] if slopes(self.roofs) else np.inf
        placed = []
        for dtype, value in sorted(tops, key=lambda entry: entry[0] != self.dtype.value):
            strong = dtype == self.dtype.value
            style = Qt.PenStyle.SolidLine if strong else Qt.PenStyle.DashLine
            pen = pyqtgraph.mkPen(theme.text if strong else theme.muted, width=2 if strong else 1, style=style)
            begin = max(value / widest, low)
            if begin < high:
                plot.plot([begin, high], [value, value], pen=pen)
                self._label(pyqtgraph, placed, f"{dtype} {value:.3g} GFLOP/s", high, value, (1, 0.9))

    def _label(
        self, pyqtgraph: Any, placed: list[float], words: str, x: float, y: float, anchor: tuple[float, float]
    ) -> None:
        """Name a line, unless the name would lie on one that is there already."""
        bottom, top = self._heights()
        pixels = max(self._plot.height() - 60, 40) / max(np.log10(top / bottom), 0.1)
        height = float(np.log10(y)) * pixels
        if any(abs(height - other) < 15 for other in placed):
            return
        placed.append(height)
        theme = self._look.theme
        text = pyqtgraph.TextItem(words, color=theme.muted, anchor=anchor, fill=tint(theme.panel, 210))
        text.setPos(float(np.log10(x)), float(np.log10(y)))
        self._plot.addItem(text)

    def _draw_points(self, pyqtgraph: Any) -> None:
        theme, plot = self._look.theme, self._plot
        scatter = pyqtgraph.ScatterPlotItem(
            [float(np.log10(p.intensity)) for p in self.points],
            [float(np.log10(p.gflops)) for p in self.points],
            size=11,
            brush=[pyqtgraph.mkBrush(theme.series_colour(p.call.index)) for p in self.points],
            pen=pyqtgraph.mkPen(theme.text),
            data=self.points,
            hoverable=True,
            tip=lambda x, y, data: f"{data.call.index + 1} {data.call.kernel}: {data.gflops:.3g} GFLOP/s",
        )
        scatter.sigClicked.connect(
            lambda _, hit, *__: len(hit) and self._selection.select(hit[0].data().call.nodes, self)
        )
        plot.addItem(scatter)
        for point in self.points:
            text = pyqtgraph.TextItem(str(point.call.index + 1), color=theme.text, anchor=(-0.6, 0.5))
            text.setPos(float(np.log10(point.intensity)), float(np.log10(point.gflops)))
            plot.addItem(text)
