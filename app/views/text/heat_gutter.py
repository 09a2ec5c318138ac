"""The share of the samples of each line, as figures in a column of their own before the text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QStaticText

from app.theme.look import Look
from app.views.text.text_page import TextPage

_WIDEST = "100 %"
_LEAST = 0.0005
"""A share that would be shown as 0.0 is not shown."""


def heat_width(page: TextPage, font: QFont) -> float:
    """What the column takes: nothing where the page has no samples."""
    return QFontMetricsF(font).horizontalAdvance(_WIDEST) + 8 if page.shares is not None else 0.0


def paint_shares(
    painter: QPainter, look: Look, page: TextPage, rows: Sequence[tuple[int, float]], place: QPointF, font: QFont
) -> None:
    """The figures of the lines in sight, each ending at `place` of its row; the painter's font is as it was after."""
    if page.shares is None:
        return
    before, key = painter.font(), font.toString()
    painter.setFont(font)
    painter.setPen(QColor(look.theme.text))
    for line, y in rows:
        share = float(page.shares[line]) if line < len(page.shares) else 0.0
        if share >= _LEAST:
            words, width = _figure(f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %", key)
            painter.drawStaticText(QPointF(place.x() - width, place.y() + y), words)
    painter.setFont(before)


@lru_cache(maxsize=1024)
def _figure(text: str, font: str) -> tuple[QStaticText, float]:
    """A figure laid out once for its font: there are few of them, and every page has many."""
    made, key = QStaticText(text), QFont()
    key.fromString(font)
    made.prepare(font=key)
    return made, QFontMetricsF(key).horizontalAdvance(text)
