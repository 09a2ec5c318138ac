"""Painting of the visible part of a TextView: gutter, badges, coloured text, selection and the ruler at the right."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF, QTextCharFormat, QTextLayout

from app.theme.look import tint
from app.viewmodels.text.text_document import displayed
from app.viewmodels.text.tokens import tokens

if TYPE_CHECKING:
    from app.views.text.text_view import TextView

_LEFT, _FOLD, _RULER = 3.0, 13.0, 8
_GAP = 2  # the mark of a row that is only there to keep two sides level
_LONGEST = 4_000  # columns decoded from a line at once
_KEPT = 400  # lines whose colours and glyphs are kept: a few pages
_MIDDLE_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


@lru_cache(maxsize=512)
def _colour(text: str) -> QColor:
    return QColor(text)


@lru_cache(maxsize=512)
def _format(text: str) -> QTextCharFormat:
    result = QTextCharFormat()
    result.setForeground(_colour(text))
    return result


class TextPainter:
    """Measures and paints; knows nothing of scrolling or of the mouse."""

    def __init__(self, view: TextView) -> None:
        self._view = view
        self.row = self.gutter = 1.0
        self.fold_width = _LEFT + _FOLD
        self._ruler: tuple[object, object, list[int], list[int]] | None = None
        self._lines: OrderedDict[tuple[int, int], QTextLayout] = OrderedDict()

    def forget(self) -> None:
        """Another document: nothing remembered applies."""
        self._ruler = None
        self._lines.clear()

    def measure(self) -> None:
        """Row height and gutter width, from the font and the number of lines."""
        self._lines.clear()
        metrics = QFontMetricsF(self._view.look.code_font)
        self.row = max(round(metrics.height() * 1.22), 8)
        self._top = (self.row - metrics.height()) / 2
        self._ascent = self._top + metrics.ascent()
        self._digits = max(len(str(self._view.document.lines)), 2)
        self._small = QFont(self._view.look.code_font)
        self._small.setPixelSize(max(self._view.look.code_pixels - 2, 7))
        badge = "0" * max(len(str(int(self._view.badges.max(initial=0)))), 2) + "+"
        self._badge = QFontMetricsF(self._small).horizontalAdvance(badge) + 10
        self.gutter = self.fold_width + (self._digits + 0.5) * self._view.look.column + self._badge + 8

    def paint(self, painter: QPainter, area: QRectF) -> None:
        """Everything in sight."""
        view, theme = self._view, self._view.look.theme
        painter.fillRect(area, _colour(theme.code))
        if not view.rows:
            painter.setFont(view.look.ui_font)
            painter.setPen(_colour(theme.muted))
            inner = area.adjusted(16, 16, -16, -16)
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap), view.empty)
            return
        painter.fillRect(QRectF(0, 0, self.gutter - 6, area.height()), _colour(theme.panel))
        painter.setFont(view.look.code_font)
        first = view.first_row
        last = min(first + view.page + 2, view.rows)
        matches = self._matches_by_line(first, last)
        rows = [(view.line_of_row(row), (row - first) * self.row) for row in range(first, last)]
        for line, y in rows:
            self._ground(painter, area, line, y)
        painter.save()
        painter.setClipRect(QRectF(self.gutter, 0, area.width() - self.gutter, area.height()))
        for line, y in rows:
            self._line(painter, area, line, y, matches.get(line, ()))
        painter.restore()
        self._paint_ruler(painter, area)

    def _ground(self, painter: QPainter, area: QRectF, line: int, y: float) -> None:
        """What lies behind a line's text, and its gutter."""
        view, theme = self._view, self._view.look.theme
        full = QRectF(0, y, area.width(), self.row)
        if view.marks is not None and view.marks[line] == _GAP:  # the other side has a line here, this one has none
            painter.fillRect(full, tint(theme.faint, 26))
            return
        if view.marks is not None and view.marks[line]:
            painter.fillRect(full, tint(theme.good if view.marks[line] > 0 else theme.bad, 38))
        if view.heat is not None and view.heat[line] > 0:
            share = float(view.heat[line])
            colour = theme.heat[min(int(share * len(theme.heat)), len(theme.heat) - 1)]
            painter.fillRect(QRectF(self.gutter - 6, y, 4, self.row), _colour(colour))
        if line < len(view.lit) and view.lit[line]:
            painter.fillRect(full, tint(theme.selection, 190 if theme.dark else 255))
        elif line < len(view.hovered) and view.hovered[line]:
            painter.fillRect(full, _colour(theme.hover_line))
        if view.marks is not None and view.marks[line]:  # again, over the selection: both must be seen
            colour = theme.good if view.marks[line] > 0 else theme.bad
            painter.fillRect(
                QRectF(0, y, self.fold_width + (self._digits + 0.5) * view.look.column, self.row), tint(colour, 90)
            )
        if line == view.caret:
            painter.setPen(QPen(_colour(theme.accent if view.hasFocus() else theme.strong_border), 1))
            painter.drawRect(full.adjusted(0, 0, -1, -1))
        self._gutter(painter, line, y)

    def _line(self, painter: QPainter, area: QRectF, line: int, y: float, matches) -> None:
        view, theme, look = self._view, self._view.look.theme, self._view.look
        shift = view.horizontalScrollBar().value()
        columns = int((area.width() - self.gutter) / look.column) + 2
        limit = (shift + columns) * 4 + 64
        x0 = self.gutter - shift * look.column
        text = ""
        if line in view.folded or view.selected is not None or shift + columns > _LONGEST:
            text = view.document.line(line, limit)
            self._selection(painter, line, len(text), x0, y)
        for index, begin, end in matches:
            current = index == view.match
            box = QRectF(x0 + begin * look.column, y + 1, (end - begin) * look.column, self.row - 2)
            painter.fillRect(box, tint(theme.warning, 150 if current else 70))
            if current:
                painter.setPen(_colour(theme.warning))
                painter.drawRect(box)
        if shift + columns > _LONGEST:
            self._text(painter, text, shift, shift + columns, x0, y)
        else:
            painter.setPen(_colour(theme.syntax["text"]))
            self._coloured(line, limit).draw(painter, QPointF(x0, y + self._top))
        if line in view.folded:
            hidden = view.folded[line] - line
            end = x0 + (len(text) + 1) * look.column
            note = f" {hidden} lines "
            box = QRectF(end, y + 2, len(note) * look.column * 0.9, self.row - 4)
            painter.fillRect(box, _colour(theme.raised))
            painter.setPen(_colour(theme.muted))
            painter.setFont(self._small)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, note.strip())
            painter.setFont(look.code_font)

    def _coloured(self, line: int, limit: int) -> QTextLayout:
        """A line shaped and coloured, kept while it is near: a page is repainted at every click, and does not change.

        The key has the order of magnitude of what was read, so that a pane made wider reads again.
        """
        key = (line, limit.bit_length())
        layout = self._lines.get(key)
        if layout is None:
            theme = self._view.look.theme
            text = self._view.document.line(line, 1 << key[1])[: 2 * _LONGEST]
            layout = QTextLayout(text, self._view.look.code_font)
            ranges = []
            for start, stop, kind in tokens(self._view.language, text):
                if kind != "text":  # the pen's own colour
                    entry = QTextLayout.FormatRange()
                    entry.start, entry.length, entry.format = start, stop - start, _format(theme.syntax[kind])  # type: ignore[misc]
                    ranges.append(entry)
            layout.setFormats(ranges)
            layout.setCacheEnabled(True)
            layout.beginLayout()
            layout.createLine().setLineWidth(1e7)
            layout.endLayout()
            self._lines[key] = layout
            if len(self._lines) > _KEPT:
                self._lines.popitem(last=False)
        return layout

    def _text(self, painter: QPainter, text: str, begin: int, end: int, x0: float, y: float) -> None:
        theme = self._view.look.theme
        base = y + self._ascent
        at = 0
        for start, stop, kind in tokens(
            self._view.language, text[: max(end, 0) + 200] if len(text) > _LONGEST else text
        ):
            if start > at:
                self._piece(painter, text, max(at, begin), min(start, end), x0, base, theme.syntax["text"])
            if start > end:
                return
            self._piece(painter, text, max(start, begin), min(stop, end), x0, base, theme.syntax[kind])
            at = stop
        self._piece(painter, text, max(at, begin), min(len(text), end), x0, base, theme.syntax["text"])

    def _piece(self, painter: QPainter, text: str, start: int, stop: int, x0: float, base: float, colour: str) -> None:
        piece = text[start:stop]
        if stop <= start or piece.isspace():
            return
        painter.setPen(_colour(colour))
        painter.drawText(QPointF(x0 + start * self._view.look.column, base), piece)

    def _gutter(self, painter: QPainter, line: int, y: float) -> None:
        view, theme, look = self._view, self._view.look.theme, self._view.look
        if line in view.regions:
            centre, middle = _LEFT + _FOLD / 2, y + self.row / 2
            if line in view.folded:
                shape = [(-2.5, -4.5), (2.5, 0), (-2.5, 4.5)]
            else:
                shape = [(-4.5, -2.5), (0, 2.5), (4.5, -2.5)]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(_colour(theme.faint), 1.3))
            painter.drawPolyline(QPolygonF([QPointF(centre + dx, middle + dy) for dx, dy in shape]))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        number = int(view.numbers[line]) if view.numbers is not None else line + 1
        sign = {1: "+", -1: "\u2212"}.get(int(view.marks[line]) if view.marks is not None else 0, "")
        lit = line < len(view.lit) and view.lit[line]
        painter.setPen(_colour(theme.text if lit else theme.faint))
        words, right = f"{sign}{number}", self.fold_width + (self._digits + 0.5) * look.column
        painter.drawText(QPointF(right - len(words) * look.column, y + self._ascent), words)
        if line < len(view.document.line_sets) and (entry := int(view.document.line_sets[line])) > 0:
            self._provenance(painter, entry, QRectF(right + 5, y + 2, self._badge - 4, self.row - 4))

    def _provenance(self, painter: QPainter, entry: int, box: QRectF) -> None:
        view, theme = self._view, self._view.look.theme
        number = int(view.badges[entry]) if entry < len(view.badges) else 0
        if not number:
            return
        colour = theme.series_colour(number - 1)
        painter.fillRect(QRectF(box.left(), box.top() - 1, 3, box.height() + 2), _colour(colour))
        painter.setFont(self._small)
        painter.setPen(_colour(colour))
        more = "+" if len(view.document.sets[entry]) > 1 else ""
        painter.drawText(box.adjusted(6, 0, 0, 0), _MIDDLE_LEFT, f"{number}{more}")
        painter.setFont(view.look.code_font)

    def _selection(self, painter: QPainter, line: int, length: int, x0: float, y: float) -> None:
        view = self._view
        if view.selected is None:
            return
        (first, begin), (last, end) = sorted(view.selected)
        if not first <= line <= last:
            return
        start = begin if line == first else 0
        stop = end if line == last else length + 1
        column = view.look.column
        colour = tint(view.look.theme.accent, 90)
        painter.fillRect(QRectF(x0 + start * column, y, (stop - start) * column, self.row), colour)

    def _matches_by_line(self, first: int, last: int) -> dict[int, list[tuple[int, int, int]]]:
        view = self._view
        if not len(view.matches) or last <= first:
            return {}
        low, high = view.line_of_row(first), view.line_of_row(last - 1)
        begin, end = np.searchsorted(view.matches[:, 0], [low, high + 1])
        found: dict[int, list[tuple[int, int, int]]] = {}
        for index in range(int(begin), min(int(end), int(begin) + 2000)):
            line, start, stop = (int(value) for value in view.matches[index])
            raw = view.document.line_bytes(line, stop)
            left, right = len(displayed(raw[:start])), len(displayed(raw[:stop]))
            found.setdefault(line, []).append((index, left, right))
        return found

    def _paint_ruler(self, painter: QPainter, area: QRectF) -> None:
        """Ticks at the right edge: where in the whole text the lit lines and the matches are."""
        view, theme = self._view, self._view.look.theme
        strip = QRectF(area.right() - _RULER, 0, _RULER, area.height())
        painter.fillRect(strip, _colour(theme.panel))
        if not view.document.lines:
            return
        key = (id(view.lit), id(view.matches), id(view.marks), int(area.height()))
        if self._ruler is None or self._ruler[0] != key:
            found = np.zeros(view.document.lines, bool)
            found[view.matches[:, 0]] = True
            lit = view.lit if view.lit.any() or view.marks is None else view.marks != 0
            # What the key is made of is kept, so that nothing else can have its identity.
            kept = (view.lit, view.matches, view.marks)
            self._ruler = (key, kept, _ticks(lit, area.height()), _ticks(found, area.height()))
        high = max(2.0, (area.height() - 2) / view.document.lines)  # of a short text, neighbours touch each other
        for places, colour in ((self._ruler[2], theme.accent), (self._ruler[3], theme.warning)):
            for y in places:
                painter.fillRect(QRectF(strip.left() + 1, y, _RULER - 2, high), _colour(colour))


def _ticks(lines: np.ndarray, height: float) -> list[int]:
    """The pixels of the ruler behind which any of these lines is: one look at each line, however many are lit."""
    if not lines.any():
        return []
    rows = max(int(height) - 2, 1)
    rows = min(rows, len(lines))
    starts = np.arange(rows) * len(lines) // rows
    return (np.flatnonzero(np.logical_or.reduceat(lines, starts)) * (height - 2) / rows).astype(int).tolist()
