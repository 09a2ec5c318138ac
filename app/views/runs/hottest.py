"""Where inside kernels the time goes: a flame of all samples, and the hottest lines as a list that leads to them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.text.flame import FlameCell
from app.viewmodels.text.sampled_costs import HotSpot
from app.views.parts.controls import Fitting, column
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Elided
from app.views.runs.flame import FlameBar
from profiler.units import percent

_EMPTY = "Run and sample (Shift+F5) to see which lines the time goes into."
_ROWS = 2  # of the list that are in sight at least
_WAITS = 4  # the column of what lines wait for, which only GPUs tell


class HottestView(Fitting, QWidget):
    """A row jumps to its line."""

    chosen = Signal(object)

    def __init__(self, look: Look, number_of: Callable[[str], int]) -> None:
        super().__init__()
        self.words = Elided()
        self.words.setContentsMargins(10, 3, 10, 3)
        self.flame = FlameBar(look, number_of)
        self.view = RecordView(
            "Hottest lines",
            [
                Column("Samples", lambda s: s.share, lambda share: percent(share, 1), right=True, width=80),
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
        column(self, self.words, self.flame, self.view, main=self.view)
        self.words.hide()
        self.flame.hide()

    def show_spots(self, spots: list[HotSpot], cells: list[FlameCell], words: str) -> None:
        """The lines, the same as a flame, and a sentence on how they are known."""
        self.flame.set_cells(cells)
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self.view.set_records(spots)
        self.view.set_wanted(_WAITS, any(spot.line.stalls for spot in spots))
        self._fit()

    def _fit(self) -> None:
        """In a low window the flame leaves rows of the list in sight: it has as many levels as there is room for."""
        table = self.view.table
        others = self.words.sizeHint().height() + table.horizontalHeader().height() + _ROWS * table.rowHeight(0)
        self.flame.set_room(self.height() - others)
