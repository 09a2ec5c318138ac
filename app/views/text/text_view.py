"""A read-only text of any size: only the visible lines are decoded, coloured and painted."""

from __future__ import annotations

# pyright: reportIncompatibleMethodOverride=false
# (the stubs of Qt name the events differently in every class)
import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.text.folding import fold_regions
from app.viewmodels.text.text_document import TextDocument, displayed
from app.views.text.text_rows import TextRows


class TextView(TextRows):
    """Shows a TextDocument; says which line was clicked or hovered, and lights the lines it is told to."""

    line_clicked = Signal(int)
    line_hovered = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self.empty = ""  # what is said where there is no text
        self.lit = np.zeros(0, bool)
        self.hovered = np.zeros(0, bool)
        self.marks: np.ndarray | None = None  # diff: 1 added, -1 removed
        self.numbers: np.ndarray | None = None  # diff: the line numbers to show
        self.matches: np.ndarray = np.zeros((0, 3), np.int64)
        self.match = -1
        self.heat: np.ndarray | None = None  # 0..1 for each line
        self.caret = -1
        self.selected: tuple[tuple[int, int], tuple[int, int]] | None = None
        self._anchor: tuple[int, int] | None = None  # where the mouse went down, if it did on a line
        self._hover_line = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setAccessibleName("Text")
        look.changed.connect(self.refresh)
        self.refresh()

    # What is shown -----------------------------------------------------------------------------------------------

    def set_document(self, document: TextDocument, language: str, badges: np.ndarray) -> None:
        """Show another text from its top; what was lit, folded and found is forgotten."""
        self.document, self.language, self.badges = document, language, badges
        self.folded, self.noise = {}, None
        self.regions = fold_regions(document, language) if len(document.data) < 4 << 20 else {}
        self.lit = self.hovered = np.zeros(document.lines, bool)
        self.marks = self.numbers = self.heat = None
        self.matches, self.match = np.zeros((0, 3), np.int64), -1
        self.caret, self.selected, self._hover_line = -1, None, -1
        self._painter.forget()
        self._show_lines(None)
        self.verticalScrollBar().setValue(0)
        self.horizontalScrollBar().setValue(0)
        self.refresh()

    def set_diff(self, marks: np.ndarray, numbers: np.ndarray) -> None:
        """Say which lines of the document were added or removed, and the numbers lines had."""
        self.marks, self.numbers = marks, numbers
        self.viewport().update()

    def set_lit(self, lit: np.ndarray, reveal: bool) -> None:
        """Light these lines; scroll to the first of them when none is in sight."""
        self.lit = lit
        if reveal and lit.any():
            self._reveal_first(lit)
        self.viewport().update()

    def set_hovered(self, hovered: np.ndarray) -> None:
        """The light version, for what the mouse is over elsewhere."""
        self.hovered = hovered
        self.viewport().update()

    def set_matches(self, matches: np.ndarray, current: int) -> None:
        """Show what a search found; `current` is scrolled to."""
        self.matches, self.match = matches, current
        if 0 <= current < len(matches):
            line, begin, end = matches[current].tolist()
            self.reveal(line)
            raw = self.document.line_bytes(line, end)
            self._reveal_columns(len(displayed(raw[:begin])), len(displayed(raw)))
        self.viewport().update()

    def go_to_line(self, line: int) -> None:
        """Put the caret on a line and show it."""
        if not self.document.lines:
            return
        self.caret = max(0, min(line, self.document.lines - 1))
        self.reveal(self.caret)
        self.viewport().update()

    def selected_text(self) -> str:
        """What is selected, or the lit lines, or the caret's line."""
        if self.selected is not None:
            (first, begin), (last, end) = sorted(self.selected)
            lines = [self.document.line(line) for line in range(first, last + 1)]
            lines[-1] = lines[-1][:end]
            lines[0] = lines[0][begin:]
            return "\n".join(lines)
        if self.lit.any():
            return "\n".join(self.document.line(int(line)) for line in np.flatnonzero(self.lit)[:100_000])
        return self.document.line(self.caret) if self.caret >= 0 else ""

    def copy(self) -> None:
        """What is selected goes to the clipboard."""
        QGuiApplication.clipboard().setText(self.selected_text())

    # Qt ----------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self._painter.paint(painter, QRectF(self.viewport().rect()))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        line, column, zone = self._hit(event.position())
        if event.button() == Qt.MouseButton.LeftButton:
            self._anchor = None
        if event.button() != Qt.MouseButton.LeftButton or line < 0:
            return
        if zone == "fold" and line in self.regions:
            self.toggle_fold(line)
            return
        self.selected = None
        self._anchor = (line, column)
        self.caret = line
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        line, column, zone = self._hit(event.position())
        if event.buttons() & Qt.MouseButton.LeftButton and line >= 0 and zone == "text":
            if self._anchor is not None and self._anchor != (line, column):
                self.selected = (self._anchor, (line, column))
                self.viewport().update()
            return
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor if zone == "text" else Qt.CursorShape.ArrowCursor)
        if line != self._hover_line:
            self._hover_line = line
            self.line_hovered.emit(line)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        line, _, zone = self._hit(event.position())
        if event.button() == Qt.MouseButton.LeftButton and line >= 0 and self.selected is None and zone != "fold":
            self.line_clicked.emit(line)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        line, column, zone = self._hit(event.position())
        if line < 0 or zone != "text":
            return
        text = self.document.line(line)
        begin = end = min(column, len(text))
        while begin > 0 and (text[begin - 1].isalnum() or text[begin - 1] in "_.%@"):
            begin -= 1
        while end < len(text) and (text[end].isalnum() or text[end] in "_.%@"):
            end += 1
        self.selected = ((line, begin), (line, end)) if end > begin else None
        self.viewport().update()

    def leaveEvent(self, event) -> None:
        if self._hover_line != -1:
            self._hover_line = -1
            self.line_hovered.emit(-1)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.look.zoom_code(self.look.code_pixels + (1 if event.angleDelta().y() > 0 else -1))
            return
        super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            return
        steps = {
            Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -self.page, Qt.Key.Key_PageDown: self.page,
            Qt.Key.Key_Home: -self.rows, Qt.Key.Key_End: self.rows,
        }  # fmt: skip
        key = Qt.Key(event.key())
        if key in steps and self.rows and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            row = self.row_of_line(self.caret) + steps[key] if self.caret >= 0 else self.first_row
            self.caret = self.line_of_row(max(0, min(row, self.rows - 1)))
            self.reveal(self.caret, centre=False)
            self.line_hovered.emit(self.caret)
            self.viewport().update()
        elif (
            key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.caret >= 0 and not event.modifiers()
        ):
            self.line_clicked.emit(self.caret)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Minus) and self.caret in self.regions:
            self.toggle_fold(self.caret)
        else:
            super().keyPressEvent(event)

    def point_of_line(self, line: int) -> QPoint:
        """The middle of a line's text area in viewport coordinates."""
        y = (self.row_of_line(line) - self.first_row + 0.5) * self._painter.row
        return QPoint(int(self._painter.gutter + 20), int(y))

    def _hit(self, point: QPointF) -> tuple[int, int, str]:
        row = self.first_row + int(point.y() // self._painter.row)
        if not 0 <= row < self.rows or point.y() < 0:
            return -1, 0, ""
        line = self.line_of_row(row)
        if point.x() < self._painter.fold_width:
            return line, 0, "fold"
        if point.x() < self._painter.gutter:
            return line, 0, "gutter"
        offset = (point.x() - self._painter.gutter) / self.look.column + self.horizontalScrollBar().value()
        return line, max(0, min(round(offset), len(self.document.line(line, 1 << 20)))), "text"

    def _reveal_first(self, lit: np.ndarray) -> None:
        shown = lit if self.noise is None else lit & ~self.noise
        if not shown.any():
            shown = lit
        first, last = self.visible_range()
        if last >= first and shown[first : last + 1].any():
            return
        self.reveal(int(np.argmax(shown)))
