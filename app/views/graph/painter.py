"""Painting of the graph: frames, edges, boxes and marks in sight of a camera, then what lies over them."""

from __future__ import annotations

import itertools

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from app.theme.look import Look, mixed, tint
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.boxes import MANY, NAMES, BoxPainter
from app.views.graph.camera import NO_MARKS, Camera, GraphMarks
from app.views.graph.frames import FramePainter
from app.views.graph.overlay import Minimap, paint_legend, paint_words
from app.views.parts.primitives import draw_lines

_PIECES = 6000  # pieces of edges that are drawn from bend to bend
CURVES = 0.25  # the scale from which edges are drawn as curves


_FAR = 4  # times the view: edges that are longer are drawn thin
_SPECKS, _DRAWN = 0.01, 2500  # the scale below which a box is less than a pixel high, and how many are drawn then
_BENDS = 40  # points of an edge of which only those in sight are drawn
_PASSING = 60  # of them that are drawn where both their ends are out of sight: more lie on each other


def _hair(colour: QColor) -> QPen:
    """A pen of one pixel at every scale. Any wider one makes an outline of each curve first, which takes long."""
    pen = QPen(colour, 1)
    pen.setCosmetic(True)
    return pen


def _some(things: np.ndarray, most: int) -> np.ndarray:
    """As many of these as can be told apart where each is smaller than a pixel."""
    return things[:: max(len(things) // most, 1)]


def _told_apart(lines: np.ndarray, seen: QRectF) -> np.ndarray:
    """Which of these to draw: of those that only pass by from far away to far away, and of those that go far away from
    one place, as many as can be told apart."""
    kept = np.ones(len(lines), bool)
    x1, y1, x2, y2 = lines.T
    long = (np.abs(x2 - x1) > _FAR * seen.width()) | (np.abs(y2 - y1) > _FAR * seen.height())
    if np.count_nonzero(long) > _PASSING:
        left, right, top, bottom = seen.left(), seen.right(), seen.top(), seen.bottom()
        begins = (left <= x1) & (x1 <= right) & (top <= y1) & (y1 <= bottom)
        ends = (left <= x2) & (x2 <= right) & (top <= y2) & (y2 <= bottom)
        groups = [np.flatnonzero(long & ~begins & ~ends)]
        leaving = np.flatnonzero(long & begins & ~ends)
        groups += [leaving[x1[leaving] == x] for x in np.unique(x1[leaving]).tolist()]
        for group in groups:
            kept[group] = False
            kept[group[:: max(len(group) // _PASSING, 1)]] = True
    return kept


class GraphPainter:
    """Holds what can be computed once per layout, and paints what a camera sees."""

    def __init__(self, look: Look, model: GraphModel) -> None:
        self._look, self._model = look, model
        self._lines = self._pieces = np.zeros((0, 4))  # from end to end, and from bend to bend
        self._edge_low = self._edge_high = np.zeros((0, 2))
        self._paths: dict[int, QPainterPath] = {}
        self.frames = FramePainter(look, model)
        self._boxes = BoxPainter(look, model)
        self.minimap = Minimap(look, model, self._boxes)
        self.prepare()

    def prepare(self) -> None:
        """A new layout or theme: recompute what painting uses."""
        layout = self._model.layout
        self._paths = {}
        self.minimap.forget()
        self.frames.prepare()
        self._boxes.prepare()
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

    def paint(self, painter: QPainter, camera: Camera, marks: GraphMarks, show_map: bool) -> None:
        """The part in sight, then the legend and the minimap."""
        model, area = self._model, QRectF(0, 0, camera.width, camera.height)
        painter.fillRect(area, QColor(self._look.theme.window))
        if model.layout is None:
            waiting = "Laying out the graph\u2026"
            nothing = "Open a sample or a file (Ctrl+O)\nto see its graph here."
            paint_words(painter, self._look, area, waiting if model.compilation is not None else nothing)
            return
        if not model.scene.labels:
            paint_words(painter, self._look, area, "This graph has no nodes")
            return
        painter.save()
        painter.setTransform(camera.transform(), True)
        self._scene(painter, camera.seen(), camera.scale, marks)
        painter.restore()
        if model.heat != "none":
            paint_legend(painter, self._look, model, area)
        if show_map and self.minimap.needed(camera):
            self.minimap.paint(painter, camera, marks)

    def paint_scene(self, painter: QPainter, area: QRectF) -> None:
        """The whole graph at full detail into another device, for export."""
        painter.fillRect(area, QColor(self._look.theme.window))
        self._scene(painter, area, 1.0, NO_MARKS, whole=True)

    def _scene(self, painter: QPainter, seen: QRectF, scale: float, marks: GraphMarks, whole: bool = False) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, scale > 0.15)
        self.frames.paint(painter, seen, scale, whole)
        self._edges(painter, seen, scale, marks, whole)
        if scale >= NAMES:
            self.frames.paint_titles(painter, seen, scale, whole)
        boxes = self._boxes.near(seen)
        if scale < _SPECKS and not whole:
            boxes = _some(boxes, _DRAWN)
        if not whole and (scale < NAMES or len(boxes) > MANY):
            self._boxes.blocks(painter, boxes)
        else:
            self._boxes.paint(painter, boxes, scale)
        if scale < NAMES:  # over the boxes, which have no names of their own
            self.frames.paint_titles(painter, seen, scale, whole)
        if not whole:
            self._boxes.paint_marks(painter, boxes, marks, scale)

    def _edges(self, painter: QPainter, seen: QRectF, scale: float, marks: GraphMarks, whole: bool) -> None:
        model, theme = self._model, self._look.theme
        low, high = self._edge_low, self._edge_high
        shown = np.flatnonzero(
            (high[:, 0] >= seen.left() - 2)
            & (low[:, 0] <= seen.right() + 2)
            & (high[:, 1] >= seen.top())
            & (low[:, 1] <= seen.bottom())
        )
        if not whole:
            shown = shown[_told_apart(self._lines[shown], seen)]
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # Far away lines lie on lines: fainter, so that what they join can still be seen.
        # Nearby they are one solid colour, which takes half the time of one that lets through what is behind it.
        if scale > CURVES:
            painter.setPen(_hair(mixed(theme.faint, theme.window, 0.75)))
        else:
            painter.setPen(_hair(tint(theme.faint, int(50 + 60 * max(scale, 0.0) / CURVES))))
        if not whole and (scale < CURVES or len(shown) > 2 * MANY):
            lines = self._far_lines(shown, seen)
            draw_lines(painter, _some(lines, _DRAWN // 3) if scale < _SPECKS else lines)
        else:
            for edge in shown.tolist():
                painter.drawPath(self.path(edge, None if whole else seen))
        if whole or len(marks.lit) != len(model.scene.labels):
            return
        if marks.lit.any():
            ends = np.array(model.scene.edges, np.int64)[shown]
            near = shown[marks.lit[ends].any(axis=1)]
            if len(near) > MANY:
                painter.setPen(_hair(QColor(theme.accent)))
                draw_lines(painter, self._lines[near])
            else:
                self._lit(painter, near, seen, scale)
        if 0 <= marks.current_edge < len(model.scene.edges):
            painter.setPen(QPen(QColor(theme.warning), 2.6 / max(scale, 0.5)))
            painter.drawPath(self.path(marks.current_edge))

    def _lit(self, painter: QPainter, edges: np.ndarray, seen: QRectF, scale: float) -> None:
        """Edges of what is selected: thicker, but for those that go on far out of sight."""
        room = np.array([_FAR * seen.width(), _FAR * seen.height()])
        far = np.flatnonzero(((self._edge_high - self._edge_low)[edges] > room).any(axis=1))
        thin = set(edges[far].tolist())
        for edge in edges.tolist():
            hair = edge in thin
            colour = QColor(self._look.theme.accent)
            painter.setPen(_hair(colour) if hair or scale <= CURVES else QPen(colour, 1.8))
            painter.drawPath(self.path(edge, seen))

    def _far_lines(self, edges: np.ndarray, seen: QRectF) -> np.ndarray:
        """Edges without their curves: from bend to bend while there are few in sight, else straight."""
        x1, y1, x2, y2 = self._pieces.T
        near = (np.maximum(x1, x2) >= seen.left()) & (np.minimum(x1, x2) <= seen.right())
        near &= (np.maximum(y1, y2) >= seen.top()) & (np.minimum(y1, y2) <= seen.bottom())
        pieces = self._pieces[near]
        pieces = pieces[_told_apart(pieces, seen)]
        return pieces if len(pieces) <= _PIECES else self._lines[edges]

    def path(self, edge: int, seen: QRectF | None = None) -> QPainterPath:
        """A smooth vertical curve through the edge's points, with a small arrow head; of one with very many points
        only what is in sight, where that is given."""
        path = self._paths.get(edge)
        if path is None:
            layout = self._model.layout
            assert layout is not None
            points = layout.points[layout.edge_starts[edge] : layout.edge_starts[edge + 1]]
            clipped = seen is not None and len(points) > _BENDS
            path = _curve((_in_sight(points, seen) if seen is not None and clipped else points).tolist())
            if not clipped and len(self._paths) < 20_000:
                self._paths[edge] = path
        return path


def _in_sight(points: np.ndarray, seen: QRectF) -> np.ndarray:
    """From the last point above what is in sight to the first below it."""
    y = points[:, 1]
    near = np.flatnonzero((np.maximum(y[:-1], y[1:]) >= seen.top()) & (np.minimum(y[:-1], y[1:]) <= seen.bottom()))
    return points[near[0] : near[-1] + 2] if len(near) else points[:2]


def _curve(points: list[list[float]]) -> QPainterPath:
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
    return path
