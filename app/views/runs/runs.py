"""The notebook: runs, compilations and tables of flows that are kept; opening, comparing, writing on, deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.requests import RunRow, source_name
from app.views.parts.controls import column, open_menu, push_button
from app.views.parts.header import Header
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, MessageBar

FORMATS = (
    ("html", "HTML report"),
    ("md", "Markdown"),
    ("csv", "CSV"),
    ("json", "JSON"),
    ("perfetto", "Perfetto trace"),
)
RUNS, COMPILATIONS, FLOWS = "runs", "compilations", "flows"
NEWEST, BY_SOURCE = "newest", "source"


class RunsView(QWidget):
    """Tables of what is kept, one kind at a time; several rows can be selected."""

    open_wanted = Signal(int)
    open_compilation_wanted = Signal(int)
    open_flows_wanted = Signal(int)
    compare_wanted = Signal(object)
    compare_compilations_wanted = Signal(object)
    export_wanted = Signal(object, str)
    edit_wanted = Signal(str, object)  # what: note, tag, pin, delete; and the rows
    copy_command_wanted = Signal(object)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.bar = MessageBar(look, "runs")
        self.runs: tuple[RunRow, ...] = ()
        self._kept: dict[str, Sequence[Any]] = {}
        self._hidden: set[tuple[str, int]] = set()  # deleted, and may come back
        self._first: set[int] = set()  # ids of rows that begin a group
        kinds = [(RUNS, "Runs"), (COMPILATIONS, "Compilations"), (FLOWS, "Flows tables")]
        self.kind = Choice("What is listed", kinds, flat=True)
        self.kind.chosen.connect(lambda kind: self.show_kind(kind))
        self.order = Choice("In which order", [(NEWEST, "newest first"), (BY_SOURCE, "by source")], flat=True)
        self.order.chosen.connect(lambda _: self._arrange())
        self._make_tables(look)
        self._make_actions()
        tip = "Select two or more (Ctrl+click); the oldest is what the others are measured against"
        self.open = push_button("Open", self._open, role="small")
        self.compare = push_button("Compare", self._compare, tip, role="small")
        self.export = push_button("Export", role="small")
        menu = QMenu(self.export)
        for kind, title in FORMATS:
            menu.addAction(title, lambda k=kind: self.export_wanted.emit(tuple(sorted(self.chosen())), k))
        open_menu(self.export, menu)
        row = QHBoxLayout()
        row.setContentsMargins(6, 5, 6, 5)
        row.setSpacing(4)
        for button in (self.open, self.compare, self.export):
            row.addWidget(button, 1)
        self.stack = QStackedWidget()
        for view in self.tables.values():
            self.stack.addWidget(view)
        column(self, Header(self.kind, self.order, None), self.bar, self.stack).addLayout(row)
        self._enable()

    def _make_tables(self, look: Look) -> None:
        source = Column("Source", lambda r: source_name(r.source), words=self._source_words, tip=lambda r: r.source)
        self.view = RecordView(
            "Runs",
            [
                Column("Run", lambda r: r.number, right=True, width=46,
                       words=lambda r: f"* {r.number}" if r.pinned else str(r.number), tip=_about),
                source,
                Column("Median", lambda r: r.median * 1e3 if r.median > 0 else None, right=True, width=78,
                       words=self._median_or_why, colour=lambda r: None if r.median > 0 else look.theme.warning),
                Column("Status", lambda r: r.status, width=74, room=340,
                       colour=lambda r: None if r.status == "finished" else look.theme.warning),
                Column("Target", lambda r: r.target, width=64, room=400),
                Column("How", lambda r: r.how, width=120, room=470),
                Column("Edits", lambda r: r.changes, width=96, room=560),
                Column("Tags", lambda r: " ".join(r.tags), width=90, room=420),
                Column("Note", lambda r: r.note, width=150, room=520, tip=lambda r: r.note),
                Column("Started", lambda r: r.started, width=160, room=660),
                Column("Baseline", lambda r: "baseline" if r.pinned else "", width=70, room=780),
            ],
            "Filter: mlp, median < 5, baseline",
            stretch=1,
            empty="Nothing has been run yet. Run what is compiled (F5): every run is kept here, to open and compare.",
            key=lambda row: row.number,
        )  # fmt: skip
        self.compilations = RecordView(
            "Compilations",
            [
                Column("No.", lambda r: r.number, right=True, width=42),
                source,
                Column(
                    "Time", lambda r: r.seconds * 1e3, lambda ms: seconds(ms / 1e3) if ms else "", right=True, width=78
                ),
                Column("How", lambda r: r.how, width=150, room=340),
                Column("Edits", lambda r: r.changes, width=96, room=500),
                Column("Kernels", lambda r: r.kernels, right=True, width=68, room=470),
                Column("Made", lambda r: r.created, width=150, room=620),
            ],
            "Filter: mlp, time > 500, -O3",
            stretch=1,
            empty="Nothing has been compiled and kept yet.",
            key=lambda row: row.number,
        )
        self.flows = RecordView(
            "Flows tables",
            [
                Column("No.", lambda r: r.number, right=True, width=42),
                source,
                Column("Cells", lambda r: r.cells, right=True, width=58),
                Column("Target", lambda r: r.target, width=70, room=340),
                Column("Repeats", lambda r: r.repeats, right=True, width=68, room=420),
                Column("Made", lambda r: r.created, width=150, room=500),
            ],
            "Filter: mlp, cells > 4",
            stretch=1,
            empty="No flows have been measured yet (Flows, Measure): each table is kept here.",
            key=lambda row: row.number,
        )
        self.tables = {RUNS: self.view, COMPILATIONS: self.compilations, FLOWS: self.flows}
        for view in self.tables.values():
            view.activated.connect(lambda row: self._open(row))
            view.table.selectionModel().selectionChanged.connect(lambda *_: self._enable())

    def _make_actions(self) -> None:
        """What the right button offers on rows, and the keys for it."""
        wanted = (
            ("note", "Note...", "N", (RUNS,)), ("tag", "Tag...", "T", (RUNS,)),
            ("pin", "Baseline of its source, or no longer", "B", (RUNS,)),
            ("command", "Copy as command", "", (RUNS, COMPILATIONS)),
            ("delete", "Delete", "Del", (RUNS, COMPILATIONS, FLOWS)),
        )  # fmt: skip
        self.row_actions: dict[tuple[str, str], QAction] = {}
        for what, text, keys, kinds in wanted:
            for kind in kinds:
                table = self.tables[kind].table
                action = QAction(text, table)
                if keys:
                    action.setShortcut(QKeySequence(keys))
                    action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
                action.triggered.connect(lambda _=False, w=what: self._edit(w))
                table.addAction(action)
                self.row_actions[kind, what] = action

    def show_kind(self, kind: str) -> None:
        """List runs, compilations or tables of flows."""
        self.kind.set_value(kind)
        self.stack.setCurrentWidget(self.tables[kind])
        self._enable()

    def set_runs(self, runs: tuple[RunRow, ...]) -> None:
        """Show these; the newest is first."""
        self.runs = runs
        self.set_rows(RUNS, runs)

    def set_rows(self, kind: str, rows: Sequence[Any]) -> None:
        """Show these of a kind; the newest is first."""
        self._kept[kind] = rows
        self.tables[kind].set_records(self._grouped([row for row in rows if (kind, row.number) not in self._hidden]))
        self._enable()

    def hide_rows(self, rows: set[tuple[str, int]]) -> None:
        """Leave out rows that are deleted, by kind and number: all of them, and no others."""
        self._hidden = rows
        self._arrange()

    def chosen(self) -> list[int]:
        """Numbers of the selected rows of the kind that is listed."""
        return [row.number for row in self._table.selected()]

    @property
    def _table(self) -> RecordView:
        return self.tables[self.kind.value or RUNS]

    def _arrange(self) -> None:
        for kind, rows in self._kept.items():
            self.set_rows(kind, rows)

    def _grouped(self, rows: Sequence[Any]) -> list[Any]:
        """In the order that is chosen; by source, the source with the newest row first, and named once."""
        if self.order.value != BY_SOURCE:
            self._first.difference_update(map(id, rows))
            return list(rows)
        groups: dict[str, list[Any]] = {}
        for row in rows:
            groups.setdefault(row.source, []).append(row)
        self._first.update(id(group[0]) for group in groups.values())
        return [row for group in groups.values() for row in group]

    def _source_words(self, row: Any) -> str:
        """By source, only the first row of a group says whose it is, and how many there are."""
        if self.order.value != BY_SOURCE:
            return source_name(row.source)
        if id(row) not in self._first:
            return ""
        kept = self._kept.get(self.kind.value or RUNS, ())
        return f"{source_name(row.source)} ({sum(other.source == row.source for other in kept)})"

    def _open(self, row: Any = None) -> None:
        wanted = {
            RUNS: self.open_wanted, COMPILATIONS: self.open_compilation_wanted, FLOWS: self.open_flows_wanted,
        }[self.kind.value or RUNS]  # fmt: skip
        chosen = self._table.selected()
        picked = row if row and hasattr(row, "number") else chosen[0] if chosen else None
        if picked is not None:
            wanted.emit(picked.number)

    def _compare(self) -> None:
        runs = self._table is self.view
        wanted = self.compare_wanted if runs else self.compare_compilations_wanted
        wanted.emit(tuple(sorted(self.chosen())))

    def _edit(self, what: str) -> None:
        rows = self._table.selected()
        if not rows:
            return
        if what == "command":
            self.copy_command_wanted.emit(rows[0])
        else:
            self.edit_wanted.emit(what if self._table is self.view else f"{what}-{self.kind.value}", tuple(rows))

    def _enable(self) -> None:
        count, kind = len(self.chosen()), self.kind.value or RUNS
        self.open.setEnabled(count == 1)
        self.compare.setEnabled(count >= 2 and kind != FLOWS)
        self.export.setEnabled(kind == RUNS and count >= 1)
        for (of, _), action in self.row_actions.items():
            action.setEnabled(of == kind and count >= 1)

    def _median_or_why(self, row: RunRow) -> str:
        """What a call took; where that is not known, how the run stands, unless there is room to say it elsewhere."""
        if row.median > 0:
            return seconds(row.median)
        return "" if row.status == "finished" or self.view.shows("Status") else row.status


def _about(row: RunRow) -> str:
    """A run whole, for its tip: what a narrow table leaves out."""
    how = " ".join(filter(None, (row.target, row.how, row.changes)))
    baseline = "baseline of its source" if row.pinned else ""
    tags = f"tags: {' '.join(row.tags)}" if row.tags else ""
    return "\n".join(
        filter(None, (f"run {row.number} of {row.source}", row.started, row.status, how, baseline, tags, row.note))
    )
