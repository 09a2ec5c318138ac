"""A sweep: its cells as a table with a filter, as a matrix of two axes or as a plot; the best cell; how far it is."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QStackedWidget,
    QStyledItemDelegate,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from app.theme.look import Look, tint
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.runs.sweep import (
    AXES,
    FAILED,
    FIGURE_TABLE,
    FIGURES,
    Figure,
    SweepCell,
    SweepTold,
    axes_of,
    best,
    matrix,
    place_on,
    plotted,
    progress,
    shown,
    words_of,
)
from app.views.parts.controls import column, push_button
from app.views.parts.header import Header
from app.views.parts.later import one_shot
from app.views.parts.plain import plain_tip
from app.views.parts.plots import make_plot, name_axes
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, Elided, MessageBar

CELLS, MATRIX, PLOT = "cells", "matrix", "plot"
_EMPTY = "No sweep is in the database. `kernelglass sweep FILE.toml` makes one: its cells come here, as they are done."
_TALL = 170  # pixels below which a plot needs the room of its labels itself
_HERE = Qt.ItemDataRole.UserRole
_AXES = [(axis, title) for axis, (title, _) in AXES.items()]


class _Heat(QStyledItemDelegate):
    """Paints what is behind an item itself: under a style sheet Qt does not."""

    def paint(self, painter: QPainter, option, index) -> None:  # stubs leave out what an option holds
        if (behind := index.data(Qt.ItemDataRole.BackgroundRole)) is not None:
            painter.fillRect(option.rect, behind)
        super().paint(painter, option, index)


class SweepView(QWidget):
    """One sweep at a time. What the filter of the table leaves is what matrix, plot and best cell are made of."""

    ask_wanted = Signal()
    sweep_chosen = Signal(str)
    file_wanted = Signal()
    open_wanted = Signal(int)
    open_compilation_wanted = Signal(int)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.told = SweepTold("")
        self._plot: Any = None
        self._top = 1.0  # of what it shows
        self._away = True  # out of sight when that was noted last
        self._come = one_shot(self, self.ask_wanted.emit)
        self.bar = MessageBar(look, "sweep")
        self.which = Choice("Sweep", flat=True)
        self.which.chosen.connect(self.sweep_chosen)
        self.form = Choice("Shown as", [(CELLS, "Cells"), (MATRIX, "Matrix"), (PLOT, "Plot")], flat=True)
        self.down = Choice("Down", flat=True)
        self.across = Choice("Across", flat=True)
        self.figure = Choice("Figure", [(figure.name, figure.title) for figure in FIGURES], flat=True)
        for choice in (self.form, self.down, self.across, self.figure):
            choice.chosen.connect(lambda _: self._draw())
        self.state = Elided(where=Qt.TextElideMode.ElideRight, role="muted")
        self.file = push_button("Open file...", self.file_wanted.emit, "A sweep's TOML file: what is missing is known")
        parts = (self.which, self.form, self.down, self.across, self.figure, self.state, self.file)
        controls = Header(*parts, wide=self.state).spare(self.file)
        self.best = Elided(where=Qt.TextElideMode.ElideRight)
        self.best.setContentsMargins(10, 3, 10, 3)
        self._make_table(look)
        self.matrix = QTableWidget()
        self.matrix.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.matrix.setAccessibleName("Matrix of cells")
        self.matrix.setItemDelegate(_Heat(self.matrix))
        self.matrix.itemActivated.connect(lambda item: self._open(item.data(_HERE)))
        self.plot_place = QWidget()
        self._plot_layout = column(self.plot_place)
        self.stack = QStackedWidget()
        for view in (self.cells, self.matrix, self.plot_place):
            self.stack.addWidget(view)
        # Beside each other, as rows of cells are what room is for; and the filter is matrix's and plot's as well.
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.best, 2)  # names what is long, where the filter is short
        row.addWidget(self.cells.take_search(), 1)
        column(self, self.bar, controls, line, self.stack, main=self.stack)
        look.changed.connect(self._draw)
        self._draw()

    def _make_table(self, look: Look) -> None:
        colours = {FAILED: "bad", "missing": "faint"}
        self.cells = RecordView(
            "Cells of the sweep",
            [
                *(Column(title, lambda c, a=axis: place_on(a, c), width=width, room=room)
                  for (axis, (title, _)), width, room in zip(AXES.items(), (0, 96, 86, 50, 110, 90),
                                                             (0, 0, 560, 500, 900, 1040))),
                Column("Status", lambda c: c.status, width=68,
                       colour=lambda c: getattr(look.theme, colours.get(c.status, ""), None)),
                Column("Median", lambda c: c.median, lambda v: "" if v is None else seconds(v), right=True, width=78,
                       unit="s"),
                Column("Compile", lambda c: c.compile, lambda v: "" if v is None else seconds(v), right=True, width=78,
                       unit="s"),
                Column("Kernels", lambda c: c.kernels, right=True, width=64, room=760),
                Column("Peak", lambda c: c.peak, lambda v: "" if v is None else size(v), right=True, width=72,
                       unit="b", room=840),
                Column("Reason", lambda c: c.error, width=160, tip=lambda c: c.error),
            ],
            "Filter: mlp, median < 5ms, status = failed",
            empty=_EMPTY,
            key=lambda cell: cell.asked,
        )  # fmt: skip
        self.cells.activated.connect(self._open)
        self.cells.filter.textChanged.connect(lambda _: self._draw())

    def note_whether_seen(self) -> bool:
        """Whether any of it is seen now; where not, `ask_wanted` comes once it is. Behind another tab Qt calls it
        visible as well."""
        self._away = self.visibleRegion().isEmpty()
        return not self._away

    def paintEvent(self, event) -> None:
        super().paintEvent(event)
        if self._away:
            self._away = False
            self._come.start()

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        if self.form.value == PLOT and self._plot is not None:
            self._draw()

    def set_sweeps(self, names: tuple[str, ...]) -> None:
        """The sweeps to choose from."""
        entries = [(name, name) for name in names]
        if self.told.name and self.told.name not in dict(entries):
            entries.insert(0, (self.told.name, self.told.name))
        self.which.set_entries(entries)
        self.which.setVisible(bool(entries))

    def set_sweep(self, told: SweepTold) -> None:
        """Show a sweep, or how far it has come; what was chosen to be seen stays."""
        other = told.name != self.told.name
        self.told = told
        self.which.set_value(told.name)
        axes = axes_of(told.cells)
        for choice, at in ((self.down, 0), (self.across, 1)):
            choice.set_entries(_AXES)
            if other and len(axes) > at:
                choice.set_value(axes[at])
        if other:
            known = [figure.name for figure in FIGURES if best(told.cells, figure) is not None]
            self.figure.set_value(known[0] if known else FIGURES[0].name)
        self.cells.set_records(told.cells)
        self._draw()

    def _draw(self) -> None:
        there = bool(self.told.cells)
        form, figure = self.form.value if there else CELLS, FIGURE_TABLE[self.figure.value or FIGURES[0].name]
        self.form.setVisible(there)
        self.figure.setVisible(there)
        self.across.set_entries(_AXES + ([(each.name, each.title) for each in FIGURES] if form == PLOT else []))
        self.down.setVisible(form == MATRIX)
        self.across.setVisible(form != CELLS)
        self.stack.setCurrentIndex((CELLS, MATRIX, PLOT).index(form))
        self.state.setText(progress(self.told) if self.told.name else "")
        cells = self.cells.model.shown  # what the filter leaves
        first = best(cells, figure)
        self.best.setText(f"Best: {shown(first, figure)}  \u00b7  {words_of(first)}" if first is not None else "")
        self.best.setVisible(first is not None)
        if form == MATRIX:
            self._draw_matrix(cells, figure, first)
        elif form == PLOT:
            self._draw_plot(cells, figure)

    def _draw_matrix(self, cells: list[SweepCell], figure: Figure, first: SweepCell | None) -> None:
        theme, table = self._look.theme, self.matrix
        found = matrix(cells, self.across.value, self.down.value, figure)
        values = [value for here in found.places.values() if (value := figure.of(here[0])) is not None]
        low, high = (min(values), max(values)) if values else (0.0, 0.0)
        table.clear()
        table.setRowCount(len(found.rows))
        table.setColumnCount(len(found.columns))
        table.setVerticalHeaderLabels(found.rows)
        table.setHorizontalHeaderLabels(found.columns)
        for down, row in enumerate(found.rows):
            for across, name in enumerate(found.columns):
                if (row, name) not in found.places:
                    continue
                chosen, *others = here = found.places[row, name]
                more = f"  +{len(others)}" if others else ""
                mark = "\u2605 " if chosen is first else ""
                item = QTableWidgetItem(f"{mark}{shown(chosen, figure)}{more}")
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                item.setData(_HERE, chosen)
                said = [" ".join(filter(None, (words_of(c), shown(c, figure), c.error))) for c in here[:12]]
                item.setToolTip(plain_tip("\n".join(said)))
                value = figure.of(chosen)
                if value is not None and high > low:
                    item.setBackground(tint(theme.series[0], int(20 + 120 * (value - low) / (high - low))))
                elif chosen.status == FAILED:
                    item.setForeground(QColor(theme.bad))
                table.setItem(down, across, item)
        table.resizeColumnsToContents()

    def _draw_plot(self, cells: list[SweepCell], figure: Figure) -> None:
        import pyqtgraph

        theme = self._look.theme
        if self._plot is None:
            self._plot = make_plot("Plot of the sweep", 80)
            for side in ("bottom", "left"):
                self._plot.axes[side].enableAutoSIPrefix(False)
            self._plot_layout.addWidget(self._plot, 1)
            self._plot.box.sigResized.connect(self._clear_legend)
        plot, shown_as = self._plot, plotted(cells, self.across.value, figure)
        plot.clear()
        plot.setBackground(theme.panel)
        legend = plot.addLegend(offset=(-12, 2), colCount=4)  # the one that is there, if one is
        legend.setLabelTextColor(theme.text)
        for at, line in enumerate(shown_as.lines):
            colour = theme.series[at % len(theme.series)]
            dots = [(x, y) for x, y, _ in line.points]
            plot.addItem(
                pyqtgraph.ScatterPlotItem(
                    [x for x, _ in dots], [y for _, y in dots], size=8, brush=tint(colour), name=line.name,
                    pen=pyqtgraph.mkPen(theme.panel), hoverable=True, data=[cell for _, _, cell in line.points],
                    tip=lambda x, y, data: plain_tip(f"{words_of(data)}: {shown(data, figure)}"),
                )
            )  # fmt: skip
            if line.best:
                plot.plot(*zip(*line.best), pen=pyqtgraph.mkPen(colour, width=1.5))
        plot.setAccessibleName(shown_as.words)
        plot.axes["bottom"].setTicks([list(enumerate(shown_as.ticks))] if shown_as.ticks else None)
        plot.box.setXRange(*shown_as.across, padding=0)
        self._top = shown_as.top
        self._clear_legend()
        low = self.stack.height() < _TALL  # then the choices above say what it is, and its unit is enough
        beside = shown_as.beside.rpartition(", ")[2] if low and ", " in shown_as.beside else shown_as.beside
        name_axes(plot, theme, shown_as.below, beside)
        plot.axes["bottom"].showLabel(not low)

    def _clear_legend(self, *_: object) -> None:
        """What is drawn stays below the legend, which would hide it."""
        if self._plot is not None:
            high = self._plot.box.height()
            above = min(self._plot.addLegend().boundingRect().height(), high / 2)
            self._plot.box.setYRange(0, self._top * (high / (high - above) if above > 0 else 1), padding=0)

    def _open(self, cell: SweepCell) -> None:
        """A cell's run, or its compilation where it was only compiled."""
        if cell.run:
            self.open_wanted.emit(cell.run)
        elif cell.compilation:
            self.open_compilation_wanted.emit(cell.compilation)
