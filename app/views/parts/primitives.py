"""Many rectangles or lines at once: Qt reads them out of an array, and no Python object is made for any of them."""

from __future__ import annotations

from typing import cast

import numpy as np
import shiboken6
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QPainter


def draw_rects(painter: QPainter, rects: np.ndarray) -> None:
    """Draw rows of (x, y, width, height) with the painter's pen and brush."""
    if len(rects):
        data = np.array(rects, np.float64, order="C")  # a copy: its address is nobody else's while it is drawn
        painter.drawRects(cast(QRectF, shiboken6.wrapInstance(data.ctypes.data, QRectF)), len(data))


def draw_lines(painter: QPainter, lines: np.ndarray) -> None:
    """Draw rows of (x1, y1, x2, y2) with the painter's pen."""
    if len(lines):
        data = np.array(lines, np.float64, order="C")
        painter.drawLines(cast(QLineF, shiboken6.wrapInstance(data.ctypes.data, QLineF)), len(data))


def in_sight(rects: np.ndarray, seen: QRectF) -> np.ndarray:
    """Which rows of (x, y, width, height) reach into what is seen, by their numbers."""
    x, y, w, h = rects.T
    return np.flatnonzero((x + w >= seen.left()) & (x <= seen.right()) & (y + h >= seen.top()) & (y <= seen.bottom()))
