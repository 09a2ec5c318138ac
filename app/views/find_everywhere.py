"""Find everywhere: one search over the graph and every stage of every kernel, with the lines it found in a list."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look
from app.viewmodels.compilation import STAGE_TITLES
from app.viewmodels.requests import Hit
from app.views.table import RecordView
from app.views.widgets import label


class FindEverywhere(QWidget):
    """`search_wanted` as one types; `hit_chosen` for the row one steps on."""

    search_wanted = Signal(str, bool, bool)  # text, regular expression, match case
    hit_chosen = Signal(object)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._delay = QTimer(self)
        self._delay.setSingleShot(True)
        self._delay.setInterval(200)
        self._delay.timeout.connect(self.search)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find in the graph and in every stage of every kernel")
        self.field.setAccessibleName("Find everywhere")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(lambda _: self._delay.start())
        self.regex = self._toggle(".*", "Regular expression")
        self.case = self._toggle("Aa", "Match case")
        self.count = label("", "muted")
        row = QFrame()
        row.setProperty("role", "header")
        line = QHBoxLayout(row)
        line.setContentsMargins(8, 4, 8, 4)
        line.setSpacing(4)
        line.addWidget(self.field, 1)
        for widget in (self.regex, self.case, self.count):
            line.addWidget(widget)
        self.view = RecordView(
            "Found lines",
            [
                Column("Stage", lambda h: STAGE_TITLES.get(h.stage, h.stage)),
                Column("Kernel", lambda h: h.kernel),
                Column("Line", lambda h: h.line + 1, lambda v: f"{v:,}" if v else "", right=True),
                Column("Text", lambda h: h.text),
            ],
            stretch=3,
        )
        for column, width in ((0, 132), (1, 170), (2, 64)):
            self.view.table.setColumnWidth(column, width)
        self.view.current.connect(self.hit_chosen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(row)
        layout.addWidget(self.view)

    def open(self, text: str = "") -> None:
        """Put the cursor into the field, with a word to look for where there is one."""
        if text:
            self.field.setText(text)
        self.field.setFocus()
        self.field.selectAll()

    def search(self) -> None:
        """Ask for the search now."""
        self._delay.stop()
        self.search_wanted.emit(self.field.text(), self.regex.isChecked(), self.case.isChecked())

    def show_hits(self, hits: list[Hit], words: str, problem: bool = False) -> None:
        """What was found so far, and how far the search is."""
        self.view.set_records(hits)
        self.count.setText(words)
        self.field.setProperty("state", "error" if problem else "")
        self.field.style().unpolish(self.field)
        self.field.style().polish(self.field)

    def hits(self) -> list[Hit]:
        """The rows on show."""
        return [self.view.model.record(row) for row in range(self.view.model.rowCount())]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down) and self.field.hasFocus():
            self._delay.stop()
            if self.view.model.rowCount():
                self.view.table.setFocus()
                self.view.table.selectRow(0)
            else:
                self.search()
        else:
            super().keyPressEvent(event)

    def _toggle(self, text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setProperty("flat", True)
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCheckable(True)
        button.toggled.connect(lambda _: self.search())
        return button
