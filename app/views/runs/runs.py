"""The runs and compilations in the database: open a run in the views, compare several of either, export runs."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.requests import CompilationRow, RunRow
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
        self.view = RecordView(
            "Runs",
            [
                Column("Run", lambda r: r.number, right=True),
                Column("Source", lambda r: r.source.removeprefix("sample:").rsplit("/", 1)[-1]),
                Column(
                    "Median",
                    lambda r: r.median * 1e3 if r.median > 0 else None,
                    lambda v: seconds(v / 1e3) if v else "",
                    right=True,
                ),
                Column(
                    "Status",
                    lambda r: r.status,
                    colour=lambda r: None if r.status == "finished" else look.theme.warning,
                ),
                Column("How", lambda r: r.how),
                Column("Started", lambda r: r.started),
            ],
            "Filter: mlp, median < 5",
            stretch=1,
            empty="Nothing has been run yet. Run what is compiled (F5): every run is kept here, to open and compare.",
        )
        for column, width in ((0, 42), (2, 78), (3, 74), (4, 130), (5, 150)):
            self.view.table.setColumnWidth(column, width)
        self.view.spare_columns({3: 340, 4: 470, 5: 620})
        self.compilations = RecordView(
            "Compilations",
            [
                Column("No.", lambda r: r.number, right=True),
                Column("Source", lambda r: r.source.removeprefix("sample:").rsplit("/", 1)[-1]),
                Column("Time", lambda r: r.seconds * 1e3, lambda v: seconds(v / 1e3), right=True),
                Column("How", lambda r: r.how),
                Column("Kernels", lambda r: r.kernels, right=True),
                Column("Made", lambda r: r.created),
            ],
            "Filter: mlp, time > 500, -O3",
            stretch=1,
            empty="Nothing has been compiled and kept yet.",
        )
        for column, width in ((0, 42), (2, 78), (3, 150), (4, 68), (5, 150)):
            self.compilations.table.setColumnWidth(column, width)
        self.compilations.spare_columns({3: 340, 4: 470, 5: 620})
        self.compilations.table.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        self.view.activated.connect(lambda row: self.open_wanted.emit(row.number))
        self.view.table.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        self.open = QPushButton("Open")
        self.open.clicked.connect(lambda: self.open_wanted.emit(self.chosen()[0]))
        self.compare = QPushButton("Compare")
        self.compare.setToolTip("Select two or more (Ctrl+click); the oldest is what the others are measured against")
        self.compare.clicked.connect(self._compare)
        self.export = QPushButton("Export")
        menu = QMenu(self.export)
        for kind, title in FORMATS:
            menu.addAction(title, lambda k=kind: self.export_wanted.emit(tuple(sorted(self.chosen())), k))
        self.export.setMenu(menu)
        row = QHBoxLayout()
        row.setContentsMargins(6, 5, 6, 5)
        row.setSpacing(4)
        for button in (self.open, self.compare, self.export):
            button.setProperty("small", True)
            row.addWidget(button, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.compilations)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (header(self.kind, None), self.bar, self.stack):
            layout.addWidget(widget)
        layout.addLayout(row)
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
        rows = sorted({index.row() for index in view.table.selectedIndexes()})
        return [view.model.record(row).number for row in rows]

    def _compare(self) -> None:
        wanted = self.compare_wanted if self.stack.currentIndex() == 0 else self.compare_compilations_wanted
        wanted.emit(tuple(sorted(self.chosen())))

    def _enable(self) -> None:
        count, runs = len(self.chosen()), self.stack.currentIndex() == 0
        self.open.setEnabled(runs and count == 1)
        self.compare.setEnabled(count >= 2)
        self.export.setEnabled(runs and count >= 1)
