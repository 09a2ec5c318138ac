"""A table with a filter field, sorting by heading, and copying as TSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QTableView, QVBoxLayout, QWidget

from app.models.tables import Column, RecordTable
from app.theme.tokens import ROW


class RecordView(QWidget):
    """Shows records; says which one is current or was activated."""

    current = Signal(object)
    activated = Signal(object)

    def __init__(self, name: str, columns: Sequence[Column], filter_hint: str = "", stretch: int = 0) -> None:
        super().__init__()
        self.model = RecordTable(columns)
        self._spare: dict[int, int] = {}
        self.table = _Table()
        self.table.setAccessibleName(name)
        self.table.setModel(self.model)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setShowGrid(False)
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.table.setWordWrap(False)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(ROW)
        self.table.horizontalHeader().setHighlightSections(False)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.table.horizontalHeader().setSectionResizeMode(stretch, QHeaderView.ResizeMode.Stretch)
        self.table.selectionModel().currentRowChanged.connect(self._changed)
        self.table.doubleClicked.connect(lambda index: self.activated.emit(self.model.record(index.row())))
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(filter_hint)
        self.filter.setAccessibleName(f"Filter {name}")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._filter)
        self.filter.setVisible(bool(filter_hint))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        holder = QWidget()
        inner = QVBoxLayout(holder)
        inner.setContentsMargins(6, 6, 6, 4)
        inner.addWidget(self.filter)
        holder.setVisible(bool(filter_hint))
        layout.addWidget(holder)
        layout.addWidget(self.table)

    def spare_columns(self, needed: dict[int, int]) -> None:
        """Columns that are hidden while the table is narrower than so many pixels."""
        self._spare = needed
        self._fit()

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        for column, width in self._spare.items():
            self.table.setColumnHidden(column, self.width() < width)

    def set_records(self, records: Sequence[Any]) -> None:
        """Show these; nothing is current."""
        self.model.set_records(records)

    def select_records(self, records: Sequence[Any]) -> None:
        """Mark rows without telling anybody, and show the first."""
        selection = self.table.selectionModel()
        selection.blockSignals(True)
        self.table.clearSelection()
        rows = [row for record in records if (row := self.model.row_of(record)) >= 0]
        for row in rows:
            for column in range(self.model.columnCount()):
                selection.select(self.model.index(row, column), selection.SelectionFlag.Select)
        selection.blockSignals(False)
        if rows:
            self.table.scrollTo(self.model.index(rows[0], 0))
        self.table.viewport().update()

    def _changed(self, index: QModelIndex, _old: QModelIndex) -> None:
        if index.isValid():
            self.current.emit(self.model.record(index.row()))

    def _filter(self, text: str) -> None:
        problem = self.model.set_filter(text)
        self.filter.setProperty("state", "error" if problem else "")
        self.filter.setToolTip(problem or "Words, or comparisons such as time > 5")
        self.filter.style().unpolish(self.filter)
        self.filter.style().polish(self.filter)


class _Table(QTableView):
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            rows = sorted({index.row() for index in self.selectedIndexes()})
            model = self.model()
            assert isinstance(model, RecordTable)
            QGuiApplication.clipboard().setText(model.tsv(rows or None))
        else:
            super().keyPressEvent(event)
