"""The runs and compilations in the database: open a run in the views, compare several of either, export runs."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.requests import CompilationRow, RunRow, source_name
from app.views.parts.controls import column, push_button
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, MessageBar, header

FORMATS = (
    ("html", "HTML report"),
    ("md", "Markdown"),
    ("csv", "CSV"),
    ("json", "JSON"),
    ("perfetto", "Perfetto trace"),
)


class RunsView(QWidget):
    """A table of RunRow; several rows can be selected."""

    open_wanted = Signal(int)
    compare_wanted = Signal(object)
    compare_compilations_wanted = Signal(object)
    export_wanted = Signal(object, str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.bar = MessageBar(look, "runs")
        self.kind = Choice("What is listed", [("runs", "Runs"), ("compilations", "Compilations")], flat=True)
        self.kind.chosen.connect(lambda kind: self.show_kind(kind))
        source = Column("Source", lambda r: source_name(r.source))
        self.view = RecordView(
            "Runs",
            [
                Column("Run", lambda r: r.number, right=True, width=42),
                source,
                Column("Median", lambda r: r.median * 1e3 if r.median > 0 else None, _taken, right=True, width=78),
                Column("Status", lambda r: r.status, width=74, room=340,
                       colour=lambda r: None if r.status == "finished" else look.theme.warning),
                Column("How", lambda r: r.how, width=130, room=470),
                Column("Started", lambda r: r.started, width=150, room=620),
            ],
            "Filter: mlp, median < 5",
            stretch=1,
            empty="Nothing has been run yet. Run what is compiled (F5): every run is kept here, to open and compare.",
        )  # fmt: skip
        self.compilations = RecordView(
            "Compilations",
            [
                Column("No.", lambda r: r.number, right=True, width=42),
                source,
                Column("Time", lambda r: r.seconds * 1e3, _taken, right=True, width=78),
                Column("How", lambda r: r.how, width=150, room=340),
                Column("Kernels", lambda r: r.kernels, right=True, width=68, room=470),
                Column("Made", lambda r: r.created, width=150, room=620),
            ],
            "Filter: mlp, time > 500, -O3",
            stretch=1,
            empty="Nothing has been compiled and kept yet.",
        )
        self.view.activated.connect(lambda row: self.open_wanted.emit(row.number))
        for view in (self.view, self.compilations):
            view.table.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        tip = "Select two or more (Ctrl+click); the oldest is what the others are measured against"
        self.open = push_button("Open", lambda: self.open_wanted.emit(self.chosen()[0]), role="small")
        self.compare = push_button("Compare", self._compare, tip, role="small")
        self.export = push_button("Export", role="small")
        menu = QMenu(self.export)
        for kind, title in FORMATS:
            menu.addAction(title, lambda k=kind: self.export_wanted.emit(tuple(sorted(self.chosen())), k))
        self.export.setMenu(menu)
        row = QHBoxLayout()
        row.setContentsMargins(6, 5, 6, 5)
        row.setSpacing(4)
        for button in (self.open, self.compare, self.export):
            row.addWidget(button, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.compilations)
        column(self, header(self.kind, None), self.bar, self.stack).addLayout(row)
        self._enable()

    def show_kind(self, kind: str) -> None:
        """List runs, or compilations."""
        self.kind.set_value(kind)
        self.stack.setCurrentIndex(0 if kind == "runs" else 1)
        self._enable()

    def set_runs(self, runs: tuple[RunRow, ...]) -> None:
        """Show these; the newest is first."""
        self.view.set_records(runs)
        self._enable()

    def set_compilations(self, rows: tuple[CompilationRow, ...]) -> None:
        """Show these; the newest is first."""
        self.compilations.set_records(rows)
        self._enable()

    def chosen(self) -> list[int]:
        """Numbers of the selected runs, or compilations where those are listed."""
        view = self.view if self.stack.currentIndex() == 0 else self.compilations
        return [row.number for row in view.selected()]

    def _compare(self) -> None:
        wanted = self.compare_wanted if self.stack.currentIndex() == 0 else self.compare_compilations_wanted
        wanted.emit(tuple(sorted(self.chosen())))

    def _enable(self) -> None:
        count, runs = len(self.chosen()), self.stack.currentIndex() == 0
        self.open.setEnabled(runs and count == 1)
        self.compare.setEnabled(count >= 2)
        self.export.setEnabled(runs and count >= 1)


def _taken(milliseconds: float | None) -> str:
    return seconds(milliseconds / 1e3) if milliseconds else ""
