"""Painting of the frames around boxes: kernels, the layers or modules around kernels; and where their buttons are."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from app.theme.look import Look, tint
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.parts.primitives import draw_rects, in_sight
from compiler.printable import printable

_MANY, _NAMES = 350, 0.30
_TITLE, _CHIP_HIGH = 24.0, 16.0
_LINE = 15.0  # pixels a line of text takes
_LEAST = 60.0  # what is left of a frame's name at its end


class FramePainter:
    """Paints the frames in sight, those outside first."""

    def __init__(self, look: Look, model: GraphModel) -> None:
        self._look, self._model = look, model
        self._ids: list[int] = []
        self._around: set[int] = set()  # those with modules in them
        self._boxes = np.zeros((0, 4))
        self._layers = np.zeros(0, bool)  # which of them are layers or modules: all but kernels
        self.prepare()

    def prepare(self) -> None:
        """A new layout or theme."""
        layout = self._model.layout
        groups = layout.groups if layout is not None else {}
        self._ids = sorted(groups)  # a frame is made before those in it
        frames = self._model.scene.frames
        self._around = {frames[group].parent for group in groups if frames[group].key.kind == "module"}
        self._boxes = np.array([groups[group] for group in self._ids], float).reshape(-1, 4)
        self._layers = np.array([frames[group].key.kind != "call" for group in self._ids], bool)
        self._font = QFont(self._look.ui_font)
        self._font.setPixelSize(11)
        self._font.setBold(True)
        self._metrics = QFontMetricsF(self._font)

    def paint(self, painter: QPainter, seen: QRectF, scale: float, whole: bool) -> None:
        """The frames in sight."""
        theme, model = self._look.theme, self._model
        near = in_sight(self._boxes, seen)
        if len(near) > _MANY and not whole:
            layers = self._layers[near]
            for index in near[layers][:_MANY].tolist():
                self._layer(painter, self._ids[index], QRectF(*self._boxes[index].tolist()), scale)
            painter.setPen(QPen(QColor(theme.strong_border), 1 if scale > 0.15 else 0))
            painter.setBrush(QColor(theme.panel))
            draw_rects(painter, self._boxes[near[~layers]])
            return
        for index in near.tolist():
            frame, rect = self._ids[index], QRectF(*self._boxes[index].tolist())
            if model.scene.frames[frame].key.kind != "call":
                self._layer(painter, frame, rect, scale)
            else:
                painter.setPen(QPen(QColor(theme.strong_border), 1))
                painter.setBrush(QColor(theme.panel))
                painter.drawRoundedRect(rect, 7, 7)
        if scale > 0.2:
            self._loops(painter)

    def paint_titles(self, painter: QPainter, seen: QRectF, scale: float, whole: bool) -> None:
        """Over the edges, so that they stay readable."""
        near = in_sight(self._boxes, seen)
        if len(near) > _MANY and not whole:
            near = near[self._layers[near]][:_MANY]
        for index in near.tolist():
            self._title(painter, self._ids[index], QRectF(*self._boxes[index].tolist()), scale, seen)

    def _layer(self, painter: QPainter, frame: int, rect: QRectF, scale: float) -> None:
        """A layer; one that stands for several copies lies on others."""
        theme, model = self._look.theme, self._model
        painter.setPen(QPen(QColor(theme.strong_border), 1 if scale > 0.15 else 0))
        painter.setBrush(QColor(theme.window))
        for away in (10.0, 5.0) if model.scene.frames[frame].copies > 1 else ():
            painter.drawRoundedRect(rect.translated(away, away), 10, 10)
        painter.setPen(QPen(tint(theme.accent, 150), 1.4 if scale > 0.15 else 0))
        painter.setBrush(QColor(theme.window))
        painter.drawRoundedRect(rect, 10, 10)
        painter.setBrush(tint(theme.accent, 14))
        painter.drawRoundedRect(rect, 10, 10)

    def _title(self, painter: QPainter, frame: int, rect: QRectF, scale: float, seen: QRectF) -> None:
        theme, model = self._look.theme, self._model
        if scale < _NAMES:
            self._far_title(painter, frame, rect, scale, seen)
            return
        kind = model.scene.frames[frame].key.kind
        layer = kind != "call"
        painter.setFont(self._font)
        right = rect.right() - 10
        if kind == "layer":
            chip = self.chip(frame, rect)
            painter.setPen(QPen(tint(theme.accent, 160), 1))
            painter.setBrush(tint(theme.accent, 40))
            painter.drawRoundedRect(chip, 8, 8)
            painter.setPen(QColor(theme.text))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, self._chip_text(frame))
            right = chip.left() - 8
        cost = model.frame_cost(frame)
        left = rect.left() + 26
        if left < seen.left():  # its name stays in sight while enough of its frame is
            left = max(left, min(seen.left() + 8 / scale, right - _LEAST))
        wide = self._metrics.horizontalAdvance(cost) if cost else 0.0
        if cost and right - left > wide + 60:
            painter.setPen(QColor(theme.text))
            box = QRectF(right - wide - 2, rect.top() + 4, wide + 2, _TITLE - 6)
            painter.fillRect(box.adjusted(-2, 1, 1, -1), tint(theme.window if layer else theme.panel, 210))
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, cost)
            right -= wide + 10
        painter.setPen(QColor(theme.text if layer else theme.muted))
        title = self._metrics.elidedText(
            printable(model.scene.frames[frame].title), Qt.TextElideMode.ElideRight, right - left
        )
        box = QRectF(left, rect.top() + 4, right - left, _TITLE - 6)
        ground = QRectF(left - 2, rect.top() + 5, self._metrics.horizontalAdvance(title) + 5, _TITLE - 8)
        painter.fillRect(ground, tint(theme.window if layer else theme.panel, 210))
        if layer:
            painter.fillRect(ground, tint(theme.accent, 14))
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, title)
        middle = self.chevron(rect).center()
        painter.setPen(QPen(QColor(theme.muted), 1.6))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([middle + QPointF(-4, -2), middle + QPointF(0, 2.5), middle + QPointF(4, -2)]))

    def _far_title(self, painter: QPainter, frame: int, rect: QRectF, scale: float, seen: QRectF) -> None:
        """Far away the boxes have no names; the frames keep theirs, as large as at any distance."""
        layer = self._model.scene.frames[frame].key.kind == "layer"
        if not layer and (rect.height() * scale < 26 or rect.width() * scale < 70):
            return
        if frame in self._around:  # what is in it has names where this one's would be
            return
        if layer and not self._its_turn(frame, rect.height() * scale):
            return
        font = QFont(self._font)
        font.setPixelSize(max(round(11 / scale), 1))
        painter.setFont(font)
        painter.setPen(QColor(self._look.theme.text))
        title, metrics = printable(self._model.scene.frames[frame].title), QFontMetricsF(font)
        if layer:
            self._beside(painter, title.split("  ")[0], rect, metrics, scale, seen)
            return
        title = metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, rect.width() - 8 / scale)
        chip = QRectF(0, 0, metrics.horizontalAdvance(title) + 10 / scale, 16 / scale)
        chip.moveCenter(rect.center())
        painter.fillRect(chip, tint(self._look.theme.panel, 225))
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, title)

    def _its_turn(self, frame: int, high: float) -> bool:
        """Whether a layer's name is written: where they are lower than a line of text, each so-manieth is."""
        every = max(int(np.ceil(_LINE / max(high, 0.01))), 1)
        return self._model.scene.frames[frame].key.first % every == 0

    def _beside(
        self, painter: QPainter, title: str, rect: QRectF, metrics: QFontMetricsF, scale: float, seen: QRectF
    ) -> None:
        """Right of its frame, where there is nothing else to read; shortened, left of it or on it where it must be."""
        gap = 8 / scale
        box = QRectF(rect.right() + gap, rect.top(), 0, min(20 / scale, max(rect.height(), 15 / scale)))
        for words in (title, title.split(" of ")[0]):
            box.setWidth(metrics.horizontalAdvance(words) + gap)
            if box.right() <= seen.right():
                painter.drawText(box, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, words)
                return
        inside = box.width() < rect.width()
        box.moveRight(min(rect.right(), seen.right()) - gap if inside else rect.left())
        if inside:  # stays in sight while any of its frame is
            box.moveTop(max(rect.top() + gap, min(seen.top() + gap, rect.bottom() - box.height())))
        painter.fillRect(box, tint(self._look.theme.panel, 225))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, words)

    def _loops(self, painter: QPainter) -> None:
        """What one copy of a layer hands to the next, drawn up beside it."""
        model, theme = self._model, self._look.theme
        layout = model.layout
        assert layout is not None
        painter.setPen(QPen(tint(theme.accent, 170), 1.3, Qt.PenStyle.DashLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for frame, a, b in model.scene.loops:
            if frame not in layout.groups:
                continue
            x, _, w, _ = layout.groups[frame]
            lane = x + w - 15
            (ax, ay), (aw, ah) = layout.positions[a].tolist(), model.scene.sizes[a].tolist()
            (bx, by), (bw, _) = layout.positions[b].tolist(), model.scene.sizes[b].tolist()
            low, high, end = ay + ah + 7, by - 14, bx + bw * 0.75
            path = QPainterPath(QPointF(ax + aw / 2, ay + ah))
            path.lineTo(ax + aw / 2, low)
            path.lineTo(lane - 6, low)
            path.quadTo(lane, low, lane, low - 6)
            path.lineTo(lane, high + 6)
            path.quadTo(lane, high, lane - 6, high)
            path.lineTo(end + 6, high)
            path.quadTo(end, high, end, high + 6)
            path.lineTo(end, by)
            path.moveTo(end - 3, by - 5)
            path.lineTo(end, by)
            path.lineTo(end + 3, by - 5)
            painter.drawPath(path)

    def _chip_text(self, frame: int) -> str:
        key = self._model.scene.frames[frame].key
        return "Fold" if key.first == key.last else f"Unfold {key.last - key.first + 1}"

    def chip(self, frame: int, rect: QRectF) -> QRectF:
        """The button that unfolds a layer's copies or folds them again."""
        wide = self._metrics.horizontalAdvance(self._chip_text(frame)) + 16
        return QRectF(rect.right() - wide - 10, rect.top() + 5, wide, _CHIP_HIGH)

    @staticmethod
    def chevron(rect: QRectF) -> QRectF:
        """The button that collapses a frame to one box."""
        return QRectF(rect.left() + 6, rect.top() + 4, 18, 18)

    def frame_at(self, spot: QPointF) -> int:
        """The innermost frame at a point of the scene, or -1."""
        x, y, w, h = self._boxes.T
        inside = np.flatnonzero((x <= spot.x()) & (spot.x() <= x + w) & (y <= spot.y()) & (spot.y() <= y + h))
        return self._ids[int(inside[np.argmin(w[inside] * h[inside])])] if len(inside) else -1

    def button_at(self, spot: QPointF, frame: int) -> str:
        """The button of a frame at a point of the scene: "chip", "chevron", or ""."""
        layout = self._model.layout
        if frame < 0 or layout is None:
            return ""
        rect = QRectF(*layout.groups[frame])
        if self.chevron(rect).contains(spot):
            return "chevron"
        layer = self._model.scene.frames[frame].key.kind == "layer"
        return "chip" if layer and self.chip(frame, rect).contains(spot) else ""
