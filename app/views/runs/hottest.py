"""The hottest lines of the kernel language: a list that leads to the line in every pane."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.viewmodels.text.sampled_costs import HotSpot
from app.views.parts.controls import column, paragraph
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column

_EMPTY = "Run and sample (Shift+F5) to see which lines the time goes into."


class HottestView(QWidget):
    """A row jumps to its line."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.words = paragraph()
        self.view = RecordView(
            "Hottest lines",
            [
                Column("Samples", lambda s: s.share, lambda share: f"{100 * share:.1f} %", right=True, width=80),
                Column("Kernel", lambda s: s.kernel, width=150),
                Column("Line", lambda s: s.where, width=170),
                Column("It says", lambda s: s.line.text),
                Column("Waits for", lambda s: ", ".join(name for name, _ in s.line.stalls[:2]), width=130),
                Column("Nodes", lambda s: " ".join(s.line.nodes), width=150),
            ],
            stretch=3,
            empty=_EMPTY,
            key=lambda s: (s.kernel, s.where),
        )
        self.view.current.connect(self.chosen)
        self.view.activated.connect(self.chosen)
        column(self, self.words, self.view)
        self.words.hide()

    def show_spots(self, spots: list[HotSpot], words: str) -> None:
        """The lines, and a sentence on how they are known."""
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self.view.set_records(spots)
