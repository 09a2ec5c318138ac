"""One model for every table of the window: records in, columns by function, sorting, filtering, TSV out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from app.viewmodels.frame.filtering import column_name, compile_filter
from app.views.parts.plain import plain_tip
from compiler.printable import printable

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Column:
    """A column: its title, the value to sort and filter by (in `unit`), and how to show it.

    `words` shows a cell from its whole record, where the value alone does not say enough. It is `width` pixels wide at
    first, and hidden while the table is narrower than `room`, or leaves the column that names the row too little.
    """

    title: str
    value: Callable[[Any], Any]
    show: Callable[[Any], str] = str
    right: bool = False
    colour: Callable[[Any], str | None] | None = None
    unit: str = ""
    tip: Callable[[Any], str] | None = None
    words: Callable[[Any], str] | None = None
    font: Callable[[], QFont] | None = None
    width: int = 0
    room: int = 0

    @property
    def alignment(self) -> Qt.AlignmentFlag:
        """Where its words stand, and those of its heading."""
        side = Qt.AlignmentFlag.AlignRight if self.right else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter

    def text(self, record: Any) -> str:
        """What a cell says; nothing for a value that is not known."""
        if self.words is not None:
            return self.words(record)
        value = self.value(record)
        return "" if value is None and self.show is str else self.show(value)


class RecordTable(QAbstractTableModel):
    """Rows are records; what is shown is those the filter keeps, in the order of the sorted column."""

    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self._records: list[Any] = []
        self._rows: list[Any] = []
        self._sort = (-1, Qt.SortOrder.AscendingOrder)
        self._keep: Callable[[Any], bool] = lambda _: True

    @property
    def total(self) -> int:
        """How many records there are, shown or not."""
        return len(self._records)

    @property
    def shown(self) -> list[Any]:
        """The records on show, from the top."""
        return list(self._rows)

    def set_records(self, records: Sequence[Any]) -> None:
        """Replace the rows."""
        self._records = list(records)
        self._refresh()

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns; the rows stay."""
        self.beginResetModel()
        self.columns = tuple(columns)
        self._sort = (-1, Qt.SortOrder.AscendingOrder)
        self.endResetModel()

    def set_filter(self, text: str) -> str:
        """Keep rows that match (`time > 5`, or words); returns what is wrong with it, or nothing."""
        names = [column_name(column.title) for column in self.columns]
        try:
            self._keep = compile_filter(
                text,
                {name: column.value for name, column in zip(names, self.columns)},
                {name: column.unit for name, column in zip(names, self.columns)},
            )
        except ValueError as error:
            return str(error)
        self._refresh()
        return ""

    def record(self, row: int) -> Any:
        """The record of a row."""
        return self._rows[row]

    def row_of(self, record: Any) -> int:
        """Where a record is shown, or -1."""
        return next((row for row, known in enumerate(self._rows) if known is record), -1)

    def tsv(self, rows: Sequence[int] | None = None) -> str:
        """Rows as tab-separated text with a heading."""
        chosen = range(len(self._rows)) if rows is None else rows
        lines = ["\t".join(column.title for column in self.columns)]
        for row in chosen:
            texts = (column.text(self._rows[row]) for column in self.columns)
            lines.append("\t".join(" ".join(text.split()) for text in texts))
        return "\n".join(lines)

    def _refresh(self) -> None:
        self.beginResetModel()
        self._rows = [record for record in self._records if self._keep(record)]
        column, order = self._sort
        if column >= 0:
            value = self.columns[column].value
            known = [record for record in self._rows if value(record) is not None]
            unknown = [record for record in self._rows if value(record) is None]  # last, whichever way it is sorted
            known.sort(key=lambda r: _sort_key(value(r)), reverse=order == Qt.SortOrder.DescendingOrder)
            self._rows = known + unknown
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.columns[section].title
        return self.columns[section].alignment if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = self.columns[index.column()]
        record = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return printable(column.text(record))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(column.tip(record) if column.tip is not None else column.text(record))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{column.title}: {column.text(record) or 'not known'}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return column.alignment
        if role == Qt.ItemDataRole.ForegroundRole and column.colour is not None:
            colour = column.colour(record)
            return QColor(colour) if colour else None
        if role == Qt.ItemDataRole.FontRole and column.font is not None:
            return column.font()
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sort = (column, order)
        self._refresh()


def _sort_key(value: Any) -> tuple[int, Any]:
    """Numbers before words, so that a column that holds both can be sorted too."""
    if isinstance(value, (int, float)):
        return 0, value
    if isinstance(value, tuple):
        return 1, tuple(_sort_key(part) for part in value)
    return 2, str(value).lower()
