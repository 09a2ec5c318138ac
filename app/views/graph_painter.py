"""Painting of the graph with three levels of detail: blocks, names, names with types; and its minimap."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPixmap, QTransform

from app.theme.look import tint

if TYPE_CHECKING:
    from app.views.graph_view import GraphView

_MANY = 350  # boxes in sight above which only blocks are drawn
_NAMES, _TYPES, _CURVES = 0.30, 0.55, 0.25  # scales from which names, types and curved edges are drawn


class GraphPainter:
    """Holds what can be computed once per layout, and paints what is in sight."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._lines: list[QLineF] = []
        self._edge_low = self._edge_high = np.zeros((0, 2))
        self._paths: dict[int, QPainterPath] = {}
        self._map: QPixmap | None = None
        self._rects: list[QRectF] = []
        self._group_ids: list[int] = []
        self._group_boxes = np.zeros((0, 4))
        self.prepare()

    def prepare(self) -> None:
        """A new layout or theme: recompute what painting uses."""
        layout = self._view.model.layout
        self._paths, self._map = {}, None
        self._name_font, self._small_font = QFont(self._view.look.ui_font), QFont(self._view.look.code_font)
        self._name_font.setPixelSize(12)
        self._name_font.setWeight(QFont.Weight.DemiBold)
        self._small_font.setPixelSize(10)
        self._name_metrics, self._small_metrics = QFontMetricsF(self._name_font), QFontMetricsF(self._small_font)
        if layout is not None:
            rows = np.hstack((layout.positions, self._view.model.sizes)).tolist()
            self._rects = [QRectF(a, b, c, d) for a, b, c, d in rows]
            self._group_ids = list(layout.groups)
            self._group_boxes = np.array(list(layout.groups.values()), float).reshape(-1, 4)
        if layout is None or not len(layout.edge_starts) or len(layout.edge_starts) < 2:
            self._lines = []
            self._edge_low = self._edge_high = np.zeros((0, 2))
            return
        starts = layout.edge_starts[:-1]
        self._edge_low = np.minimum.reduceat(layout.points, starts)
        self._edge_high = np.maximum.reduceat(layout.points, starts)
        first, last = layout.points[starts], layout.points[layout.edge_starts[1:] - 1]
        self._lines = [QLineF(a, b, c, d) for a, b, c, d in np.hstack((first, last)).tolist()]

    def paint(self, painter: QPainter, area: QRectF) -> None:
        """The part in sight, then the minimap."""
        view, theme = self._view, self._view.look.theme
        painter.fillRect(area, QColor(theme.window))
        if view.model.layout is None:
            if view.model.compilation is not None:
                painter.setPen(QColor(theme.muted))
                painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "Laying out the graph")
            return
        if not view.model.labels:
            painter.setPen(QColor(theme.muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "This graph has no nodes")
            return
        painter.save()
        painter.setTransform(view.transform(), True)
        self._scene(painter, view.scene_rect(), view.scale)
        painter.restore()
        if view.model.heat != "none":
            self._legend(painter, area)
        if view.map_shown:
            self._minimap(painter, view._map_rect())

    def paint_scene(self, painter: QPainter, area: QRectF) -> None:
        """Everything at full detail, for export."""
        painter.fillRect(area, QColor(self._view.look.theme.window))
        self._scene(painter, area, 1.0)

    def _scene(self, painter: QPainter, seen: QRectF, scale: float) -> None:
        layout, model = self._view.model.layout, self._view.model
        assert layout is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, scale > 0.15)
        self._groups(painter, seen, scale)
        self._edges(painter, seen, scale)
        low, high = layout.positions, layout.positions + model.sizes
        inside = (
            (high[:, 0] >= seen.left())
            & (low[:, 0] <= seen.right())
            & (high[:, 1] >= seen.top())
            & (low[:, 1] <= seen.bottom())
        )
        boxes = np.flatnonzero(inside)
        if (scale < _NAMES and len(boxes) > 150) or len(boxes) > _MANY:
            self._blocks(painter, boxes)
        else:
            for box in boxes.tolist():
                self._box(painter, box, scale)
        self._marks(painter, boxes, scale)

    def _groups(self, painter: QPainter, seen: QRectF, scale: float) -> None:
        view, theme = self._view, self._view.look.theme
        font = QFont(view.look.ui_font)
        font.setPixelSize(11)
        font.setBold(True)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        x, y, w, h = self._group_boxes.T
        near = np.flatnonzero(
            (x + w >= seen.left()) & (x <= seen.right()) & (y + h >= seen.top()) & (y <= seen.bottom())
        )
        rects = [(self._group_ids[i], QRectF(*self._group_boxes[i].tolist())) for i in near.tolist()]
        painter.setPen(QPen(QColor(theme.strong_border), 1 if scale > 0.15 else 0))
        painter.setBrush(QColor(theme.panel))
        if len(rects) > _MANY:
            painter.drawRects([rect for _, rect in rects])
            return
        for group, rect in rects:
            painter.setPen(QPen(QColor(theme.strong_border), 1))
            painter.setBrush(QColor(theme.panel))
            painter.drawRoundedRect(rect, 7, 7)
            if scale >= _NAMES:
                painter.setPen(QColor(theme.muted))
                title = metrics.elidedText(
                    view.model.group_title(group), Qt.TextElideMode.ElideRight, rect.width() - 20
                )
                painter.drawText(
                    rect.adjusted(12, 4, -8, 0), Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, title
                )

    def _edges(self, painter: QPainter, seen: QRectF, scale: float) -> None:
        view, theme = self._view, self._view.look.theme
        if not self._lines:
            return
        low, high = self._edge_low, self._edge_high
        near = (
            (high[:, 0] >= seen.left() - 2)
            & (low[:, 0] <= seen.right() + 2)
            & (high[:, 1] >= seen.top())
            & (low[:, 1] <= seen.bottom())
        )
        shown = np.flatnonzero(near)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = QPen(tint(theme.faint, 170 if scale > 0.15 else 110), 1.1 if scale > _CURVES else 0)
        painter.setPen(pen)
        if scale < _CURVES or len(shown) > 2 * _MANY:
            painter.drawLines([self._lines[edge] for edge in shown.tolist()])
        else:
            for edge in shown.tolist():
                painter.drawPath(self._path(edge))
        if view.lit.any() and len(view.lit) == len(view.model.labels):
            painter.setPen(QPen(QColor(theme.accent), 1.8 if scale > _CURVES else 0))
            for edge in shown.tolist():
                a, b = view.model.edges[edge]
                if view.lit[a] or view.lit[b]:
                    painter.drawPath(self._path(edge))

    def _path(self, edge: int) -> QPainterPath:
        """A smooth vertical curve through the edge's points, with a small arrow head."""
        path = self._paths.get(edge)
        if path is None:
            layout = self._view.model.layout
            assert layout is not None
            points = layout.points[layout.edge_starts[edge] : layout.edge_starts[edge + 1]].tolist()
            path = QPainterPath(QPointF(*points[0]))
            for (ax, ay), (bx, by) in itertools.pairwise(points):
                if abs(ax - bx) < 0.5:
                    path.lineTo(bx, by)
                else:
                    bend = (by - ay) / 2
                    path.cubicTo(ax, ay + bend, bx, by - bend, bx, by)
            x, y = points[-1]
            path.moveTo(x - 3, y - 5)
            path.lineTo(x, y)
            path.lineTo(x + 3, y - 5)
            if len(self._paths) < 20_000:
                self._paths[edge] = path
        return path

    def _blocks(self, painter: QPainter, boxes: np.ndarray) -> None:
        """Far away: one colour at a time, no text."""
        theme, model = self._view.look.theme, self._view.model
        painter.setPen(Qt.PenStyle.NoPen)
        if model.heat != "none":
            keys = (model.heat_values[boxes] * (len(theme.heat) - 1)).astype(int)
            colours = theme.heat
        else:
            keys = (model.numbers[boxes] - 1) % len(theme.series)
            colours = theme.series
        for key in np.unique(keys).tolist():
            painter.setBrush(tint(colours[key], 200))
            painter.drawRects([self._rects[box] for box in boxes[keys == key].tolist()])

    def _box(self, painter: QPainter, box: int, scale: float) -> None:
        theme, model = self._view.look.theme, self._view.model
        rect = self._rects[box]
        kind = model.kinds[box]
        fill = QColor(theme.raised)
        if model.heat != "none" and kind != "input":
            fill = QColor(theme.heat[int(float(model.heat_values[box]) * (len(theme.heat) - 1))])
        series = QColor(theme.series_colour(int(model.numbers[box]) - 1))
        radius = 20.0 if kind == "input" else 5.0
        painter.setPen(QPen(QColor(theme.strong_border if kind != "input" else theme.border), 1))
        painter.setBrush(fill)
        painter.drawRoundedRect(rect, radius, radius)
        if kind != "input":
            stripe = QPainterPath()
            stripe.addRoundedRect(rect, radius, radius)
            painter.save()
            painter.setClipPath(stripe, Qt.ClipOperation.IntersectClip)
            painter.fillRect(QRectF(rect.left(), rect.top(), 4, rect.height()), series)
            painter.restore()
        if scale < _NAMES:
            return
        hot = model.heat != "none" and kind != "input" and float(model.heat_values[box]) > 0.55
        text = QColor("#14181e" if hot else theme.text)
        self._labels_of(painter, box, rect, text, QColor(text if hot else theme.muted), series, scale)

    def _labels_of(
        self, painter: QPainter, box: int, rect: QRectF, text: QColor, muted: QColor, series: QColor, scale: float
    ) -> None:
        model = self._view.model
        left = 12 if model.kinds[box] != "input" else 14
        painter.setFont(self._name_font)
        painter.setPen(text)
        two = scale >= _TYPES
        line = QRectF(
            rect.left() + left,
            rect.top() + 4,
            rect.width() - left - 8,
            rect.height() / 2 - 3 if two else rect.height() - 8,
        )
        number = str(int(model.numbers[box]))
        room = line.width() - len(number) * 7 - 6
        label = self._name_metrics.elidedText(model.labels[box], Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, label)
        painter.setFont(self._small_font)
        painter.setPen(series if muted != text else muted)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, number)
        if two:
            painter.setPen(muted)
            below = QRectF(line.left(), line.bottom() - 1, line.width(), rect.height() / 2 - 3)
            detail = self._small_metrics.elidedText(model.details[box], Qt.TextElideMode.ElideRight, below.width())
            painter.drawText(below, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, detail)

    def _marks(self, painter: QPainter, boxes: np.ndarray, scale: float) -> None:
        """Frames around what is selected, hovered or found."""
        view, theme = self._view, self._view.look.theme
        layout, model = view.model.layout, view.model
        assert layout is not None
        width = max(2.2, 2.0 / scale)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for mask, colour, grow in ((view.hovered, theme.muted, 1.0), (view.lit, theme.accent, 1.5)):
            if len(mask) != len(model.labels):
                continue
            painter.setPen(QPen(QColor(colour), width if mask is view.lit else width * 0.7))
            for box in boxes[mask[boxes]].tolist():
                rect = QRectF(*layout.positions[box].tolist(), *model.sizes[box].tolist()).adjusted(
                    -grow, -grow, grow, grow
                )
                radius = 20 if model.kinds[box] == "input" else 6
                painter.drawRoundedRect(rect, radius, radius)
        painter.setPen(QPen(QColor(theme.warning), width, Qt.PenStyle.DashLine))
        for box in view.found:
            if box < len(model.labels):
                painter.drawRoundedRect(
                    QRectF(*layout.positions[box].tolist(), *model.sizes[box].tolist()).adjusted(-4, -4, 4, 4), 8, 8
                )

    def _legend(self, painter: QPainter, area: QRectF) -> None:
        view, theme = self._view, self._view.look.theme
        font = QFont(view.look.ui_font)
        font.setPixelSize(11)
        painter.setFont(font)
        note = f"{view.model.heat}: {view.model.heat_note}"
        width = QFontMetricsF(font).horizontalAdvance(note)
        box = QRectF(10, area.bottom() - 34, min(width + 24 + 6 * 14, area.width() - 20), 24)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.setBrush(QColor(theme.panel))
        painter.drawRoundedRect(box, 5, 5)
        for index, colour in enumerate(theme.heat):
            painter.fillRect(QRectF(box.left() + 8 + index * 13, box.top() + 7, 13, 10), QColor(colour))
        painter.setPen(QColor(theme.muted))
        painter.drawText(box.adjusted(16 + 6 * 13, 0, -6, 0), Qt.AlignmentFlag.AlignVCenter, note)

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
        painter.drawRect(transform.mapRect(view.scene_rect()).intersected(box.adjusted(2, 2, -2, -2)))

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
        painter.drawRects([QRectF(*group) for group in layout.groups.values()])
        self._blocks(painter, np.arange(len(layout.positions)))
        painter.end()
        return image
