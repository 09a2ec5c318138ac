"""A table with a filter field, sorting by heading, and copying as TSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QMenu, QTableView, QWidget

from app.theme.fonts import UI_PIXELS
from app.theme.tokens import ROW
from app.viewmodels.frame.filtering import column_name
from app.views.parts.controls import Fitting, column, line_field, paragraph
from app.views.parts.later import one_shot
from app.views.parts.plain import plain_tip
from app.views.parts.table_model import Column, RecordTable
from app.views.parts.widgets import restyle

_BESIDE, _ABOVE = 18, 8  # pixels around the words of a heading, across, and around those of a row, above and below
_NAMED = 110  # pixels that the column which takes what is left has at least: it names what a row is of
_ROOMY = 700  # pixels from which on it shares what nobody needs with the others
_REST = 150  # milliseconds without a change after which a table without much room is fitted to its words
_MOST = 3  # times as wide as meant is the most that a column is made for its words


class RecordView(Fitting, QWidget):
    """Shows records; says which one is current or was activated. `key` tells which record is which when they change."""

    current = Signal(object)
    activated = Signal(object)

    def __init__(
        self, name: str, columns: Sequence[Column], filter_hint: str = "", stretch: int = 0, empty: str = "",
        key: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.model = RecordTable(columns)
        self._key = key
        self._spare = {at: shown.room for at, shown in enumerate(columns) if shown.room}
        self._stretched, self._row = stretch, ROW
        self._resting = one_shot(self, self._widen, _REST)
        self._wide: dict[int, int] = {}  # pixels of the columns beside that, as the font needs them
        self._widened: dict[int, int] = {}  # pixels of those that were given more, for what is in them
        self._narrowed = False  # whether the first column is, for want of room
        self._given_way: set[int] = set()  # columns without a room of their own that are hidden for want of it
        self._unwanted: set[int] = set()  # columns that have nothing to say now
        self.table = RecordTableView(self.model, empty)
        self.table.setAccessibleName(name)
        self.table.horizontalHeader().setSectionResizeMode(stretch, QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setResizeContentsPrecision(0)  # by the rows in sight: there may be many
        self._measure()
        self.table.selectionModel().currentRowChanged.connect(self._changed)
        self.table.chosen.connect(lambda row: self.activated.emit(self.model.record(row)))
        self.filter = FilterField()
        line_field(f"Filter {name}", filter_hint or "Filter: words, or time > 5", self._filter, self.filter)
        self.filter.left.connect(self._close_filter)
        self.filter.setToolTip(self._help())
        self._always = bool(filter_hint)  # else it comes with Ctrl+F: where rows are few, room is scarcer
        self.table.filter_wanted.connect(self.open_filter)
        self.said = paragraph()
        self.said.hide()
        self._holder = holder = QWidget()
        column(holder, self.filter, self.said, margins=(6, 6, 6, 4), spacing=3)
        holder.setVisible(self._always)
        column(self, holder, self.table)
        self.setFocusProxy(self.table)

    def take_search(self) -> QWidget:
        """The filter and what it says of itself, for somebody who has a better place for them than above the table."""
        around, inside = self.layout(), self._holder.layout()
        assert around is not None and inside is not None
        around.removeWidget(self._holder)
        inside.setContentsMargins(6, 2, 6, 2)
        return self._holder

    def open_filter(self) -> None:
        """Show the filter and give it the keyboard."""
        self._holder.show()
        self.filter.setFocus()
        self.filter.selectAll()

    def _close_filter(self) -> None:
        self.filter.clear()
        self._holder.setVisible(self._always)
        self.table.setFocus()

    def set_room(self, column: int, pixels: int) -> None:
        """Hide a column while the table is narrower than so many pixels."""
        self._spare[column] = pixels
        self._fit()

    def set_wanted(self, column: int, wanted: bool) -> None:
        """Whether a column has anything to say; one that has not stays away whatever room there is."""
        if wanted == (column in self._unwanted):
            self._unwanted ^= {column}
            self.table.setColumnHidden(column, not wanted)
            self._fit()

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()
        return super().event(event)

    def showEvent(self, event) -> None:
        super().showEvent(event)
        self._widen()

    def set_columns(self, columns: Sequence[Column], stretch: int) -> None:
        """Show other columns, of which one takes what the others leave."""
        self.model.set_columns(columns)
        self._stretched, self._wide, self._widened, self._given_way = stretch, {}, {}, set()
        header, modes = self.table.horizontalHeader(), QHeaderView.ResizeMode
        for at in range(len(columns)):
            header.setSectionResizeMode(at, modes.Stretch if at == stretch else modes.Interactive)
        self._measure()

    def shows(self, title: str) -> bool:
        """Whether a column is on show: it may have no room."""
        return any(
            shown.title == title and not self.table.isColumnHidden(at) for at, shown in enumerate(self.model.columns)
        )

    def set_row(self, pixels: int) -> None:
        """How high a row is with the usual font."""
        self._row = pixels
        self._measure()

    @property
    def _larger(self) -> float:
        """How much larger the font is than the usual one, by which sizes in pixels go."""
        return max(self.fontInfo().pixelSize() / UI_PIXELS, 1.0)

    def _measure(self) -> None:
        """Columns are as wide as they are meant to be with the usual font; wider with a larger one, or a long title."""
        metrics = self.fontMetrics()
        for at, shown in enumerate(self.model.columns):
            needed = metrics.horizontalAdvance(shown.title) + _BESIDE
            if at != self._stretched:
                usual = shown.width or self.table.horizontalHeader().defaultSectionSize()
                self._wide[at] = max(round(usual * self._larger), needed)
                self.table.setColumnWidth(at, self._wide[at])
        high = max(round(self._row * self._larger), metrics.height() + _ABOVE)
        self.table.verticalHeader().setDefaultSectionSize(high)
        self._fit()

    def _fit(self) -> None:
        """Hide columns that have no room: those that say from when on first, then others from the right, until the
        heading of the one that takes what is left is whole."""
        self._give_back()  # while Qt still knows how wide they are that may have no room any more
        hidden = {at for at, room in self._spare.items() if self.width() < room * self._larger} | self._unwanted
        ours = self._spare.keys() | self._given_way
        taken = sum(wide for at, wide in self._wide.items() if at not in hidden)
        spare = [at for at, room in self._spare.items() if room and at not in hidden]
        for at in sorted(spare, key=lambda at: -self._spare[at]):
            if self.width() - taken >= _NAMED * self._larger:
                break
            hidden.add(at)
            taken -= self._wide.get(at, 0)
        title = self.model.columns[self._stretched].title if self._stretched not in hidden else ""
        needed = self.fontMetrics().horizontalAdvance(title) + _BESIDE if title else 0
        self._given_way = set()
        for at in sorted(self._wide.keys() - hidden - {0}, reverse=True):
            if self.width() - taken >= needed:
                break
            self._given_way.add(at)
            taken -= self._wide[at]
        self._narrow_first(needed - (self.width() - taken))
        for at in ours | self._given_way:
            away = at in hidden or at in self._given_way
            if self.table.isColumnHidden(at) != away:
                self.table.setColumnHidden(at, away)
        self._widen_in_time()

    def _widen_in_time(self) -> None:
        """At once where there is room for all; else when nothing more comes: to find what words of many columns need
        takes longer than a turn may, and some tables have new records many times a second."""
        taken = sum(self._wide[at] for at in self._wide if not self.table.isColumnHidden(at))
        if self.width() - taken > round(_ROOMY * self._larger):
            self._widen()
        else:
            self._resting.start()

    def _widen(self) -> None:
        """Give columns what their words need of what the one that takes what is left does not need for its own; and on
        a wide screen each a part of it: names and their figures would be a screen apart. Those that the user gave a
        width keep it. Not out of sight: Qt would look at every row there is."""
        if not self.table.isVisible():
            return
        now = {at: self.table.columnWidth(at) for at in self._wide}
        ours = {at: wide for at, wide in self._wide.items() if now[at] in (wide, self._widened.get(at, wide))}
        spare = self.width() - sum((now | ours).values())
        given = dict(ours)
        if spare > 0:
            roomy = round(_ROOMY * self._larger)
            named = self.table.sizeHintForColumn(self._stretched) + self.table.verticalScrollBar().sizeHint().width()
            left = spare - min(max(named, round(_NAMED * self._larger)), roomy)
            for at, wide in ours.items():
                if left > 0:
                    more = max(min(self.table.sizeHintForColumn(at) - wide, left, wide * (_MOST - 1)), 0)
                    left, spare, given[at] = left - more, spare - more, wide + more
            self._spread(given, spare - max(named, roomy))
        for at, wide in given.items():  # at once: every other width has the table laid out and painted again
            if wide != now[at]:
                self.table.setColumnWidth(at, wide)
        self._widened = {at: wide for at, wide in given.items() if wide != self._wide[at]}

    def _give_back(self) -> None:
        """Columns that were given more have what they are meant to have again."""
        for at, wide in self._widened.items():
            if self.table.columnWidth(at) == wide:
                self.table.setColumnWidth(at, self._wide[at])
        self._widened = {}

    def _spread(self, given: dict[int, int], left: int) -> None:
        """Share out what nobody needs."""
        shown = [at for at in given if not self.table.isColumnHidden(at)]
        each = left // (len(shown) + 1)  # the one that takes what is left has its part as well
        for at in shown if each > 0 else ():
            given[at] = max(min(given[at] + each, self._wide[at] * _MOST), given[at])

    def _narrow_first(self, by: int) -> None:
        """Take pixels off the first column, which is never hidden, as far as its heading allows; or give them back."""
        if 0 in self._wide and (by > 0 or self._narrowed):
            least = self.fontMetrics().horizontalAdvance(self.model.columns[0].title) + _BESIDE
            self._narrowed = by > 0
            self.table.setColumnWidth(0, max(self._wide[0] - max(by, 0), least))

    def set_records(self, records: Sequence[Any]) -> None:
        """Show these. Without a key nothing is current afterwards; with one, what was selected stays selected."""
        kept = {self._key(record) for record in self.selected()} if self._key else set()
        at = self.table.currentIndex()
        current = self._key(self.model.record(at.row())) if self._key and at.isValid() else None
        self.model.set_records(records)
        if self._key and kept:
            self.select_records([record for record in records if self._key(record) in kept])
            row = next((r for r in range(self.model.rowCount()) if self._key(self.model.record(r)) == current), -1)
            if row >= 0:
                flags = self.table.selectionModel().SelectionFlag.NoUpdate
                self.table.selectionModel().setCurrentIndex(self.model.index(row, at.column()), flags)
        self._widen_in_time()
        self._count()

    def selected(self) -> list[Any]:
        """The records of the selected rows, from the top."""
        rows = sorted({index.row() for index in self.table.selectedIndexes()})
        return [self.model.record(row) for row in rows]

    def select_records(self, records: Sequence[Any]) -> None:
        """Mark rows without telling anybody, and show the first; none is current until one is chosen."""
        selection = self.table.selectionModel()
        selection.blockSignals(True)
        self.table.clearSelection()
        rows = [row for record in records if (row := self.model.row_of(record)) >= 0]
        for row in rows:
            for at in range(self.model.columnCount()):
                selection.select(self.model.index(row, at), selection.SelectionFlag.Select)
        selection.clearCurrentIndex()  # else choosing the row that was current before would change nothing
        selection.blockSignals(False)
        if rows:
            self.table.scrollTo(self.model.index(rows[0], 0))
        self.table.viewport().update()

    def _changed(self, index: QModelIndex, _old: QModelIndex) -> None:
        if index.isValid():
            self.current.emit(self.model.record(index.row()))

    def _filter(self, text: str) -> None:
        problem = self.model.set_filter(text)
        self.filter.setToolTip(plain_tip(problem or self._help()))
        restyle(self.filter, "state", "error" if problem else "")
        self._count(problem)

    def _count(self, problem: str = "") -> None:
        """Say what a filter left, or what is wrong with it: never by the colour of its border alone."""
        shown = problem or (f"{self.model.rowCount()} of {self.model.total} rows" if self.filter.text() else "")
        self.said.setText(shown)
        self.said.setVisible(bool(shown))
        self.filter.setAccessibleDescription(shown)

    def _help(self) -> str:
        columns = (column_name(c.title) + (f" ({c.unit})" if c.unit else "") for c in self.model.columns)
        return f"Words, or comparisons such as time > 5\nColumns: {', '.join(columns)}"


class FilterField(QLineEdit):
    """Escape empties it and goes back to the table, before it cancels or clears anything else."""

    left = Signal()

    def event(self, event: QEvent) -> bool:
        asked = event.type() == QEvent.Type.ShortcutOverride
        if asked and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class RecordTableView(QTableView):
    """The table itself: Enter or a double click chooses a row, Ctrl+C copies the selected ones."""

    chosen = Signal(int)
    filter_wanted = Signal()

    def __init__(self, model: RecordTable, empty: str) -> None:
        super().__init__()
        self._records, self.empty = model, empty
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)  # Tab leaves the table: arrows move within it
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.doubleClicked.connect(lambda index: self.chosen.emit(index.row()))

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Where no row is current, arrows walk on from the one that is marked."""
        step = {self.CursorAction.MoveDown: 1, self.CursorAction.MoveUp: -1}.get(action)
        if step is None or self.currentIndex().isValid() or (row := self._marked()) < 0:
            return super().moveCursor(action, modifiers)
        return self._records.index(min(max(row + step, 0), self._records.rowCount() - 1), 0)

    def _marked(self) -> int:
        """The first of the rows that are marked; -1 where none is."""
        return min((index.row() for index in self.selectedIndexes()), default=-1)

    def copy(self, everything: bool = False) -> None:
        """The selected rows, or all of them, to the clipboard."""
        rows = sorted({index.row() for index in self.selectedIndexes()})
        QGuiApplication.clipboard().setText(self._records.tsv(None if everything or not rows else rows))

    def event(self, event: QEvent) -> bool:
        asked = event.type() == QEvent.Type.ShortcutOverride  # here Ctrl+F filters; elsewhere it is the window's
        if asked and isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Find):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.Find) or event.text() == "/":
            self.filter_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            row = self.currentIndex().row() if self.currentIndex().isValid() else self._marked()
            if row >= 0:
                self.chosen.emit(row)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.addAction("Filter...", self.filter_wanted.emit)
        menu.addAction("Copy rows as TSV", lambda: self.copy())
        menu.addAction("Copy the whole table as TSV", lambda: self.copy(everything=True))
        menu.addActions(self.actions())
        menu.popup(event.globalPos())

    def paintEvent(self, event) -> None:
        super().paintEvent(event)
        if not self._records.rowCount():
            painter = QPainter(self.viewport())
            colour = QColor(self.palette().text().color())
            colour.setAlpha(180)
            painter.setPen(colour)
            text = self.empty if not self._records.total else "No row matches the filter."
            room = self.viewport().rect().adjusted(12, 8, -12, -8)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, text)
