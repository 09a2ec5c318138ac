"""The source pane: edit the graph or a kernel; Ctrl+Return compiles; errors show at their line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QPainter,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.theme.look import Look, tint
from app.viewmodels.text.tokens import left_open, tokens
from app.views.parts.controls import column, push_button
from app.views.parts.header import Header
from app.views.parts.widgets import Choice, MessageBar, label
from app.views.text.edit_strip import EditStrip

_QUOTES = ("", '"""', "'''")  # of a string that goes on after a line


class _Colouring(QSyntaxHighlighter):
    def __init__(self, look: Look, editor: QPlainTextEdit) -> None:
        super().__init__(editor.document())
        self._look = look
        self.language = "python"

    def highlightBlock(self, text: str) -> None:
        inside = _QUOTES[max(self.previousBlockState(), 0)] if self.language == "python" else ""
        self.setCurrentBlockState(_QUOTES.index(left_open(text, inside)) if self.language == "python" else 0)
        for start, stop, kind in tokens(self.language, text, inside):
            style = QTextCharFormat()
            style.setForeground(QColor(self._look.theme.syntax[kind]))
            self.setFormat(start, stop - start, style)


class _Gutter(QWidget):
    def __init__(self, editor: CodeEditor) -> None:
        super().__init__(editor)
        self._editor = editor

    def sizeHint(self) -> QSize:
        return QSize(self._editor.gutter_width, 0)

    def paintEvent(self, event) -> None:
        self._editor.paint_gutter(self, event)


class CodeEditor(QPlainTextEdit):
    """A plain editor with line numbers, indentation kept on Enter, and one line that can be marked as wrong."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._error_line = 0
        self.setProperty("code", True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName("Source")
        self._gutter = _Gutter(self)
        self.colouring = _Colouring(look, self)
        self.updateRequest.connect(self._scroll_gutter)
        self.blockCountChanged.connect(lambda _: self._measure())
        look.changed.connect(self._restyle)
        self._restyle()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self._look.zoomed_by(event):
            super().wheelEvent(event)

    @property
    def gutter_width(self) -> int:
        """Room for the line numbers."""
        return int((max(len(str(self.blockCount())), 3) + 2) * self._look.column)

    def go_to_line(self, line: int) -> None:
        """Put a line (from 1) into the middle, with the cursor in it."""
        self.setTextCursor(QTextCursor(self.document().findBlockByNumber(max(line - 1, 0))))
        self.centerCursor()
        self.setFocus()

    def mark_error(self, line: int) -> None:
        """Mark a line (0 for none) and go to it."""
        self._error_line = line
        marks = []
        if line:
            cursor = QTextCursor(self.document().findBlockByNumber(line - 1))
            self.setTextCursor(cursor)
            self.centerCursor()
            mark: Any = QTextEdit.ExtraSelection()  # its stub has no fields
            mark.format.setBackground(tint(self._look.theme.bad, 60))
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            mark.cursor = cursor
            marks.append(mark)
        self.setExtraSelections(marks)
        self._gutter.update()

    def paint_gutter(self, gutter: QWidget, event) -> None:
        """The line numbers in sight."""
        theme = self._look.theme
        painter = QPainter(gutter)
        painter.fillRect(event.rect(), QColor(theme.panel))
        painter.setFont(self._look.code_font)
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            number = block.blockNumber() + 1
            painter.setPen(QColor(theme.bad if number == self._error_line else theme.faint))
            box = QRect(0, int(top), gutter.width() - 8, int(height))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(number))
            top += height
            block = block.next()

    def keyPressEvent(self, event) -> None:
        if event.key() == Qt.Key.Key_Tab:
            self.insertPlainText("    ")
        elif event.key() == Qt.Key.Key_Return and not event.modifiers():
            line = self.textCursor().block().text()[: self.textCursor().positionInBlock()]
            indent = line[: len(line) - len(line.lstrip())] + ("    " if line.rstrip().endswith(":") else "")
            self.insertPlainText("\n" + indent)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        area = self.contentsRect()
        self._gutter.setGeometry(QRect(area.left(), area.top(), self.gutter_width, area.height()))

    def _scroll_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def _measure(self) -> None:
        self.setViewportMargins(self.gutter_width, 0, 0, 0)

    def _restyle(self) -> None:
        self.setFont(self._look.code_font)
        self.setTabStopDistance(self._look.column * 4)
        self._measure()
        self.colouring.rehighlight()


class SourcePane(QWidget):
    """What is edited is the graph file (empty key) or one kernel by name; edits are told as they are made."""

    compile_wanted = Signal(str, str)  # key, text
    revert_wanted = Signal(str)
    key_chosen = Signal(str)
    text_edited = Signal(str, str)  # key, text

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.editor = CodeEditor(look)
        self.bar = MessageBar(look, "source")
        self.bar.show_location.connect(lambda _, line: self.editor.mark_error(line))
        self.strip = EditStrip(look)
        self.which = Choice("What is edited", flat=True)
        self.which.chosen.connect(self.key_chosen)
        self.state = label("", "faint")
        self._original = ""
        self._setting = False
        tip = "Compile this text in place of the original (Ctrl+Return)"
        self.compile = push_button("Compile edit", self.ask_compile, tip)
        self.revert = push_button("Revert", lambda: self.revert_wanted.emit(self.key), "Back to the original text")
        self.header = Header(self.which, self.state, None, self.revert, self.compile)
        self.header.spare(self.state, self.compile)  # the tool bar compiles too; only this button reverts
        column(self, self.bar, self.editor, self.strip)
        self.setFocusProxy(self.editor)
        self.editor.textChanged.connect(self._changed)
        self._changed()

    @property
    def key(self) -> str:
        """The kernel that is edited; empty for the graph."""
        return self.which.value

    @property
    def text(self) -> str:
        """What the editor holds."""
        return self.editor.toPlainText()

    @property
    def edited(self) -> bool:
        """Whether it differs from the original."""
        return self.text != self._original

    def set_entries(self, entries: list[tuple[str, str]], edited: Collection[str]) -> None:
        """What there is to edit; an edited text carries a dot."""
        self.which.set_entries([(key, f"{title} \u25cf" if key in edited else title) for key, title in entries])

    def set_text(self, text: str, language: str = "python", original: str | None = None) -> None:
        """Show a text; `original` is what it is an edit of."""
        self._setting = True
        self._original = text if original is None else original
        self.editor.colouring.language = language
        if text != self.text:
            self.editor.setPlainText(text)
            self.editor.mark_error(0)
            self.bar.hide()
        self._setting = False
        self._changed()

    def ask_compile(self) -> None:
        """Ctrl+Return."""
        self.editor.mark_error(0)
        self.bar.hide()
        self.compile_wanted.emit(self.key, self.text)

    def _changed(self) -> None:
        self.state.setText("\u25cf edited" if self.edited else "")
        self.revert.setEnabled(self.edited)
        self.compile.setEnabled(bool(self.text))
        if not self._setting:
            self.text_edited.emit(self.key, self.text)
