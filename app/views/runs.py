"""The runs in the database: open one in the views, compare several, export either."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look
from app.viewmodels.formats import seconds
from app.viewmodels.requests import RunRow
from app.views.table import RecordView
from app.views.widgets import MessageBar

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
    export_wanted = Signal(object, str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.bar = MessageBar(look, "runs")
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
        )
        for column, width in ((0, 38), (2, 66), (3, 66), (4, 100), (5, 130)):
            self.view.table.setColumnWidth(column, width)
        self.view.spare_columns({3: 340, 4: 440, 5: 580})
        self.view.activated.connect(lambda row: self.open_wanted.emit(row.number))
        self.view.table.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        self.open = QPushButton("Open")
        self.open.clicked.connect(lambda: self.open_wanted.emit(self.chosen()[0]))
        self.compare = QPushButton("Compare")
        self.compare.setToolTip("Select two or more runs; the oldest is what the others are measured against")
        self.compare.clicked.connect(lambda: self.compare_wanted.emit(tuple(sorted(self.chosen()))))
        self.export = QPushButton("Export")
        menu = QMenu(self.export)
        for kind, title in FORMATS:
            menu.addAction(title, lambda k=kind: self.export_wanted.emit(tuple(sorted(self.chosen())), k))
        self.export.setMenu(menu)
        row = QHBoxLayout()
        row.setContentsMargins(6, 5, 6, 5)
        row.setSpacing(4)
        for button in (self.open, self.compare, self.export):
            row.addWidget(button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self.view)
        layout.addLayout(row)
        self._enable()

    def set_runs(self, runs: tuple[RunRow, ...]) -> None:
        """Show these; the newest is first."""
        self.view.set_records(runs)
        self._enable()

    def chosen(self) -> list[int]:
        """Numbers of the selected runs."""
        rows = sorted({index.row() for index in self.view.table.selectedIndexes()})
        return [self.view.model.record(row).number for row in rows]

    def _enable(self) -> None:
        count = len(self.chosen())
        self.open.setEnabled(count == 1)
        self.compare.setEnabled(count >= 2)
        self.export.setEnabled(count >= 1)
