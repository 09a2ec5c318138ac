"""Painting of the visible part of a text: gutter, badges, coloured text, selection and the ruler at the right."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF, QTextCharFormat, QTextLayout

from app.theme.look import Look, tint
from app.viewmodels.text.text_document import displayed
from app.viewmodels.text.tokens import tokens
from app.views.text.heat_gutter import HeatGutter
from app.views.text.text_page import TextPage

RULER = 8  # width of the strip beside the scroll bar that shows where lit lines are
_LEFT, _FOLD = 3.0, 13.0
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

    def __init__(self, look: Look) -> None:
        self._look = look
        self.row = self.gutter = 1.0
        self.fold_width = _LEFT + _FOLD
        self._ruler: tuple[object, object, list[tuple[int, float]], list[tuple[int, float]]] | None = None
        self._lines: OrderedDict[tuple[int, int], QTextLayout] = OrderedDict()
        self._heat_gutter = HeatGutter(look)

    def forget(self) -> None:
        """Another document: nothing remembered applies."""
        self._ruler = None
        self._lines.clear()

    def measure(self, page: TextPage) -> None:
        """Row height and gutter width, from the font and the number of lines."""
        self._lines.clear()
        metrics = QFontMetricsF(self._look.code_font)
        self.row = max(round(metrics.height() * 1.22), 8)
        self._top = (self.row - metrics.height()) / 2
        self._ascent = self._top + metrics.ascent()
        self._digits = max(len(str(page.document.lines)), 2)
        self._small = QFont(self._look.code_font)
        self._small.setPixelSize(max(self._look.code_pixels - 2, 7))
        badge = "0" * max(len(str(int(page.badges.max(initial=0)))), 2) + "+"
        self._badge = QFontMetricsF(self._small).horizontalAdvance(badge) + 10
        self._heat = self._heat_gutter.measure(page, self._small, self.row)
        self.gutter = self.fold_width + (self._digits + 0.5) * self._look.column + self._badge + self._heat + 8

    def fitting(self, height: float) -> int:
        """How many whole rows fit."""
        return max(int(height / self.row), 1)

    def paint(self, painter: QPainter, area: QRectF, page: TextPage, high: tuple[int, int]) -> None:
        """What is in sight, and of the rows those alone that reach into these pixels, from the first to the last."""
        theme = self._look.theme
        painter.fillRect(area, _colour(theme.code))
        if not page.rows:
            painter.setFont(self._look.ui_font)
            painter.setPen(_colour(theme.muted))
            inner = area.adjusted(16, 16, -16, -16)
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap), page.empty)
            return
        painter.fillRect(QRectF(0, 0, self.gutter - 6, area.height()), _colour(theme.panel))
        painter.setFont(self._look.code_font)
        first = page.first_row
        last = min(first + self.fitting(area.height()) + 2, page.rows)
        begin = max(first, first + int(high[0] // self.row))
        end = min(last, first + int(high[1] // self.row) + 1)
        matches = self._matches_by_line(page, begin, end)
        rows = [(page.line_of_row(row), (row - first) * self.row) for row in range(begin, end)]
        for line, y in rows:
            self._ground(painter, page, area, line, y)
        self._heat_gutter.paint(painter, page, (first, last), self.gutter - 6)
        painter.save()
        painter.setClipRect(QRectF(self.gutter, 0, area.width() - self.gutter, area.height()))
        for line, y in rows:
            self._line(painter, page, area, line, y, matches.get(line, ()))
        painter.restore()
        self._paint_ruler(painter, page, area)
        if page.focused:  # the line that the keyboard is at may be out of sight
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(_colour(theme.accent), 1))
            painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))

    def _ground(self, painter: QPainter, page: TextPage, area: QRectF, line: int, y: float) -> None:
        """What lies behind a line's text, and its gutter."""
        theme = self._look.theme
        full = QRectF(0, y, area.width(), self.row)
        if page.diff is not None and page.diff[line] == _GAP:  # the other side has a line here, this one has none
            painter.fillRect(full, tint(theme.faint, 26))
            return
        if page.diff is not None and page.diff[line]:
            painter.fillRect(full, tint(theme.good if page.diff[line] > 0 else theme.bad, 38))
        strong = page.strong
        if line < len(strong) and strong[line]:
            painter.fillRect(full, tint(theme.selection, 190 if theme.dark else 255))
            if page.exact is not None:
                painter.fillRect(QRectF(0, y, 3, self.row), _colour(theme.accent))
        elif line < len(page.lit) and page.lit[line]:
            painter.fillRect(full, tint(theme.selection, 48 if theme.dark else 90))
        elif line < len(page.hovered) and page.hovered[line]:
            painter.fillRect(full, _colour(theme.hover_line))
        if page.diff is not None and page.diff[line]:  # again, over the selection: both must be seen
            colour = theme.good if page.diff[line] > 0 else theme.bad
            painter.fillRect(
                QRectF(0, y, self.fold_width + (self._digits + 0.5) * self._look.column, self.row), tint(colour, 90)
            )
        if line == page.caret:
            painter.setPen(QPen(_colour(theme.accent if page.focused else theme.strong_border), 1))
            painter.drawRect(full.adjusted(0, 0, -1, -1))
        self._gutter(painter, page, line, y)

    def _line(self, painter: QPainter, page: TextPage, area: QRectF, line: int, y: float, matches) -> None:
        theme, look = self._look.theme, self._look
        shift = page.shift
        columns = int((area.width() - self.gutter) / look.column) + 2
        limit = (shift + columns) * 4 + 64
        x0 = self.gutter - shift * look.column
        text = ""
        if line in page.folded or page.selected is not None or shift + columns > _LONGEST:
            text = page.document.line(line, limit)
            self._selection(painter, page, line, len(text), x0, y)
        for index, begin, end in matches:
            current = index == page.match
            box = QRectF(x0 + begin * look.column, y + 1, (end - begin) * look.column, self.row - 2)
            painter.fillRect(box, tint(theme.warning, 150 if current else 70))
            if current:
                painter.setPen(_colour(theme.warning))
                painter.drawRect(box)
        if shift + columns > _LONGEST:
            self._text(painter, page, text, shift, shift + columns, x0, y)
        else:
            painter.setPen(_colour(theme.syntax["text"]))
            self._coloured(page, line, limit).draw(painter, QPointF(x0, y + self._top))
        if line in page.folded:
            hidden = page.folded[line] - line
            end = x0 + (len(text) + 1) * look.column
            note = f" {hidden} lines "
            box = QRectF(end, y + 2, len(note) * look.column * 0.9, self.row - 4)
            painter.fillRect(box, _colour(theme.raised))
            painter.setPen(_colour(theme.muted))
            painter.setFont(self._small)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, note.strip())
            painter.setFont(look.code_font)

    def _coloured(self, page: TextPage, line: int, limit: int) -> QTextLayout:
        """A line shaped and coloured, kept while it is near: a page is repainted at every click, and does not change.

        The key has the order of magnitude of what was read, so that a pane made wider reads again.
        """
        key = (line, limit.bit_length())
        layout = self._lines.get(key)
        if layout is None:
            theme = self._look.theme
            text = page.document.line(line, 1 << key[1])[: 2 * _LONGEST]
            layout = QTextLayout(text, self._look.code_font)
            ranges = []
            for start, stop, kind in tokens(page.language, text, page.strings.get(line, "")):
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

    def _text(self, painter: QPainter, page: TextPage, text: str, begin: int, end: int, x0: float, y: float) -> None:
        theme = self._look.theme
        base = y + self._ascent
        at = 0
        for start, stop, kind in tokens(page.language, text[: max(end, 0) + 200] if len(text) > _LONGEST else text):
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
        if not piece.isprintable():  # a sign in its place: what turns the direction of writing would turn the line
            piece = "".join(letter if letter.isprintable() or letter == "\t" else "\ufffd" for letter in piece)
        painter.setPen(_colour(colour))
        painter.drawText(QPointF(x0 + start * self._look.column, base), piece)

    def _gutter(self, painter: QPainter, page: TextPage, line: int, y: float) -> None:
        theme, look = self._look.theme, self._look
        if line in page.regions:
            centre, middle = _LEFT + _FOLD / 2, y + self.row / 2
            if line in page.folded:
                shape = [(-2.5, -4.5), (2.5, 0), (-2.5, 4.5)]
            else:
                shape = [(-4.5, -2.5), (0, 2.5), (4.5, -2.5)]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(_colour(theme.faint), 1.3))
            painter.drawPolyline(QPolygonF([QPointF(centre + dx, middle + dy) for dx, dy in shape]))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        number = int(page.numbers[line]) if page.numbers is not None else line + 1
        sign = {1: "+", -1: "\u2212"}.get(int(page.diff[line]) if page.diff is not None else 0, "")
        lit = line < len(page.strong) and page.strong[line]
        painter.setPen(_colour(theme.text if lit else theme.faint))
        words, right = f"{sign}{number}", self.fold_width + (self._digits + 0.5) * look.column
        painter.drawText(QPointF(right - len(words) * look.column, y + self._ascent), words)
        if line < len(page.document.line_sets) and (entry := int(page.document.line_sets[line])) > 0:
            self._provenance(painter, page, entry, QRectF(right + 5, y + 2, self._badge - 4, self.row - 4))

    def _provenance(self, painter: QPainter, page: TextPage, entry: int, box: QRectF) -> None:
        theme = self._look.theme
        number = int(page.badges[entry]) if entry < len(page.badges) else 0
        if not number:
            return
        colour = theme.series_colour(number - 1)
        painter.fillRect(QRectF(box.left(), box.top() - 1, 3, box.height() + 2), _colour(colour))
        painter.setFont(self._small)
        painter.setPen(_colour(colour))
        more = "+" if len(page.document.sets[entry]) > 1 else ""
        painter.drawText(box.adjusted(6, 0, 0, 0), _MIDDLE_LEFT, f"{number}{more}")
        painter.setFont(self._look.code_font)

    def _selection(self, painter: QPainter, page: TextPage, line: int, length: int, x0: float, y: float) -> None:
        if page.selected is None:
            return
        (first, begin), (last, end) = sorted(page.selected)
        if not first <= line <= last:
            return
        start = begin if line == first else 0
        stop = end if line == last else length + 1
        column = self._look.column
        colour = tint(self._look.theme.accent, 90)
        painter.fillRect(QRectF(x0 + start * column, y, (stop - start) * column, self.row), colour)

    def _matches_by_line(self, page: TextPage, first: int, last: int) -> dict[int, list[tuple[int, int, int]]]:
        if not len(page.matches) or last <= first:
            return {}
        low, high = page.line_of_row(first), page.line_of_row(last - 1)
        begin, end = np.searchsorted(page.matches[:, 0], [low, high + 1])
        found: dict[int, list[tuple[int, int, int]]] = {}
        for index in range(int(begin), min(int(end), int(begin) + 2000)):
            line, start, stop = (int(value) for value in page.matches[index])
            raw = page.document.line_bytes(line, stop)
            left, right = len(displayed(raw[:start])), len(displayed(raw[:stop]))
            found.setdefault(line, []).append((index, left, right))
        return found

    def _paint_ruler(self, painter: QPainter, page: TextPage, area: QRectF) -> None:
        """Ticks at the right edge: where in the whole text the lit lines and the matches are."""
        theme = self._look.theme
        strip = QRectF(area.right() - RULER, 0, RULER, area.height())
        painter.fillRect(strip, _colour(theme.panel))
        if not page.document.lines:
            return
        strong = page.strong
        height = min(area.height(), page.rows * self.row)  # a text all in sight has its ticks beside its lines
        key = (id(strong), id(page.matches), id(page.diff), int(height))
        if self._ruler is None or self._ruler[0] != key:
            found = np.zeros(page.document.lines, bool)
            found[page.matches[:, 0]] = True
            lit = strong if strong.any() or page.diff is None else page.diff != 0
            # What the key is made of is kept, so that nothing else can have its identity.
            kept = (strong, page.matches, page.diff)
            self._ruler = (key, kept, _ticks(lit, height), _ticks(found, height))
        for places, colour in ((self._ruler[2], theme.accent), (self._ruler[3], theme.warning)):
            for y, high in places:
                painter.fillRect(QRectF(strip.left() + 1, y, RULER - 2, high), _colour(colour))


def _ticks(lines: np.ndarray, height: float) -> list[tuple[int, float]]:
    """The stretches of the ruler behind which any of these lines is, each as where it begins and how high it is: one
    look at each line, however many are lit, and one stretch for those that touch each other."""
    if not lines.any():
        return []
    rows = max(int(height) - 2, 1)
    rows = min(rows, len(lines))
    starts = np.arange(rows) * len(lines) // rows
    lit = np.flatnonzero(np.logical_or.reduceat(lines, starts))
    least = max(2.0, (height - 2) / len(lines))  # of a short text, neighbours touch each other
    places = (lit * (height - 2) / rows).astype(int)
    first = np.flatnonzero(np.diff(lit, prepend=-2) > 1)
    last = np.append(first[1:] - 1, len(lit) - 1)
    return list(zip(places[first].tolist(), (places[last] - places[first] + least).tolist(), strict=True))
