"""Painting of boxes with three levels of detail: blocks, names, names with types; and of the marks around them."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from app.theme.look import Look, tint
from app.theme.tokens import readable
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.camera import GraphMarks
from app.views.parts.primitives import draw_rects, in_sight
from compiler.printable import printable

MANY = 250  # boxes in sight above which only blocks are drawn
NAMES, TYPES = 0.30, 0.55  # scales from which names and types are drawn
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class BoxPainter:
    """Paints boxes by their numbers."""

    def __init__(self, look: Look, model: GraphModel) -> None:
        self._look, self._model = look, model
        self._rects = np.zeros((0, 4))
        self._words: dict[int, tuple[str, str]] = {}  # of boxes that were in sight: shortening them takes long
        self.prepare()

    def prepare(self) -> None:
        """A new layout or theme."""
        layout = self._model.layout
        self._words = {}
        self._name_font, self._small_font = QFont(self._look.ui_font), QFont(self._look.code_font)
        self._name_font.setPixelSize(12)
        self._name_font.setWeight(QFont.Weight.DemiBold)
        self._small_font.setPixelSize(10)
        self._name_metrics, self._small_metrics = QFontMetricsF(self._name_font), QFontMetricsF(self._small_font)
        if layout is not None:
            self._rects = np.hstack((layout.positions, self._model.scene.sizes))

    def near(self, seen: QRectF) -> np.ndarray:
        """The boxes in sight."""
        return in_sight(self._rects, seen)

    def paint(self, painter: QPainter, boxes: np.ndarray, scale: float) -> None:
        """Each with as much as can be read of it at this scale."""
        for box in boxes.tolist():
            self._box(painter, box, scale)

    def blocks(self, painter: QPainter, boxes: np.ndarray) -> None:
        """Far away: one colour at a time, no text."""
        theme, model = self._look.theme, self._model
        painter.setPen(Qt.PenStyle.NoPen)
        if model.heat != "none":
            keys = (model.heat_values[boxes] * (len(theme.heat) - 1)).astype(int)
            colours = theme.heat
        else:
            keys = (model.scene.numbers[boxes] - 1) % len(theme.series)
            colours = theme.series
        for key in np.flatnonzero(np.bincount(keys, minlength=1)).tolist():
            painter.setBrush(tint(colours[key], 200))
            draw_rects(painter, self._rects[boxes[keys == key]])

    def _rect(self, box: int) -> QRectF:
        """A box in the scene."""
        return QRectF(*self._rects[box].tolist())

    def _box(self, painter: QPainter, box: int, scale: float) -> None:
        theme, model = self._look.theme, self._model
        rect = self._rect(box)
        kind = model.scene.kinds[box]
        source = kind in ("input", "constant")
        fill = theme.raised
        if model.heat != "none" and not source:
            fill = theme.heat[int(float(model.heat_values[box]) * (len(theme.heat) - 1))]
        own = theme.series_colour(int(model.scene.numbers[box]) - 1)
        series = QColor(own)
        radius = 20.0 if source else 5.0
        closed = kind in ("group", "layer", "module")
        if closed:  # there is more behind it
            painter.setPen(QPen(QColor(theme.strong_border), 1))
            painter.setBrush(QColor(theme.panel))
            for away in (7.0, 3.5) if kind != "group" else (3.5,):
                painter.drawRoundedRect(rect.translated(away, away), radius, radius)
        painter.setPen(QPen(QColor(theme.strong_border if not source else theme.border), 1))
        painter.setBrush(QColor(fill))
        painter.drawRoundedRect(rect, radius, radius)
        if not source:
            painter.fillRect(QRectF(rect.left() + 1, rect.top() + 4, 3, rect.height() - 8), series)
        if scale < NAMES:
            return
        inks = theme.text, theme.muted, own
        text, muted, number = map(QColor, readable(fill, *inks) if fill != theme.raised else inks)
        self._labels_of(painter, box, rect, text, muted, number, scale)

    def _labels_of(
        self, painter: QPainter, box: int, rect: QRectF, text: QColor, muted: QColor, counted: QColor, scale: float
    ) -> None:
        model = self._model
        left = 12 if model.scene.kinds[box] not in ("input", "constant") else 14
        painter.setFont(self._name_font)
        painter.setPen(text)
        two = scale >= TYPES
        line = QRectF(
            rect.left() + left,
            rect.top() + 4,
            rect.width() - left - 8,
            rect.height() / 2 - 3 if two else rect.height() - 8,
        )
        number = str(int(model.scene.numbers[box]))
        label, detail = self._words_of(box, line.width(), len(number))
        painter.drawText(line, _LEFT, label)
        painter.setFont(self._small_font)
        painter.setPen(counted)
        painter.drawText(line, _RIGHT, number)
        if two:
            painter.setPen(muted)
            below = QRectF(line.left(), line.bottom() - 1, line.width(), rect.height() / 2 - 3)
            painter.drawText(below, _LEFT, detail)

    def _words_of(self, box: int, width: float, digits: int) -> tuple[str, str]:
        """The name and the type of a box, shortened to its width; beside the name stands a number of so many digits."""
        if box not in self._words:
            scene, modes = self._model.scene, Qt.TextElideMode
            room = width - digits * 7 - 6
            name = self._name_metrics.elidedText(printable(scene.labels[box]), modes.ElideMiddle, room)
            self._words[box] = name, self._small_metrics.elidedText(scene.details[box], modes.ElideRight, width)
        return self._words[box]

    def paint_marks(self, painter: QPainter, boxes: np.ndarray, marks: GraphMarks, scale: float) -> None:
        """Frames around what is selected, hovered, found or current."""
        theme, model = self._look.theme, self._model
        width = max(2.2, 2.0 / scale)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for mask, colour, grow in ((marks.hovered, theme.muted, 1.0), (marks.lit, theme.accent, 1.5)):
            if len(mask) != len(model.scene.labels):
                continue
            painter.setPen(QPen(QColor(colour), width if mask is marks.lit else width * 0.7))
            marked = boxes[mask[boxes]]
            if len(marked) > MANY:
                draw_rects(painter, self._rects[marked])
                continue
            for box in marked.tolist():
                radius = 20 if model.scene.kinds[box] in ("input", "constant") else 6
                painter.drawRoundedRect(self._rect(box).adjusted(-grow, -grow, grow, grow), radius, radius)
        painter.setPen(QPen(QColor(theme.warning), width, Qt.PenStyle.DashLine))
        found = np.array([box for box in sorted(marks.found) if box < len(model.scene.labels)], np.int64)
        if len(found) > MANY:
            draw_rects(painter, self._rects[found])
        else:
            for box in found.tolist():
                painter.drawRoundedRect(self._rect(box).adjusted(-4, -4, 4, 4), 8, 8)
        if marks.focused and 0 <= marks.current < len(model.scene.labels):
            painter.setPen(QPen(QColor(theme.text), 1.2 / min(scale, 1.0), Qt.PenStyle.DotLine))
            painter.drawRoundedRect(self._rect(marks.current).adjusted(-5, -5, 5, 5), 9, 9)
