"""A histogram as a small picture, for a page of text."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from app.theme.look import Look
from app.viewmodels.frame.weights import Weights

WIDE, HIGH = 220, 72
_SHARP = 2  # pixels of the picture a pixel of the page: screens have up to so many


def histogram_image(look: Look, weights: Weights) -> QImage:
    """The bars; what has elements at all is at least a pixel high."""
    image = QImage(WIDE * _SHARP, HIGH * _SHARP, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(_SHARP)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    top = max(weights.counts, default=0) or 1
    step = WIDE / max(len(weights.counts), 1)
    for index, count in enumerate(weights.counts):
        tall = max(count / top * (HIGH - 4), 1.0) if count else 0.0
        bar = QRectF(index * step, HIGH - 1 - tall, max(step - 1, 1.0), tall)
        painter.fillRect(bar, QColor(look.theme.series[0]))
    painter.fillRect(QRectF(0, HIGH - 1, WIDE, 1), QColor(look.theme.strong_border))
    painter.end()
    return image
