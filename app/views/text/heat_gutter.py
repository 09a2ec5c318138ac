"""The heat of each line before its text: a bar in its colour and, where lines were sampled, their share as a figure.

The column is painted in pieces of some rows, and a piece is kept while it is near: while a text is scrolled, all but
the rows that come into sight were painted before.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPixmap, QStaticText

from app.theme.look import Look
from app.views.text.text_page import TextPage
from profiler.units import percent

BAR = 4
_WIDEST = "100%"
_LEAST = 0.0005
"""A share that would be shown as 0.0 is not shown."""
_ROWS = 64
_KEPT = 6
_GAP = 2  # a row that is only there to keep two sides of a difference level has no heat


class HeatGutter:
    """Paints the column, whose right edge is that of the bars."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._font, self._row, self._width = QFont(), 1.0, 0
        self._pieces: OrderedDict[int, QPixmap] = OrderedDict()
        self._drawn: tuple[float, ...] = ()
        self._of: tuple[object, ...] = ()
        self._marks: tuple[object, object] = (None, None)
        self._marked = False

    def measure(self, page: TextPage, font: QFont, row: float) -> int:
        """What the figures take: nothing where the page has no samples."""
        self._font, self._row = font, row
        self._width = int(QFontMetricsF(font).horizontalAdvance(_WIDEST) + 8) if page.shares is not None else 0
        self._pieces.clear()
        return self._width

    def paint(self, painter: QPainter, page: TextPage, rows: tuple[int, int], left: float) -> None:
        """The rows from the first to before the last; the bars begin at `left`."""
        if page.heat is None:
            return
        ratio = painter.device().devicePixelRatio()
        marks = (page.lit, page.hovered)
        if marks[0] is not self._marks[0] or marks[1] is not self._marks[1]:
            self._marks, self._marked = marks, page.marked
        plain = not self._marked and page.caret < 0 and page.diff is None
        of = (page.heat, page.shares, page.visible, page.diff, self._look.theme)
        drawn = (*map(id, of), ratio, plain)
        if drawn != self._drawn:
            self._pieces.clear()
            self._drawn, self._of = drawn, of  # kept, so that nothing else can have their identity
        for piece in range(rows[0] // _ROWS, (max(rows[1], 1) - 1) // _ROWS + 1):
            known = self._pieces.get(piece)
            if known is None:
                known = self._pieces[piece] = self._made(page, piece * _ROWS, plain, ratio)
                if len(self._pieces) > _KEPT:
                    self._pieces.popitem(last=False)
            painter.drawPixmap(QPointF(left - self._width, (piece * _ROWS - rows[0]) * self._row), known)

    def _made(self, page: TextPage, first: int, plain: bool, ratio: float) -> QPixmap:
        """A piece from its first row on; where no row is marked its ground is with it, and nothing has to be mixed."""
        width, row = self._width, self._row
        made = QPixmap(int((width + BAR) * ratio), int(_ROWS * row * ratio))
        made.setDevicePixelRatio(ratio)
        made.fill(QColor(self._look.theme.panel) if plain else Qt.GlobalColor.transparent)
        lines = np.arange(first, min(first + _ROWS, page.rows))
        if page.visible is not None:
            lines = page.visible[lines]
        assert page.heat is not None
        painter = QPainter(made)
        colours = [QColor(colour) for colour in self._look.theme.heat]
        heat = page.heat[lines]
        if page.diff is not None:
            heat = np.where(page.diff[lines] == _GAP, 0, heat)
        levels = np.where(heat > 0, np.minimum(heat * len(colours), len(colours) - 1).astype(int), -1)
        ends = [*(np.flatnonzero(np.diff(levels)) + 1).tolist(), len(levels)]
        begin = 0
        for end in ends:
            if begin < end and levels[begin] >= 0:
                top = int(begin * row)
                painter.fillRect(width, top, BAR, int(end * row) - top, colours[levels[begin]])
            begin = end
        if page.shares is not None:
            self._figures(painter, page.shares[lines])
        painter.end()
        return made

    def _figures(self, painter: QPainter, shares: np.ndarray) -> None:
        font, row, right = self._font, self._row, self._width - 4
        key = font.toString()
        painter.setFont(font)
        painter.setPen(QColor(self._look.theme.text))
        top = (row - QFontMetricsF(font).height()) / 2
        for at in np.flatnonzero(shares >= _LEAST).tolist():
            share = float(shares[at])
            words, width = _figure(percent(share, 0 if share >= 0.1 else 1), key)
            painter.drawStaticText(QPointF(right - width, at * row + top), words)


@lru_cache(maxsize=1024)
def _figure(text: str, font: str) -> tuple[QStaticText, float]:
    """A figure laid out once for its font: there are few of them, and every page has many."""
    made, key = QStaticText(text), QFont()
    key.fromString(font)
    made.prepare(font=key)
    return made, QFontMetricsF(key).horizontalAdvance(text)
