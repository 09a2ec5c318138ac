"""The bar below a text that searches it: plain or regular expression, with the number of matches."""

from __future__ import annotations

import re

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QToolButton

from app.jobs import Thread
from app.theme.look import Look
from app.views.text_view import TextView
from app.views.widgets import flat_button, label

_LIMIT = 100_000


class FindBar(QFrame):
    """Searches off the window's thread and steps through what it found."""

    closed = Signal()

    def __init__(self, look: Look, view: TextView) -> None:
        super().__init__()
        self.setProperty("role", "header")
        self._view = view
        self._thread = Thread(self)
        self._delay = QTimer(self)
        self._delay.setSingleShot(True)
        self._delay.setInterval(120)
        self._delay.timeout.connect(self.search)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find")
        self.field.setAccessibleName("Find in this text")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(lambda _: self._delay.start())
        self.count = label("", "muted")
        self.count.setMinimumWidth(84)
        self.regex = self._toggle(".*", "Regular expression")
        self.case = self._toggle("Aa", "Match case")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 6, 4)
        layout.setSpacing(4)
        for widget in (
            self.field, self.regex, self.case, self.count,
            flat_button(look, "up", "Previous match (Shift+Enter)", lambda: self.step(-1)),
            flat_button(look, "down", "Next match (Enter)", lambda: self.step(1)),
            flat_button(look, "close", "Close (Esc)", self.close_bar),
        ):  # fmt: skip
            layout.addWidget(widget)
        self.hide()

    def open(self) -> None:
        """Show the bar and put the cursor in it."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        if self.field.text():
            self.search()

    def close_bar(self) -> None:
        """Hide it and what it had marked."""
        self._thread.cancel()
        self._view.set_matches(np.zeros((0, 3), np.int64), -1)
        self.hide()
        self._view.setFocus()
        self.closed.emit()

    def search(self) -> None:
        """Find every match from the beginning."""
        self._delay.stop()
        text = self.field.text()
        if not text:
            self._show(np.zeros((0, 3), np.int64))
            self.count.setText("")
            return
        try:
            source = text if self.regex.isChecked() else re.escape(text)
            flags = re.MULTILINE | (0 if self.case.isChecked() else re.IGNORECASE)
            pattern = re.compile(source.encode(), flags)
        except re.error as error:
            self.field.setProperty("state", "error")
            self.count.setText(str(error).split(" at ")[0])
            self._restyle()
            return
        self.field.setProperty("state", "")
        self._restyle()
        self.count.setText("searching")
        document = self._view.document

        def work(cancelled):
            parts = []
            for part in document.search(pattern, _LIMIT):
                if cancelled():
                    break
                parts.append(part)
            return np.concatenate(parts) if parts else np.zeros((0, 3), np.int64)

        self._thread.start(work, self._show)

    def step(self, by: int) -> None:
        """Go to the next or previous match."""
        total = len(self._view.matches)
        if total:
            self._view.set_matches(self._view.matches, (self._view.match + by) % total)
            self._say()

    def _show(self, matches: np.ndarray) -> None:
        first = self._view.visible_range()[0]
        current = int(np.searchsorted(matches[:, 0], first)) % len(matches) if len(matches) else -1
        self._view.set_matches(matches, current)
        self._say()

    def _say(self) -> None:
        total = len(self._view.matches)
        more = "+" if total >= _LIMIT else ""
        self.count.setText(f"{self._view.match + 1} of {total}{more}" if total else "no matches")

    def _toggle(self, text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setProperty("flat", True)
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCheckable(True)
        button.toggled.connect(lambda _: self.search())
        return button

    def _restyle(self) -> None:
        self.field.style().unpolish(self.field)
        self.field.style().polish(self.field)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
