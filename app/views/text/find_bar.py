"""The bar below a text that searches it: plain or regular expression, with the number of matches."""

from __future__ import annotations

from functools import partial

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from app.theme.look import Look
from app.viewmodels.frame.patterns import TooSlowError
from app.views.parts.later import Thread
from app.views.parts.search_row import SearchRow
from app.views.parts.widgets import flat_button
from app.views.text.text_view import TextView

_LIMIT = 100_000
_NONE = np.zeros((0, 3), np.int64)


class FindBar(SearchRow):
    """Searches off the window's thread and steps through what it found."""

    def __init__(self, look: Look, view: TextView) -> None:
        super().__init__(
            "Find in this text", "Find",
            flat_button(look, "up", "Previous match (Shift+Enter)", lambda: self.step(-1)),
            flat_button(look, "down", "Next match (Enter)", lambda: self.step(1)),
            flat_button(look, "close", "Close (Esc)", self.close_bar),
            pause=120,
        )  # fmt: skip
        self._view = view
        self._thread = Thread(self)
        self.asked.connect(self.search)
        view.document_changed.connect(self._search_other)
        self.hide()

    def open(self) -> None:
        """Show the bar and put the cursor in it."""
        self.show()
        self.take_keyboard()
        if self.field.text():
            self.search()

    def close_bar(self) -> None:
        """Hide it and what it had marked."""
        self._thread.cancel()
        self._view.set_matches(_NONE, -1)
        self.hide()
        self._view.setFocus()

    def _search_other(self) -> None:
        """What was found, or is being looked for, is of the text before."""
        self._thread.cancel()
        if not self.isHidden():
            self.search(stay=True)

    def search(self, stay: bool = False) -> None:
        """Find every match from the beginning; `stay` where the text is meant to be, not at one of them."""
        self._thread.cancel()
        pattern = self.pattern() if self.field.text() else None
        if pattern is None:
            self._view.set_matches(_NONE, -1)
            if not self.field.text():
                self.say("")
            return
        self.say("searching")
        document = self._view.document

        def work(cancelled) -> np.ndarray | str:
            parts = []
            try:
                for part in document.search(pattern, _LIMIT):
                    if cancelled():
                        break
                    parts.append(part)
            except TooSlowError as error:
                return str(error)
            return np.concatenate(parts) if parts else _NONE

        self._thread.start(work, partial(self._show, stay))

    def step(self, by: int) -> None:
        """Go to the next or previous match."""
        total = len(self._view.shown.matches)
        if total:
            self._view.set_matches(self._view.shown.matches, (self._view.shown.match + by) % total)
            self._say_found()

    def _show(self, stay: bool, matches: np.ndarray | str) -> None:
        if isinstance(matches, str):
            self._view.set_matches(_NONE, -1)
            self.say(matches, problem=True)
            return
        first = self._view.visible_range()[0]
        current = int(np.searchsorted(matches[:, 0], first)) % len(matches) if len(matches) else -1
        if stay:
            self._view.show_also(matches=matches, match=current)
        else:
            self._view.set_matches(matches, current)
        self._say_found()

    def _say_found(self) -> None:
        total = len(self._view.shown.matches)
        more = "+" if total >= _LIMIT else ""
        self.say(f"{self._view.shown.match + 1:,} of {total:,}{more}" if total else "no matches")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
