"""Going to places of an IR pane's text: a line by its number, the next difference, where a symbol is defined."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QInputDialog

from app.viewmodels.frame.messages import Message
from app.viewmodels.text.definitions import definition_at


def ask_line(pane: Any) -> None:
    """Ask for a line's number and go there."""
    lines, caret = pane.text.document.lines, max(pane.text.shown.caret, 0)
    words = f"Line (1 to {lines:,}):"
    number, good = QInputDialog.getInt(pane, "Go to line", words, caret + 1, 1, max(lines, 1))
    if good:
        pane.text.go_to_line(number - 1)


def step_difference(pane: Any, by: int) -> None:
    """The next difference after where one is, or the one before; around at the ends."""
    changes = pane.model.diff.changes if pane.model.diff else []
    if not changes:
        return
    at = pane.text.shown.caret if pane.text.shown.caret >= 0 else pane.text.visible_range()[0] - 1
    later = [line for line in changes if line > at]
    earlier = [line for line in changes if line < at]
    pane.text.go_to_line((later or changes)[0] if by > 0 else (earlier or changes)[-1])


def go_to_definition(pane: Any, line: int = -1, column: int = 0) -> None:
    """Where the symbol at a place is defined; at the place clicked last where none is given."""
    if line < 0:
        line, column = pane.text.pressed
    symbol, found = definition_at(pane.text.document, pane.text.shown.language, line, column)
    if found >= 0:
        pane.text.go_to_line(found)
    elif symbol:
        pane.bar.show_message(Message("info", f"{symbol} is not defined in this text", "pane"))
