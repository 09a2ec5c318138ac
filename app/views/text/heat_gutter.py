"""The share of the samples of each line, as figures in a column of their own before the text."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from app.theme.look import Look
from app.views.text.text_page import TextPage

_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_WIDEST = "100 %"
_LEAST = 0.0005
"""A share that would be shown as 0.0 is not shown."""


def heat_width(page: TextPage, font: QFont) -> float:
    """What the column takes: nothing where the page has no samples."""
    return QFontMetricsF(font).horizontalAdvance(_WIDEST) + 8 if page.shares is not None else 0.0


def paint_share(painter: QPainter, look: Look, page: TextPage, line: int, box: QRectF, font: QFont) -> None:
    """The figure of one line, in `box`; the painter's font is as it was afterwards."""
    if page.shares is None or line >= len(page.shares) or page.shares[line] < _LEAST:
        return
    share = 100 * float(page.shares[line])
    before = painter.font()
    painter.setFont(font)
    painter.setPen(QColor(look.theme.text))
    painter.drawText(box, int(_RIGHT), f"{share:.0f} %" if share >= 10 else f"{share:.1f} %")
    painter.setFont(before)
