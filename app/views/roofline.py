"""The roofline: what each launch reaches, under this machine's measured ceilings."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.theme.look import Look
from app.viewmodels.run_figures import CallFigures
from app.viewmodels.selection import Selection
from app.views.widgets import MessageBar, label


class RooflineView(QWidget):
    """Points are launches; clicking one selects its nodes."""

    measure_wanted = Signal()

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self.ceilings: tuple[tuple[str, float, str], ...] = ()
        self.calls: list[CallFigures] = []
        self._plot: Any = None
        self.bar = MessageBar(look, "roofline")
        self.note = label(
            "Run (F5), and measure this machine's ceilings once, to see how near each kernel comes.", "muted"
        )
        self.note.setWordWrap(True)
        self.measure = QPushButton("Measure this machine")
        self.measure.clicked.connect(self.measure_wanted)
        row = QHBoxLayout()
        row.setContentsMargins(10, 6, 10, 4)
        row.addWidget(self.note, 1)
        row.addWidget(self.measure)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._layout.addWidget(self.bar)
        self._layout.addLayout(row)
        self._layout.addStretch(0)
        self.setAccessibleName("Roofline")
        look.changed.connect(self._draw)

    def set_ceilings(self, ceilings: tuple[tuple[str, float, str], ...]) -> None:
        """(name, value, unit) of each ceiling."""
        self.ceilings = ceilings
        self.note.setText("; ".join(f"{name} {value:.3g} {unit}" for name, value, unit in ceilings))
        self._draw()

    def set_calls(self, calls: list[CallFigures]) -> None:
        """The launches of a run."""
        self.calls = calls
        self._draw()

    def _draw(self) -> None:
        points = [c for c in self.calls if c.intensity > 0 and c.flops > 0]
        if not points:
            return
        import pyqtgraph

        theme = self._look.theme
        if self._plot is None:
            self._plot = pyqtgraph.PlotWidget()
            self._plot.setLogMode(True, True)
            self._plot.setMenuEnabled(False)
            self._plot.hideButtons()
            self._layout.addWidget(self._plot, 1)
        plot = self._plot
        plot.clear()
        plot.setBackground(theme.panel)
        low, high = min(c.intensity for c in points) / 4, max(c.intensity for c in points) * 8
        peak = next((v for n, v, u in self.ceilings if u == "GFLOP/s" and n.endswith("f32")), None)
        for index, (name, value, _) in enumerate(c for c in self.ceilings if c[2] == "GB/s"):
            xs = np.geomspace(low, high, 60)
            ys = np.minimum(xs * value, peak or np.inf)
            plot.plot(xs, ys, pen=pyqtgraph.mkPen(theme.series[index + 2], width=1.5))
            text = pyqtgraph.TextItem(name, color=theme.muted, anchor=(0, 1))
            text.setPos(float(np.log10(xs[2])), float(np.log10(ys[2])))
            plot.addItem(text)
        scatter = pyqtgraph.ScatterPlotItem(
            [float(np.log10(c.intensity)) for c in points],
            [float(np.log10(c.flops / 1e9)) for c in points],
            size=11,
            brush=[pyqtgraph.mkBrush(theme.series_colour(c.index)) for c in points],
            pen=pyqtgraph.mkPen(theme.text),
            data=points,
            hoverable=True,
            tip=lambda x, y, data: f"{data.index + 1} {data.kernel}: {data.flops / 1e9:.3g} GFLOP/s",
        )
        scatter.sigClicked.connect(lambda _, hit, *__: len(hit) and self._selection.select(hit[0].data().nodes, self))
        plot.addItem(scatter)
        for call in points:
            text = pyqtgraph.TextItem(str(call.index + 1), color=theme.text, anchor=(-0.6, 0.5))
            text.setPos(float(np.log10(call.intensity)), float(np.log10(call.flops / 1e9)))
            plot.addItem(text)
        plot.setXRange(float(np.log10(low * 2)), float(np.log10(high)), padding=0)
        for side, words in (("bottom", "FLOP per byte"), ("left", "GFLOP/s")):
            axis = plot.getAxis(side)
            axis.setLabel(words, color=theme.muted)
            axis.setPen(theme.strong_border)
            axis.setTextPen(theme.muted)
