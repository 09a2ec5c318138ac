"""What lies over the graph: the legend of the heat, the minimap, and words where there is nothing to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap, QTransform

from app.theme.look import tint
from app.views.parts.primitives import draw_rects

if TYPE_CHECKING:
    from app.views.graph.painter import GraphPainter
    from app.views.graph.view import GraphView

_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_STEP = 13.0  # width of one colour of the legend


class GraphOverlay:
    """Painted in the view's own coordinates."""

    def __init__(self, view: GraphView, painter: GraphPainter) -> None:
        self._view, self._painter = view, painter
        self._map: QPixmap | None = None

    def forget(self) -> None:
        """A new layout, theme or heat: the map is drawn again."""
        self._map = None

    def paint(self, painter: QPainter, area: QRectF) -> None:
        """The legend and the map, where they are wanted."""
        if self._view.model.heat != "none":
            self._legend(painter, area)
        if self._view.map_shown:
            self._minimap(painter, self._view.map_rect())

    def empty(self, painter: QPainter, area: QRectF, text: str) -> None:
        """Words in the middle."""
        painter.setFont(self._view.look.ui_font)
        painter.setPen(QColor(self._view.look.theme.muted))
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, text)

    def _legend(self, painter: QPainter, area: QRectF) -> None:
        view, theme, model = self._view, self._view.look.theme, self._view.model
        font = QFont(view.look.ui_font)
        font.setPixelSize(11)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        high = model.amount(model.heat_top) if model.heat_top else ""
        scale = len(theme.heat) * _STEP
        note = f"{model.heat_title}: {model.heat_note}"
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

    def map_transform(self, box: QRectF) -> QTransform:
        """Scene to minimap."""
        layout = self._view.model.layout
        assert layout is not None
        scale = min((box.width() - 10) / max(layout.width, 1), (box.height() - 10) / max(layout.height, 1))
        x = box.center().x() - layout.width * scale / 2
        y = box.center().y() - layout.height * scale / 2
        return QTransform(scale, 0, 0, scale, x, y)

    def _minimap(self, painter: QPainter, box: QRectF) -> None:
        view, theme = self._view, self._view.look.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.strong_border), 1))
        painter.setBrush(tint(theme.panel, 235))
        painter.drawRoundedRect(box, 6, 6)
        if self._map is None or self._map.deviceIndependentSize().toSize() != box.size().toSize():
            self._map = self._draw_map(QRectF(0, 0, box.width(), box.height()))
        painter.drawPixmap(box.topLeft(), self._map)
        transform = self.map_transform(box)
        layout = view.model.layout
        if view.lit.any() and layout is not None and len(view.lit) == len(layout.positions):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent))
            for spot in (layout.positions[view.lit] + view.model.sizes[view.lit] / 2)[:400].tolist():
                painter.drawEllipse(transform.map(QPointF(*spot)), 2.2, 2.2)
        painter.setPen(QPen(QColor(theme.accent), 1.2))
        painter.setBrush(tint(theme.accent, 30))
        seen = transform.mapRect(view.scene_rect()).intersected(box.adjusted(2, 2, -2, -2))
        if seen.height() < 3:  # a very long graph: still something to hold on to
            seen.adjust(0, -1.5, 0, 1.5)
        painter.drawRect(seen)

    def _draw_map(self, box: QRectF) -> QPixmap:
        ratio = self._view.devicePixelRatioF()
        image = QPixmap(int(box.width() * ratio), int(box.height() * ratio))
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        painter.setTransform(self.map_transform(box), True)
        layout = self._view.model.layout
        assert layout is not None
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint(self._view.look.theme.strong_border, 130))
        draw_rects(painter, np.array(list(layout.groups.values()), float).reshape(-1, 4))
        self._painter.blocks(painter, np.arange(len(layout.positions)))
        painter.end()
        return image
