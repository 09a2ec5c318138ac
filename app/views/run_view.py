"""The run view: the distribution of times, each launch's figures, the check against the reference, and a roofline."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look, tint
from app.viewmodels.compilation import Compilation
from app.viewmodels.formats import seconds
from app.viewmodels.requests import RunResult
from app.viewmodels.run_figures import CallFigures, call_figures, histogram
from app.viewmodels.selection import Selection
from app.views.table import RecordView
from app.views.widgets import MessageBar, label


def _rate(unit: str, value: float) -> str:
    return f"{value / 1e9:.3g} G{unit}" if value else ""


class RunView(QWidget):
    """Empty until a run ends; pyqtgraph is imported then, since it is slow to load."""

    run_wanted = Signal()

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._result: tuple[Compilation, RunResult] | None = None
        self.bar = MessageBar(look, "run")
        self.summary = label("", "muted")
        self.summary.setWordWrap(True)
        self.view = RecordView(
            "Launches",
            [
                Column("#", lambda c: c.index + 1, right=True),
                Column("Kernel", lambda c: c.kernel),
                Column("Median", lambda c: c.median * 1e6, lambda v: seconds(v / 1e6), right=True),
                Column(
                    "Quartiles", lambda c: (c.low, c.high), lambda v: f"{seconds(v[0])} to {seconds(v[1])}", right=True
                ),
                Column("Share", lambda c: c.share * 100, lambda v: f"{v:.0f} %", right=True),
                Column("Bandwidth", lambda c: c.bandwidth, lambda v: _rate("B/s", v), right=True),
                Column("Work", lambda c: c.flops, lambda v: _rate("FLOP/s", v), right=True),
            ],
            stretch=1,
        )
        for column, width in ((0, 36), (2, 76), (3, 150), (4, 60), (5, 92), (6, 100)):
            self.view.table.setColumnWidth(column, width)
        self.view.current.connect(lambda c: selection.select(c.nodes, self))
        selection.changed.connect(self._selected)
        self._rows: list[CallFigures] = []
        self._plots = QSplitter(Qt.Orientation.Horizontal)
        self._plot: Any = None
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.summary)
        column.addWidget(self.view)
        self.summary.setContentsMargins(8, 6, 8, 4)
        self._plots.addWidget(right)
        empty = QWidget()
        inner = QVBoxLayout(empty)
        row = QHBoxLayout()
        button = QPushButton("Run")
        button.setProperty("primary", True)
        button.clicked.connect(self.run_wanted)
        words = label(
            "Not run yet. Times are taken over many repeats on random inputs, in a process of their own.", "faint"
        )
        row.addStretch(1)
        row.addWidget(words)
        row.addWidget(button)
        row.addStretch(1)
        inner.addStretch(1)
        inner.addLayout(row)
        inner.addStretch(1)
        self._stack = QStackedWidget()
        self._stack.addWidget(empty)
        self._stack.addWidget(self._plots)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self._stack)
        look.changed.connect(self._draw)

    def clear(self) -> None:
        """Another compilation: nothing was run yet."""
        self._result = None
        self._stack.setCurrentIndex(0)

    def set_run(self, compilation: Compilation, run: RunResult) -> None:
        """Show a run."""
        self._result = (compilation, run)
        self._rows = call_figures(compilation, run)
        self.view.set_records(self._rows)
        times = np.array(run.totals or (0.0,))
        sizes = ", ".join(f"{name}={value}" for name, value in run.dims)
        said = f": {'; '.join(run.checks)}" if run.checks else ""
        check = {True: "check passed", False: "CHECK FAILED", None: "not checked"}[run.ok]
        self.summary.setText(
            f"{seconds(float(np.median(times)))} median, {seconds(float(times.min()))} best, {len(times)} repeats, "
            f"{run.threads} thread{'s' * (run.threads != 1)}{', ' + sizes if sizes else ''}; {check}{said}"
            + (f"\nkept as run {run.number}" if run.number else "")
            + ("; " + "; ".join(run.notes) if run.notes else "")
        )
        self._stack.setCurrentIndex(1)
        self._draw()

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if origin is not self:
            self.view.select_records([row for row in self._rows if not nodes.isdisjoint(row.nodes)])

    def _draw(self) -> None:
        if self._result is None:
            return
        import pyqtgraph

        theme = self._look.theme
        if self._plot is None:
            self._plot = pyqtgraph.PlotWidget()
            self._plot.setMinimumWidth(260)
            self._plots.addWidget(self._plot)
            self._plots.setSizes([620, 360])
        self._plot.setBackground(theme.panel)
        counts, edges = histogram(self._result[1].totals)
        self._plot.clear()
        scale, unit = (1e6, "\u00b5s") if edges[-1] < 1e-3 else (1e3, "ms")
        bars = pyqtgraph.BarGraphItem(
            x0=edges[:-1] * scale,
            x1=edges[1:] * scale,
            height=counts,
            brush=tint(theme.series[0], 180),
            pen=pyqtgraph.mkPen(theme.panel),
        )
        self._plot.addItem(bars)
        median = float(np.median(self._result[1].totals)) * scale
        self._plot.addItem(
            pyqtgraph.InfiniteLine(
                median,
                pen=pyqtgraph.mkPen(theme.series[1], width=2),
                label=f"median {median:.4g} {unit}",
                labelOpts={"color": theme.text, "position": 0.9},
            )
        )
        for side, text in (("bottom", f"whole run, {unit}"), ("left", "runs")):
            axis = self._plot.getAxis(side)
            axis.setLabel(text, color=theme.muted)
            axis.setPen(theme.strong_border)
            axis.setTextPen(theme.muted)
        self._plot.setMenuEnabled(False)
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.hideButtons()
        self._plot.getPlotItem().autoRange()
