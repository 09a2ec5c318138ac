"""Painting of the graph with three levels of detail: blocks, names, names with types."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from app.theme.look import tint
from app.views.graph.frames import FramePainter
from app.views.graph.overlay import GraphOverlay
from app.views.parts.primitives import draw_lines, draw_rects

if TYPE_CHECKING:
    from app.views.graph.view import GraphView

_PIECES = 6000  # pieces of edges that are drawn from bend to bend
MANY = 350  # boxes in sight above which only blocks are drawn
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
NAMES, TYPES, CURVES = 0.30, 0.55, 0.25  # scales from which names, types and curved edges are drawn


class GraphPainter:
    """Holds what can be computed once per layout, and paints what is in sight."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._lines = self._pieces = np.zeros((0, 4))  # from end to end, and from bend to bend
        self._edge_low = self._edge_high = np.zeros((0, 2))
        self._paths: dict[int, QPainterPath] = {}
        self._rects = np.zeros((0, 4))
        self.frames = FramePainter(view)
        self.overlay = GraphOverlay(view, self)
        self.prepare()

    def prepare(self) -> None:
        """A new layout or theme: recompute what painting uses."""
        layout = self._view.model.layout
        self._paths = {}
        self.overlay.forget()
        self.frames.prepare()
        self._name_font, self._small_font = QFont(self._view.look.ui_font), QFont(self._view.look.code_font)
        self._name_font.setPixelSize(12)
        self._name_font.setWeight(QFont.Weight.DemiBold)
        self._small_font.setPixelSize(10)
        self._name_metrics, self._small_metrics = QFontMetricsF(self._name_font), QFontMetricsF(self._small_font)
        if layout is not None:
            self._rects = np.hstack((layout.positions, self._view.model.sizes))
        if layout is None or len(layout.edge_starts) < 2:
            self._lines = self._pieces = np.zeros((0, 4))
            self._edge_low = self._edge_high = np.zeros((0, 2))
            return
        starts = layout.edge_starts[:-1]
        self._edge_low = np.minimum.reduceat(layout.points, starts)
        self._edge_high = np.maximum.reduceat(layout.points, starts)
        self._lines = np.hstack((layout.points[starts], layout.points[layout.edge_starts[1:] - 1]))
        within = np.ones(len(layout.points), bool)
        within[layout.edge_starts[1:] - 1] = False
        first = np.flatnonzero(within)
        self._pieces = np.hstack((layout.points[first], layout.points[first + 1]))

    def paint(self, painter: QPainter, area: QRectF) -> None:
        """The part in sight, then the legend and the minimap."""
        view, theme = self._view, self._view.look.theme
        painter.fillRect(area, QColor(theme.window))
        if view.model.layout is None:
            waiting = view.model.compilation is not None
            text = (
                "Laying out the graph\u2026" if waiting else "Open a sample or a file (Ctrl+O)\nto see its graph here."
            )
            self.overlay.empty(painter, area, text)
            return
        if not view.model.labels:
            self.overlay.empty(painter, area, "This graph has no nodes")
            return
        painter.save()
        painter.setTransform(view.transform(), True)
        self._scene(painter, view.scene_rect(), view.scale)
        painter.restore()
        self.overlay.paint(painter, area)

    def paint_scene(self, painter: QPainter, area: QRectF) -> None:
        """Everything at full detail, for export."""
        painter.fillRect(area, QColor(self._view.look.theme.window))
        self._scene(painter, area, 1.0, whole=True)

    def _scene(self, painter: QPainter, seen: QRectF, scale: float, whole: bool = False) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, scale > 0.15)
        self.frames.paint(painter, seen, scale, whole)
        self._edges(painter, seen, scale, whole)
        if scale >= NAMES:
            self.frames.paint_titles(painter, seen, scale, whole)
        x, y, w, h = self._rects.T
        boxes = np.flatnonzero(
            (x + w >= seen.left()) & (x <= seen.right()) & (y + h >= seen.top()) & (y <= seen.bottom())
        )
        if not whole and (scale < NAMES or len(boxes) > MANY):
            self.blocks(painter, boxes)
        else:
            for box in boxes.tolist():
                self._box(painter, box, scale)
        if scale < NAMES:  # over the boxes, which have no names of their own
            self.frames.paint_titles(painter, seen, scale, whole)
        if not whole:
            self._marks(painter, boxes, scale)

    def _edges(self, painter: QPainter, seen: QRectF, scale: float, whole: bool) -> None:
        view, theme = self._view, self._view.look.theme
        low, high = self._edge_low, self._edge_high
        shown = np.flatnonzero(
            (high[:, 0] >= seen.left() - 2)
            & (low[:, 0] <= seen.right() + 2)
            & (high[:, 1] >= seen.top())
            & (low[:, 1] <= seen.bottom())
        )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # Far away lines lie on lines: fainter, so that what they join can still be seen.
        alpha = 190 if scale > CURVES else int(50 + 60 * max(scale, 0.0) / CURVES)
        painter.setPen(QPen(tint(theme.faint, alpha), 1.1 if scale > CURVES else 0))
        if not whole and (scale < CURVES or len(shown) > 2 * MANY):
            draw_lines(painter, self._far_lines(shown, seen))
        else:
            for edge in shown.tolist():
                painter.drawPath(self.path(edge))
        if whole or len(view.lit) != len(view.model.labels):
            return
        if view.lit.any():
            ends = np.array(view.model.edges, np.int64)[shown]
            near = shown[view.lit[ends].any(axis=1)]
            painter.setPen(QPen(QColor(theme.accent), 1.8 if scale > CURVES else 0))
            if len(near) > MANY:
                draw_lines(painter, self._lines[near])
            else:
                for edge in near.tolist():
                    painter.drawPath(self.path(edge))
        if 0 <= view.current_edge < len(view.model.edges):
            painter.setPen(QPen(QColor(theme.warning), 2.6 / max(scale, 0.5)))
            painter.drawPath(self.path(view.current_edge))

    def _far_lines(self, edges: np.ndarray, seen: QRectF) -> np.ndarray:
        """Edges without their curves: from bend to bend while there are few in sight, else straight."""
        x1, y1, x2, y2 = self._pieces.T
        near = (np.maximum(x1, x2) >= seen.left()) & (np.minimum(x1, x2) <= seen.right())
        near &= (np.maximum(y1, y2) >= seen.top()) & (np.minimum(y1, y2) <= seen.bottom())
        return self._pieces[near] if np.count_nonzero(near) <= _PIECES else self._lines[edges]

    def path(self, edge: int) -> QPainterPath:
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

    def blocks(self, painter: QPainter, boxes: np.ndarray) -> None:
        """Far away: one colour at a time, no text."""
        theme, model = self._view.look.theme, self._view.model
        painter.setPen(Qt.PenStyle.NoPen)
        if model.heat != "none":
            keys = (model.heat_values[boxes] * (len(theme.heat) - 1)).astype(int)
            colours = theme.heat
        else:
            keys = (model.numbers[boxes] - 1) % len(theme.series)
            colours = theme.series
        for key in np.flatnonzero(np.bincount(keys, minlength=1)).tolist():
            painter.setBrush(tint(colours[key], 200))
            draw_rects(painter, self._rects[boxes[keys == key]])

    def rect(self, box: int) -> QRectF:
        """A box in the scene."""
        return QRectF(*self._rects[box].tolist())

    def _box(self, painter: QPainter, box: int, scale: float) -> None:
        theme, model = self._view.look.theme, self._view.model
        rect = self.rect(box)
        kind = model.kinds[box]
        source = kind in ("input", "constant")
        fill = QColor(theme.raised)
        if model.heat != "none" and not source:
            fill = QColor(theme.heat[int(float(model.heat_values[box]) * (len(theme.heat) - 1))])
        series = QColor(theme.series_colour(int(model.numbers[box]) - 1))
        radius = 20.0 if source else 5.0
        closed = kind in ("group", "layer")
        if closed:  # there is more behind it
            painter.setPen(QPen(QColor(theme.strong_border), 1))
            painter.setBrush(QColor(theme.panel))
            for away in (7.0, 3.5) if kind == "layer" else (3.5,):
                painter.drawRoundedRect(rect.translated(away, away), radius, radius)
        painter.setPen(QPen(QColor(theme.strong_border if not source else theme.border), 1))
        painter.setBrush(fill)
        painter.drawRoundedRect(rect, radius, radius)
        if not source:
            painter.fillRect(QRectF(rect.left() + 1, rect.top() + 4, 3, rect.height() - 8), series)
        if scale < NAMES:
            return
        hot = model.heat != "none" and not source and float(model.heat_values[box]) > 0.55
        text = QColor("#14181e" if hot else theme.text)
        self._labels_of(painter, box, rect, text, QColor(text if hot else theme.muted), series, scale)

    def _labels_of(
        self, painter: QPainter, box: int, rect: QRectF, text: QColor, muted: QColor, series: QColor, scale: float
    ) -> None:
        model = self._view.model
        left = 12 if model.kinds[box] not in ("input", "constant") else 14
        painter.setFont(self._name_font)
        painter.setPen(text)
        two = scale >= TYPES
        line = QRectF(
            rect.left() + left,
            rect.top() + 4,
            rect.width() - left - 8,
            rect.height() / 2 - 3 if two else rect.height() - 8,
        )
        number = str(int(model.numbers[box]))
        room = line.width() - len(number) * 7 - 6
        label = self._name_metrics.elidedText(model.labels[box], Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(line, _LEFT, label)
        painter.setFont(self._small_font)
        painter.setPen(series if muted != text else muted)
        painter.drawText(line, _RIGHT, number)
        if two:
            painter.setPen(muted)
            below = QRectF(line.left(), line.bottom() - 1, line.width(), rect.height() / 2 - 3)
            detail = self._small_metrics.elidedText(model.details[box], Qt.TextElideMode.ElideRight, below.width())
            painter.drawText(below, _LEFT, detail)

    def _marks(self, painter: QPainter, boxes: np.ndarray, scale: float) -> None:
        """Frames around what is selected, hovered, found or current."""
        view, theme, model = self._view, self._view.look.theme, self._view.model
        width = max(2.2, 2.0 / scale)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for mask, colour, grow in ((view.hovered, theme.muted, 1.0), (view.lit, theme.accent, 1.5)):
            if len(mask) != len(model.labels):
                continue
            painter.setPen(QPen(QColor(colour), width if mask is view.lit else width * 0.7))
            marked = boxes[mask[boxes]]
            if len(marked) > MANY:
                draw_rects(painter, self._rects[marked])
                continue
            for box in marked.tolist():
                radius = 20 if model.kinds[box] in ("input", "constant") else 6
                painter.drawRoundedRect(self.rect(box).adjusted(-grow, -grow, grow, grow), radius, radius)
        painter.setPen(QPen(QColor(theme.warning), width, Qt.PenStyle.DashLine))
        found = np.array([box for box in sorted(view.found) if box < len(model.labels)], np.int64)
        if len(found) > MANY:
            draw_rects(painter, self._rects[found])
        else:
            for box in found.tolist():
                painter.drawRoundedRect(self.rect(box).adjusted(-4, -4, 4, 4), 8, 8)
        if view.hasFocus() and 0 <= view.current < len(model.labels):
            painter.setPen(QPen(QColor(theme.text), 1.2 / min(scale, 1.0), Qt.PenStyle.DotLine))
            painter.drawRoundedRect(self.rect(view.current).adjusted(-5, -5, 5, 5), 9, 9)
