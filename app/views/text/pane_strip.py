"""The strip below a pane's header while it shows more than a stage: a pass, a difference, a side of a comparison."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from app.theme.look import Look
from app.views.parts.controls import Fitting, in_row
from app.views.parts.widgets import Elided, flat_button, label

_ROOMY = 260  # pixels from which the buttons that step have room beside the words


class PaneStrip(Fitting, QFrame):
    """Says what is shown and how much differs; steps through the differences; closing it brings the stage back."""

    difference_wanted = Signal(int)
    closed = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setProperty("role", "strip")
        self._steps = False
        self.words = Elided(role="muted")
        self.count = label("", "figures")
        self._before = flat_button(
            look, "up", "Previous difference (Shift+F7)", lambda: self.difference_wanted.emit(-1)
        )
        self._after = flat_button(look, "down", "Next difference (F7)", lambda: self.difference_wanted.emit(1))
        close = flat_button(look, "close", "Back to the stage itself", self.closed.emit)
        parts = (self.words, self.count, self._before, self._after, close)
        in_row(*parts, holder=self, wide=self.words, margins=(10, 1, 6, 1), spacing=4)
        self.hide()

    def show_words(self, words: str, count: str, differs: bool) -> None:
        """What the pane shows, and how many lines came and went."""
        self.words.setText(words)
        self.count.setText(count)
        self.count.setVisible(bool(count))
        self._steps = bool(count) and differs
        self._fit()
        self.setVisible(bool(words or count))

    def _fit(self) -> None:
        """Where there is nothing to step through, or no room (F7 steps, too), the words get what the buttons took."""
        for button in (self._before, self._after):
            button.setVisible(self._steps and self.width() >= _ROOMY)
