"""The log: everything that was said, with the full text of errors."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QWheelEvent
from PySide6.QtWidgets import QPlainTextEdit

from app.theme.look import Look
from app.viewmodels.frame.messages import Message, Messages


class LogView(QPlainTextEdit):
    """Appends messages as they come; colours follow the theme, as the words `error` and `warning` say the same."""

    def __init__(self, look: Look, messages: Messages) -> None:
        super().__init__()
        self._look, self._messages = look, messages
        self._theme = look.theme.name
        self.setReadOnly(True)
        self.setProperty("code", True)
        self.setMaximumBlockCount(10_000)
        self.document().setDocumentMargin(8)
        self.setAccessibleName("Log")
        self.setPlaceholderText("Nothing has been said yet.")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        messages.posted.connect(self.add)
        look.changed.connect(self._restyle)
        self.setFont(look.code_font)

    def add(self, message: Message) -> None:
        """One more line, and its details below it."""
        theme = self._look.theme
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        stamp = time.strftime("%H:%M:%S", time.localtime(message.at))
        style = QTextCharFormat()
        style.setForeground(QColor({"error": theme.bad, "warning": theme.warning}.get(message.level, theme.text)))
        if not self.document().isEmpty():
            cursor.insertBlock()
        cursor.insertText(f"{stamp}  {message.level:7}  {message.text}", style)
        if message.detail and message.detail != message.text:
            style.setForeground(QColor(theme.muted))
            for line in message.detail.rstrip().splitlines():
                cursor.insertBlock()
                cursor.insertText(f"                   {line}", style)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self._look.zoomed_by(event):
            super().wheelEvent(event)

    def _restyle(self) -> None:
        self.setFont(self._look.code_font)
        if self._look.theme.name != self._theme:  # what was written in the old theme's colours is written anew
            self._theme = self._look.theme.name
            self.clear()
            for message in self._messages.all[-1000:]:
                self.add(message)
