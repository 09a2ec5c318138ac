"""What lies over the graph: the legend of the heat, the minimap, and words where there is nothing to see."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap, QTransform

from app.theme.look import Look, tint
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.boxes import BoxPainter
from app.views.graph.camera import Camera, GraphMarks
from app.views.graph.places import SMALL, any_box_in
from app.views.parts.primitives import draw_rects

_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_STEP = 13.0  # width of one colour of the legend
_WIDTH, _HEIGHT, _LEAST = 200.0, 220.0, 48.0  # of the minimap


def paint_words(painter: QPainter, look: Look, area: QRectF, text: str) -> None:
    """Words in the middle, where there is no graph."""
    painter.setFont(look.ui_font)
    painter.setPen(QColor(look.theme.muted))
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, text)


def paint_legend(painter: QPainter, look: Look, model: GraphModel, area: QRectF) -> None:
    """What the colours of the heat stand for."""
    theme = look.theme
    font = QFont(look.ui_font)
    font.setPixelSize(11)
    metrics = QFontMetricsF(font)
    painter.setFont(font)
    high = model.amount(model.heat_top) if model.heat_top else ""
    scale = len(theme.heat) * _STEP
    note = f"{'FLOPs' if model.heat == 'flops' else model.heat}: {model.heat_note}"
    first = scale + (metrics.horizontalAdvance(high) + 26 if high else 4) + 16
    wide = metrics.horizontalAdvance(note)
    most = area.width() - 20
    rows = 1 if first + wide + 8 <= most else 2
    width = first + wide + 8 if rows == 1 else min(max(first, wide + 18), most)
    box = QRectF(10, area.bottom() - 20 - 16 * rows, width, 10 + 16 * rows)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.border), 1))
    painter.setBrush(QColor(theme.panel))
    painter.drawRoundedRect(box, 5, 5)
    at, line = box.left() + 8, QRectF(box.left(), box.top() + 5, box.width(), 16)
    painter.setPen(QColor(theme.text))
    if high:
        painter.drawText(QRectF(at, line.top(), 12, line.height()), _LEFT, "0")
        at += 12
    for index, colour in enumerate(theme.heat):
        painter.fillRect(QRectF(at + index * _STEP, line.center().y() - 5, _STEP, 10), QColor(colour))
    at += scale + 6
    painter.drawText(QRectF(at, line.top(), line.right() - at, line.height()), _LEFT, high)
    at = line.right() - wide - 8
    if rows == 2:
        line.translate(0, 16)
        at = line.left() + 8
        note = metrics.elidedText(note, Qt.TextElideMode.ElideRight, line.width() - 14)
    painter.setPen(QColor(theme.muted))
    painter.drawText(QRectF(at, line.top(), line.right() - at, line.height()), _LEFT, note)


class Minimap:
    """The whole graph, small, in a corner of the view, with the part in sight framed."""

    def __init__(self, look: Look, model: GraphModel, boxes: BoxPainter) -> None:
        self._look, self._model, self._boxes = look, model, boxes
        self._map: QPixmap | None = None

    def forget(self) -> None:
        """A new layout, theme or heat: the map is drawn again."""
        self._map = None

    def needed(self, camera: Camera) -> bool:
        """Whether not everything is in sight, and there is room for a map: on a small graph, where it hides no box."""
        layout = self._model.layout
        if layout is None or camera.width < 240 or camera.height < 200:
            return False
        if camera.seen().contains(QRectF(1, 1, layout.width - 2, layout.height - 2)):
            return False
        under = camera.transform().inverted()[0].mapRect(self.rect(camera))
        return len(layout.positions) > SMALL or not any_box_in(self._model, under)

    def rect(self, camera: Camera) -> QRectF:
        """Where it is in the view."""
        layout = self._model.layout
        width, height = min(_WIDTH, camera.width * 0.26), min(_HEIGHT, camera.height * 0.28)
        if layout is not None:  # no larger than the graph's shape fills: it covers a part of the graph
            inner = min((width - 10) / max(layout.width, 1), (height - 10) / max(layout.height, 1))
            width = min(width, max(layout.width * inner + 10, _LEAST))
            height = min(height, max(layout.height * inner + 10, _LEAST))
        foot = 8 if self._model.heat == "none" else 58  # above the legend
        return QRectF(camera.width - width - 8, camera.height - height - foot, width, height)

    def looked_at(self, camera: Camera, point: QPointF) -> Camera:
        """The camera on what lies under a point of the map."""
        return camera.centred(self._transform(self.rect(camera)).inverted()[0].map(point))

    def _transform(self, box: QRectF) -> QTransform:
        """Scene to minimap."""
        layout = self._model.layout
        assert layout is not None
        scale = min((box.width() - 10) / max(layout.width, 1), (box.height() - 10) / max(layout.height, 1))
        x = box.center().x() - layout.width * scale / 2
        y = box.center().y() - layout.height * scale / 2
        return QTransform(scale, 0, 0, scale, x, y)

    def paint(self, painter: QPainter, camera: Camera, marks: GraphMarks) -> None:
        """The map, what is lit in it, and the part in sight."""
        theme, layout, box = self._look.theme, self._model.layout, self.rect(camera)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.strong_border), 1))
        painter.setBrush(tint(theme.panel, 235))
        painter.drawRoundedRect(box, 6, 6)
        if self._map is None or self._map.deviceIndependentSize().toSize() != box.size().toSize():
            self._map = self._drawn(QRectF(0, 0, box.width(), box.height()), painter.device().devicePixelRatioF())
        painter.drawPixmap(box.topLeft(), self._map)
        transform = self._transform(box)
        if marks.lit.any() and layout is not None and len(marks.lit) == len(layout.positions):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent))
            for spot in (layout.positions[marks.lit] + self._model.scene.sizes[marks.lit] / 2)[:400].tolist():
                painter.drawEllipse(transform.map(QPointF(*spot)), 2.2, 2.2)
        painter.setPen(QPen(QColor(theme.accent), 1.2))
        painter.setBrush(tint(theme.accent, 30))
        seen = transform.mapRect(camera.seen()).intersected(box.adjusted(2, 2, -2, -2))
        if seen.height() < 3:  # a very long graph: still something to hold on to
            seen.adjust(0, -1.5, 0, 1.5)
        painter.drawRect(seen)

    def _drawn(self, box: QRectF, ratio: float) -> QPixmap:
        image = QPixmap(int(box.width() * ratio), int(box.height() * ratio))
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        painter.setTransform(self._transform(box), True)
        layout = self._model.layout
        assert layout is not None
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint(self._look.theme.strong_border, 130))
        draw_rects(painter, np.array(list(layout.groups.values()), float).reshape(-1, 4))
        self._boxes.blocks(painter, np.arange(len(layout.positions)))
        painter.end()
        return image
