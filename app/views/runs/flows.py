"""Flows: per-kernel against all-kernel over -O and debug levels, with bars beside the figures."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QAction, QBrush, QColor, QPainter
from PySide6.QtWidgets import QMenu, QStyledItemDelegate, QWidget

from app.flows.cells import CACHES, Cell
from app.theme.look import Look
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.runs.flows import (
    DISTURBED,
    DONE,
    ENDS,
    RUNNING,
    STOPPED,
    WAITING,
    FlowRow,
    FlowsModel,
    wanted_cells,
)
from app.views.parts.controls import column, open_menu, push_button, spin_box
from app.views.parts.header import Header
from app.views.parts.many_choice import ManyChoice
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, Elided, MessageBar
from profiler.units import percent

EXPORTS = (("text", "Text", "txt"), ("md", "Markdown", "md"), ("csv", "CSV", "csv"), ("json", "JSON", "json"))
METRICS = (
    ("cpu", "CPU time"), ("elapsed_s", "Elapsed"), ("peak_bytes", "Peak memory"), ("first_result_s", "First result"),
)  # fmt: skip
_PEAK, _FIRST, _BARS, _RUNS = 8, 9, 13, 14
_ROOM = 980  # for the runs of each cell, while there is nothing to tell of them but how many
_ROOM_BESIDE = 900  # for the peak memory, while there is


class _Bars(QStyledItemDelegate):
    """A bar as long as its share of the largest; user time is solid, system time hatched."""

    def __init__(self, look: Look, view: FlowsView) -> None:
        super().__init__(view)
        self._look, self._view = look, view

    def paint(self, painter: QPainter, option, index) -> None:  # stubs leave out what an option holds
        super().paint(painter, option, index)
        row: FlowRow = self._view.view.model.record(index.row())
        if not row.figures:
            return
        most = max((sum(_parts(r, self._view.shown.value)) for r in self._view.rows if r.figures), default=0) or 1
        box: Any = option.rect
        left, room = box.left() + 8.0, box.width() - 16.0
        colour = QColor(self._look.theme.series[0 if row.cell.flow == "all-kernel" else 1])
        painter.save()
        for part, style in zip(
            _parts(row, self._view.shown.value), (Qt.BrushStyle.SolidPattern, Qt.BrushStyle.BDiagPattern)
        ):
            width = max(room * part / most, 1.0)
            painter.fillRect(QRectF(left, box.top() + 7.0, width, box.height() - 14.0), QBrush(colour, style))
            left += width
        painter.restore()


def _parts(row: FlowRow, metric: str) -> tuple[float, ...]:
    """What a bar is made of."""
    if metric == "cpu":
        return row.figures["user_s"], row.figures["system_s"]
    return (row.figures[metric] or 0.0,)


def _first(row: FlowRow) -> str:
    """When the first result was there; nothing where none was wanted."""
    if not row.cell.execute:
        return ""
    if row.figures:
        return seconds(row.figures["first_result_s"])
    return "to come" if row.state in (WAITING, RUNNING) else ""


def _first_tip(row: FlowRow) -> str:
    if not row.figures or not row.cell.execute:
        return "" if not row.cell.execute else "From the beginning of the compilation to the first result"
    compiled, first = row.figures["compile_s"], row.figures["first_result_s"]
    return f"Compiled after {seconds(compiled)}; the first result was there after {seconds(first)}"


def _ratio_tip(row: FlowRow) -> str:
    what = "the time to the first result" if row.cell.execute else "user + system time"
    return f"per-kernel / all-kernel, of {what}" if row.time_ratio is not None else ""


def _figure(name: str):
    return lambda row: row.figures.get(name)


def _known(show):
    return lambda value: "" if value is None else show(value)


class FlowsView(QWidget):
    """Rows are the cells of `kernelglass flows`."""

    measure_wanted = Signal(object, int)  # cells, repeats
    again_wanted = Signal(object)  # cells
    stop_wanted = Signal()
    export_wanted = Signal(str)

    def __init__(self, look: Look, model: FlowsModel) -> None:
        super().__init__()
        self._look, self.model = look, model
        self.bar = MessageBar(look, "flows")
        self._make_table()
        self._make_controls()
        self.note = Elided(role="muted")
        self.note.setContentsMargins(10, 6, 10, 4)
        column(self, self.bar, self._controls, self.note, self.view, main=self.view)
        model.changed.connect(self._refresh)
        look.changed.connect(self.view.table.viewport().update)
        self._refresh()

    def _make_table(self) -> None:
        self.rows: list[FlowRow] = []  # on show, before filtering
        time, theme = _known(seconds), self._look
        self.view = RecordView(
            "Flows",
            [
                Column("Flow", lambda r: r.cell.flow, width=96),
                Column("-O", lambda r: r.cell.opt_level, right=True, width=34),
                Column("Debug", lambda r: r.cell.debug, width=86),
                Column("Cache", lambda r: r.cell.cache, width=60),
                Column("User", _figure("user_s"), time, right=True, unit="s", width=76),
                Column("System", _figure("system_s"), time, right=True, unit="s", width=78, room=980),
                Column("Elapsed", _figure("elapsed_s"), time, right=True, unit="s", width=78),
                Column("CPU", _figure("cpu_percent"), _known(lambda v: percent(v / 100)), right=True, width=68,
                       room=1040),
                Column("Peak memory", _figure("peak_bytes"), _known(size), right=True, unit="B", width=108),
                Column("First result", _figure("first_result_s"), right=True, unit="s", words=_first, tip=_first_tip,
                       width=96),
                Column("Time ratio", lambda r: r.time_ratio, _known(lambda v: f"{v:.2f}\u00d7"), right=True,
                       tip=_ratio_tip, width=90),
                Column("Memory ratio", lambda r: r.memory_ratio, _known(lambda v: f"{v:.2f}\u00d7"), right=True,
                       width=116, room=1250),
                Column("Spread", _figure("spread"), _known(percent), right=True, width=72,
                       room=1130),
                Column(
                    "Bars",
                    lambda r: sum(_parts(r, self.shown.value)) if r.figures else None,
                    lambda v: "",
                    tip=lambda r: f"user {seconds(r.figures['user_s'])}, system {seconds(r.figures['system_s'])}"
                    if r.figures
                    else "",
                    room=800,
                ),
                Column(
                    "Runs",
                    lambda r: r.progress,
                    colour=lambda r: {RUNNING: theme.theme.accent, WAITING: theme.theme.muted,
                                      STOPPED: theme.theme.warning, DISTURBED: theme.theme.warning}.get(r.state),
                    width=128,
                    room=_ROOM,
                ),
            ],
            stretch=_BARS,
            empty="Compiles the open source both ways, each time in a fresh process with an empty or a filled cache: "
            "time, CPU and memory of each, and how soon the first result is there. Press Measure.",
            key=lambda row: row.cell,
        )  # fmt: skip
        self.view.table.setItemDelegateForColumn(_BARS, _Bars(self._look, self))
        self._again = QAction("Measure again", self.view.table)
        self._again.triggered.connect(self._ask_again)
        self.view.table.addAction(self._again)
        self.view.activated.connect(lambda row: self.again_wanted.emit((row.cell,)))
        self.view.table.selectionModel().selectionChanged.connect(lambda *_: self._enable())

    def _make_controls(self) -> None:
        self.levels = ManyChoice("Optimisation levels", "-O ", [(str(n), str(n)) for n in range(4)], ("2", "3"))
        debugs = [("none", "none"), ("line-tables", "lines")]
        self.debugs = ManyChoice("Debug information", "debug ", debugs, ("none", "line-tables"))
        self.caches = ManyChoice("Cache", "cache ", [(c, c) for c in CACHES], CACHES)
        ends = list(zip(ENDS, ("code", "result")))
        self.ends = ManyChoice("Measured until there is code, until there is a first result", "until ", ends, ENDS)
        tip = "Repeats of each cell; figures are medians"
        self.repeat = spin_box("Repeats of each cell", 1, 1000, "\u00d7", tip=tip)
        self.repeat.setValue(3)
        self.repeat.setMaximumWidth(68)
        self.shown = Choice("What the bars show", METRICS, flat=True)
        self.shown.chosen.connect(lambda _: self.view.table.viewport().update())
        self.measure = push_button("Measure", self._pressed, role="primary")
        tip = "Measure the selected cells again, and leave the others as they are (Enter on a row)"
        self.again = push_button("Again", self._ask_again, tip, "Measure the selected cells again")
        self.export = push_button("Export", name="Export the table")
        menu = QMenu(self.export)
        self.exports = {
            kind: menu.addAction(title, lambda k=kind: self.export_wanted.emit(k)) for kind, title, _ in EXPORTS
        }
        open_menu(self.export, menu)
        self._controls = (
            Header(
                self.levels,
                self.debugs,
                self.caches,
                self.ends,
                self.repeat,
                self.measure,
                self.again,
                None,
                self.shown,
                self.export,
            )
            .spare(self.shown, self.ends, self.caches, self.debugs)
            .spaced()
        )

    def chosen_cells(self) -> tuple[Cell, ...]:
        """The cells that the controls ask for."""
        levels = [int(n) for n in self.levels.values]
        return tuple(wanted_cells(levels, self.debugs.values, self.caches.values, self.ends.values))

    def _pressed(self) -> None:
        if self.model.active:
            self.stop_wanted.emit()
        else:
            self.measure_wanted.emit(self.chosen_cells(), self.repeat.value())

    def _ask_again(self) -> None:
        if chosen := tuple(row.cell for row in self.view.selected()):
            self.again_wanted.emit(chosen)

    def _refresh(self) -> None:
        self.rows = self.model.rows()
        self.view.set_wanted(_FIRST, any(r.cell.execute for r in self.rows))
        telling = any(r.state != DONE for r in self.rows)  # waiting, running, stopped, disturbed: in any width
        self.view.set_room(_RUNS, 0 if telling else _ROOM)
        self.view.set_room(_PEAK, _ROOM_BESIDE if telling else 0)
        self.view.set_records(self.rows)
        self.measure.setText("Stop" if self.model.active else "Measure")
        self._enable()
        document = self.model.document()
        self.note.setVisible(document is not None)
        if document is not None:
            kernels = document["kernels"]
            self.note.setText(
                f"{document['source']} for {document['target']}: {kernels} kernel{'s' * (kernels != 1)}, "
                f"{document['jobs']} job{'s' * (document['jobs'] != 1)} on {document['machine']}. "
                "Ratios are per-kernel / all-kernel: above 1, "
                f"all-kernel takes less. Loading the source alone takes {seconds(document['base']['cpu_s'])} and "
                f"{size(document['base']['peak_bytes'])}."
                + (" Stopped: only finished cells are shown." if document["interrupted"] else "")
            )

    def _enable(self) -> None:
        chosen = bool(self.view.selected()) and not self.model.active
        self.again.setEnabled(chosen)
        self._again.setEnabled(chosen)
        self.export.setEnabled(any(row.figures for row in self.rows))
