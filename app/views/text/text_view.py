"""A read-only text of any size: only the visible lines are decoded, coloured and painted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from app.theme.look import Look
from app.viewmodels.text.folding import fold_regions, visible_lines
from app.viewmodels.text.text_document import TextDocument, displayed, widest
from app.viewmodels.text.tokens import lines_inside_strings
from app.views.parts.controls import Fitting
from app.views.parts.plain import plain_tip
from app.views.text.text_page import Place, TextPage
from app.views.text.text_painter import RULER, TextPainter

_WRITTEN = 1 << 20  # bytes of a text that somebody wrote, in which strings go over lines
_MARKS = {"lit", "exact", "hovered"}  # fields of a page that change nothing but the look of some lines
_MEASURED = 1 << 20  # bytes of a text up to which the widest of the lines on show is looked for


class TextView(Fitting, QAbstractScrollArea):
    """Shows a TextDocument; says which line was clicked or hovered, and lights the lines it is told to."""

    line_clicked = Signal(int)
    document_changed = Signal()
    line_hovered = Signal(int)
    symbol_wanted = Signal(int, int)  # a line and a column: where what stands there is defined

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.look = look
        self.shown = TextPage()
        self._widest = 0  # columns of the lines on show
        self._anchor: Place | None = None  # where the mouse went down, if it did on a line
        self._hover_line = -1
        self.tip_of: Callable[[int, int], str] = lambda line, column: ""
        self.pressed: Place = (-1, 0)  # where the mouse was pressed last
        self._painter = TextPainter(look)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setAccessibleName("Text")
        look.changed.connect(self.refresh)
        self.refresh()

    def show_also(self, **changes: Any) -> None:
        """Show the page with these fields changed; where only marks do, the rows alone that have others now."""
        before, self.shown = self.shown, replace(self.shown, **changes)
        heated = before.heat is not None and before.marked != self.shown.marked  # its bars are drawn over marks, or not
        if changes.keys() <= _MARKS and not heated:
            self._mark_rows(before)
        else:
            self.viewport().update()

    def _mark_rows(self, before: TextPage) -> None:
        first, port = self.first_row, self.viewport()
        rows = np.arange(first, min(first + self.page + 2, self.shown.rows))
        lines = rows if self.shown.visible is None else self.shown.visible[rows]
        others = rows[before.marks(lines) != self.shown.marks(lines)] - first
        if len(others):
            top, bottom = int(others[0] * self._painter.row), int((others[-1] + 1) * self._painter.row)
            port.update(0, top, port.width(), bottom - top + 1)
        if before.strong is not self.shown.strong:
            port.update(port.width() - RULER, 0, RULER, port.height())

    def refresh(self) -> None:
        """Fonts, sizes or folds changed."""
        self._painter.measure(self.shown)
        self._fit()
        self.viewport().update()

    # What is shown -----------------------------------------------------------------------------------------------

    @property
    def document(self) -> TextDocument:
        """The text."""
        return self.shown.document

    def set_document(self, document: TextDocument, language: str, badges: np.ndarray) -> None:
        """Show another text from its top; what was lit, folded and found is forgotten."""
        regions = fold_regions(document, language) if len(document.data) < 4 << 20 else {}
        written = language == "python" and len(document.data) < _WRITTEN
        strings = lines_inside_strings(bytes(document.data)) if written else {}
        dark = np.zeros(document.lines, bool)
        self.shown = TextPage(document, language, self.shown.empty, badges, strings, regions, lit=dark, hovered=dark)
        self._hover_line = -1
        self._painter.forget()
        self._measure_width()
        self.verticalScrollBar().setValue(0)
        self.horizontalScrollBar().setValue(0)
        self.refresh()
        self.document_changed.emit()

    def set_lit(self, lit: np.ndarray, reveal: bool, exact: np.ndarray | None = None) -> None:
        """Light these lines, of which the `exact` ones are meant; scroll to the first of them when none is in sight."""
        wanted = exact if exact is not None and exact.any() else lit
        if reveal and wanted.any():
            self._reveal_first(wanted)
        self.show_also(lit=lit, exact=exact)

    def show_heat(self, heat: np.ndarray | None, shares: np.ndarray | None) -> None:
        """Heat beside the lines, and their shares of the samples in a column that comes and goes with them."""
        wider = (shares is None) != (self.shown.shares is None)
        self.show_also(heat=heat, shares=shares)
        if wider:
            self.refresh()

    def set_matches(self, matches: np.ndarray, current: int) -> None:
        """Show what a search found; `current` is scrolled to."""
        self.show_also(matches=matches, match=current)
        if 0 <= current < len(matches):
            line, begin, end = matches[current].tolist()
            self.reveal(line)
            raw = self.document.line_bytes(line, end)
            self._reveal_columns(len(displayed(raw[:begin])), len(displayed(raw)))

    def go_to_line(self, line: int) -> None:
        """Put the caret on a line and show it."""
        if self.document.lines:
            self.show_also(caret=max(0, min(line, self.document.lines - 1)))
            self.reveal(self.shown.caret)

    def copy(self) -> None:
        """What is selected goes to the clipboard."""
        QGuiApplication.clipboard().setText(self.shown.selected_text())

    # Rows --------------------------------------------------------------------------------------------------------

    @property
    def first_row(self) -> int:
        """The topmost row in sight."""
        return self.verticalScrollBar().value()

    @property
    def page(self) -> int:
        """How many whole rows fit."""
        return self._painter.fitting(self.viewport().height())

    def visible_range(self) -> tuple[int, int]:
        """The first and last line in sight."""
        rows = self.shown.rows
        if not rows:
            return 0, -1
        last = min(self.first_row + self.page - 1, rows - 1)
        return self.shown.line_of_row(self.first_row), self.shown.line_of_row(last)

    def reveal(self, line: int, centre: bool = True) -> None:
        """Unfold what hides a line and scroll until it is in sight."""
        for begin, end in list(self.shown.folded.items()):
            if begin < line <= end:
                self.toggle_fold(begin)
        row = self.shown.row_of_line(line)
        if not self.first_row <= row < self.first_row + self.page:
            self.verticalScrollBar().setValue(row - (self.page // 3 if centre else 0))

    def _reveal_first(self, lit: np.ndarray) -> None:
        noise = self.shown.noise
        shown = lit if noise is None else lit & ~noise
        if not shown.any():
            shown = lit
        first, last = self.visible_range()
        if last < first or not shown[first : last + 1].any():
            self.reveal(int(np.argmax(shown)))

    def _reveal_columns(self, begin: int, end: int) -> None:
        """Scroll sideways, as little as it takes, until these columns are in sight; to the left where they can be."""
        bar = self.horizontalScrollBar()
        if end <= bar.pageStep():
            bar.setValue(0)
        elif not bar.value() <= begin <= end <= bar.value() + bar.pageStep():
            bar.setValue(max(min(begin - 8, end + 8 - bar.pageStep()), 0) if end - begin < bar.pageStep() else begin)

    def toggle_fold(self, line: int) -> None:
        """Fold or unfold the region that begins at a line."""
        folded = dict(self.shown.folded)
        if folded.pop(line, None) is None and line in self.shown.regions:
            folded[line] = self.shown.regions[line]
        self._show_rows(folded, self.shown.noise)

    def fold_all(self, fold: bool) -> None:
        """Fold every region, or none. One around the whole text stays open where there are others inside."""
        regions, last = self.shown.regions, self.document.lines - 3
        within = {begin: end for begin, end in regions.items() if begin > 0 or end < last}
        self._show_rows(dict(within or regions) if fold else {}, self.shown.noise)

    def fold(self, regions: dict[int, int]) -> None:
        """Fold these regions besides those that are."""
        self._show_rows(self.shown.folded | regions, self.shown.noise)

    def set_noise(self, noise: np.ndarray | None) -> None:
        """Leave these lines out; None shows all."""
        anchor = self.visible_range()[0]
        self._show_rows(self.shown.folded, noise)
        self.verticalScrollBar().setValue(self.shown.row_of_line(anchor))

    def _show_rows(self, folded: dict[int, int], noise: np.ndarray | None) -> None:
        self.show_also(folded=folded, noise=noise, visible=visible_lines(self.document.lines, folded, noise))
        self._measure_width()
        self._fit()

    def _measure_width(self) -> None:
        """How wide the lines on show are, measured where that takes no time."""
        if len(self.document.data) <= _MEASURED:
            self._widest = widest(self.document, self.shown.visible)
        else:
            self._widest = self.document.longest * (2 if self.shown.language in ("asm", "ptx") else 1)

    def _fit(self) -> None:
        vertical, horizontal = self.verticalScrollBar(), self.horizontalScrollBar()
        vertical.setRange(0, max(self.shown.rows - self.page, 0))
        vertical.setPageStep(self.page)
        vertical.setSingleStep(3)
        columns = max(int((self.viewport().width() - self._painter.gutter - RULER) / self.look.column), 1)
        horizontal.setRange(0, max(min(self._widest, 1 << 24) + 2 - columns, 0))
        horizontal.setPageStep(columns)

    # Qt ----------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        place = {"first_row": self.first_row, "shift": self.horizontalScrollBar().value()}
        page = replace(self.shown, focused=self.hasFocus(), **place)
        area = self.viewport().rect()
        beside = event.region().intersected(area.adjusted(0, 0, -RULER, 0)).boundingRect()  # not for the ruler alone
        high = beside.top(), beside.bottom()
        self._painter.paint(painter, QRectF(area), page, high)
        painter.end()

    def viewportEvent(self, event: QEvent) -> bool:
        """A tip for what lies under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            line, column, zone = self._hit(QPointF(event.pos()))
            words = self.tip_of(line, column if zone == "text" else -1) if line >= 0 else ""
            QToolTip.showText(event.globalPos(), plain_tip(words), self)
            return True
        return super().viewportEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        line, column, zone = self._hit(event.position())
        if event.button() == Qt.MouseButton.LeftButton:
            self._anchor = None
        if event.button() != Qt.MouseButton.LeftButton or line < 0:
            return
        if zone == "fold" and line in self.shown.regions:
            self.toggle_fold(line)
            return
        self._anchor = self.pressed = (line, column)
        self.show_also(selected=None, caret=line)
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and zone == "text":
            self._anchor = None
            self.symbol_wanted.emit(line, column)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        line, column, zone = self._hit(event.position())
        if event.buttons() & Qt.MouseButton.LeftButton and line >= 0 and zone == "text":
            if self._anchor is not None and self._anchor != (line, column):
                self.show_also(selected=(self._anchor, (line, column)))
            return
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor if zone == "text" else Qt.CursorShape.ArrowCursor)
        if line != self._hover_line:
            self._hover_line = line
            self.line_hovered.emit(line)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        line, _, zone = self._hit(event.position())
        plain = event.button() == Qt.MouseButton.LeftButton and self.shown.selected is None and self._anchor is not None
        if plain and line >= 0 and zone != "fold":
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
        self.show_also(selected=((line, begin), (line, end)) if end > begin else None)

    def leaveEvent(self, event) -> None:
        if self._hover_line != -1:
            self._hover_line = -1
            self.line_hovered.emit(-1)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        tabbed = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if tabbed and self.shown.caret < 0 and self.shown.rows:  # else nothing would say that the keyboard is here
            self.show_also(caret=self.shown.line_of_row(self.first_row))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.look.zoomed_by(event):
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            return
        steps = {
            Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -self.page, Qt.Key.Key_PageDown: self.page,
            Qt.Key.Key_Home: -self.shown.rows, Qt.Key.Key_End: self.shown.rows,
        }  # fmt: skip
        key, caret = Qt.Key(event.key()), self.shown.caret
        if key in steps and self.shown.rows and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            row = self.shown.row_of_line(caret) + steps[key] if caret >= 0 else self.first_row
            caret = self.shown.line_of_row(max(0, min(row, self.shown.rows - 1)))
            self.show_also(caret=caret)
            self.reveal(caret, centre=False)
            self.line_hovered.emit(caret)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and caret >= 0 and not event.modifiers():
            self.line_clicked.emit(caret)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Minus) and caret in self.shown.regions:
            self.toggle_fold(caret)
        else:
            super().keyPressEvent(event)

    def _hit(self, point: QPointF) -> tuple[int, int, str]:
        row = self.first_row + int(point.y() // self._painter.row)
        if not 0 <= row < self.shown.rows or point.y() < 0:
            return -1, 0, ""
        line = self.shown.line_of_row(row)
        if point.x() < self._painter.fold_width:
            return line, 0, "fold"
        if point.x() < self._painter.gutter:
            return line, 0, "gutter"
        offset = (point.x() - self._painter.gutter) / self.look.column + self.horizontalScrollBar().value()
        return line, max(0, min(round(offset), len(self.document.line(line, 1 << 20)))), "text"
