"""The log: everything that was said, with the full text of errors."""

from __future__ import annotations

import time

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from app.messages import Message, Messages
from app.theme.look import Look


class LogView(QPlainTextEdit):
    """Appends messages as they come."""

    def __init__(self, look: Look, messages: Messages) -> None:
        super().__init__()
        self._look = look
        self.setReadOnly(True)
        self.setProperty("code", True)
        self.setMaximumBlockCount(10_000)
        self.setAccessibleName("Log")
        self.setPlaceholderText("Nothing has been said yet.")
        messages.posted.connect(self.add)
        look.changed.connect(lambda: self.setFont(look.code_font))
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
