"""Find everywhere: one search over the graph and every stage of every kernel, with the lines it found in a list."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.compilation import STAGE_TITLES
from app.viewmodels.requests import Hit
from app.views.parts.controls import column
from app.views.parts.search_row import SearchRow
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column

_HELP = (
    "Type what to look for: names, operations, shapes, instructions.\n"
    "Step through the lines with the arrow keys; each is shown in a pane."
)


class FindEverywhere(QWidget):
    """`search_wanted` as one types; `hit_chosen` for the row one steps on."""

    search_wanted = Signal(str, bool, bool)  # text, regular expression, match case
    hit_chosen = Signal(object)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.row = SearchRow("Find everywhere", "Find in the graph and in every stage of every kernel", pause=200)
        self.row.asked.connect(self.search)
        self.field, self.regex, self.case = self.row.field, self.row.regex, self.row.case
        self.view = RecordView(
            "Found lines",
            [
                Column("Stage", lambda h: STAGE_TITLES.get(h.stage, h.stage.capitalize()), width=120),
                Column("Kernel or node", lambda h: h.kernel, width=190),
                Column("Line", lambda h: h.line + 1, lambda v: f"{v:,}" if v else "", right=True, width=64),
                Column("Text", lambda h: h.text, font=lambda: look.code_font),
            ],
            stretch=3,
            empty=_HELP,
            key=lambda h: (h.stage, h.kernel, h.line),
        )
        self.view.current.connect(self.hit_chosen)
        column(self, self.row, self.view)

    def open(self, text: str = "") -> None:
        """Put the cursor into the field, with a word to look for where there is one."""
        if text:
            self.field.setText(text)
        self.row.take_keyboard()

    def search(self) -> None:
        """Ask for the search now."""
        self.search_wanted.emit(self.field.text(), self.regex.isChecked(), self.case.isChecked())

    def show_hits(self, hits: list[Hit], words: str, problem: bool = False) -> None:
        """What was found so far, and how far the search is."""
        self.view.set_records(hits)
        self.view.table.empty = "" if self.field.text() else _HELP
        self.row.say(words, problem)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down) and self.field.hasFocus():
            if self.view.model.rowCount():
                self.view.table.setFocus()
                self.view.table.selectRow(0)
            else:
                self.row.ask()
        else:
            super().keyPressEvent(event)
