"""Where the graph view looks: scale and origin, fitting, zooming, the minimap, and what lies under a point."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QTransform
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.painter import GraphPainter

_MARGIN, _LARGEST, _SMALLEST = 24.0, 4.0, 0.001
_WHOLE, _READABLE = 0.66, 0.8  # scales at which all of a graph is worth seeing, and at which a part of it is read
_PAN = 60.0
_EDGE = 6.0  # pixels beside an edge that still count as on it
MAP_WIDTH, MAP_HEIGHT, MAP_LEAST = 200.0, 220.0, 48.0
_T = np.linspace(0.0, 1.0, 13)
_CURVE = np.column_stack((3 * _T**2 - 2 * _T**3, 1.5 * _T * (1 - _T) + _T**3))  # how far along, in x and in y


class GraphCamera(QWidget):
    """A widget that looks at a laid out graph."""

    def __init__(self, look: Look, model: GraphModel) -> None:
        super().__init__()
        self.look, self.model = look, model
        self.scale, self.origin = 1.0, QPointF(0, 0)
        self.show_map = True
        self._touched = False
        self._painter = GraphPainter(self)  # type: ignore[arg-type]

    # Where things are --------------------------------------------------------------------------------------------

    def transform(self) -> QTransform:
        """Scene to widget."""
        return QTransform(self.scale, 0, 0, self.scale, self.origin.x(), self.origin.y())

    def scene_point(self, point: QPointF) -> QPointF:
        """Widget to scene."""
        return QPointF((point.x() - self.origin.x()) / self.scale, (point.y() - self.origin.y()) / self.scale)

    def scene_rect(self) -> QRectF:
        """The part of the scene in sight."""
        return QRectF(self.scene_point(QPointF(0, 0)), self.scene_point(QPointF(self.width(), self.height())))

    def box_at(self, point: QPointF) -> int:
        """The box under a widget point, or -1."""
        layout = self.model.layout
        if layout is None or not len(layout.positions):
            return -1
        spot = np.array(self.scene_point(point).toTuple())
        inside = ((layout.positions <= spot) & (spot <= layout.positions + self.model.sizes)).all(axis=1)
        return int(np.argmax(inside)) if inside.any() else -1

    def frame_at(self, point: QPointF) -> int:
        """The innermost frame under a widget point, or -1."""
        return self._painter.frames.frame_at(self.scene_point(point)) if self.model.layout is not None else -1

    def button_at(self, point: QPointF) -> tuple[str, int]:
        """The button of a frame under a widget point, while they are drawn."""
        if self.model.layout is None or self.scale < 0.3:
            return "", -1
        return self._painter.frames.button_at(self.scene_point(point))

    def edge_at(self, point: QPointF) -> int:
        """The edge within a few pixels of a widget point, or -1."""
        layout = self.model.layout
        if layout is None or not self.model.edges:
            return -1
        spot = np.array(self.scene_point(point).toTuple())
        reach = _EDGE / self.scale
        last = np.zeros(len(layout.points), bool)
        last[layout.edge_starts[1:] - 1] = True
        starts = np.flatnonzero(~last)
        a, b = layout.points[starts], layout.points[starts + 1]
        near = ((np.minimum(a, b) - reach <= spot) & (spot <= np.maximum(a, b) + reach)).all(axis=1)
        if not near.any():
            return -1
        starts, a, b = starts[near], a[near], b[near]
        # The curves as they are drawn, as short straight pieces.
        curve = a[:, None] + (b - a)[:, None] * _CURVE
        first, along = curve[:, :-1], np.diff(curve, axis=1)
        share = np.clip(((spot - first) * along).sum(axis=2) / np.maximum((along**2).sum(axis=2), 1e-9), 0, 1)
        distance = np.sqrt(((first + along * share[..., None] - spot) ** 2).sum(axis=2)).min(axis=1)
        nearest = int(np.argmin(distance))
        if distance[nearest] > reach:
            return -1
        return int(np.searchsorted(layout.edge_starts, starts[nearest], "right")) - 1

    def point_of(self, node: str) -> QPointF:
        """The middle of a node's box in widget coordinates."""
        box = self.model.box_of[node]
        assert self.model.layout is not None
        centre = self.model.layout.positions[box] + self.model.sizes[box] / 2
        return self.transform().map(QPointF(*centre))

    # Moving ------------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Show everything."""
        if self.model.layout is not None:
            self._show_rect(QRectF(0, 0, self.model.layout.width, self.model.layout.height), 1.25)

    def start_view(self) -> None:
        """Everything if it can be read that way, else the top of the graph, as wide as the view at a readable size."""
        layout = self.model.layout
        if layout is None:
            return
        self.fit()
        if self.scale < _WHOLE and len(self.model.labels) < 2000:
            self.scale = max(_READABLE, min(1.0, (self.width() - 2 * _MARGIN) / max(layout.width, 1)))
            self.origin = QPointF(self.width() / 2 - layout.width * self.scale / 2, _MARGIN)
            if layout.width * self.scale > self.width():
                high = layout.positions[:, 1] < self.height() / self.scale
                centres = layout.positions[high, 0] + self.model.sizes[high, 0] / 2
                self.origin.setX(self.width() / 2 - float(np.median(centres)) * self.scale)
            self.update()

    def focus(self) -> None:
        """Show the selected boxes."""
        rect = self._rect_of(self.lit)  # type: ignore[attr-defined]
        if rect is None:
            self.fit()
        else:
            self._show_rect(rect, 1.4)

    def zoom(self, factor: float, centre: QPointF | None = None) -> None:
        """Zoom about a widget point."""
        point = centre or QPointF(self.width() / 2, self.height() / 2)
        scale = max(_SMALLEST, min(_LARGEST, self.scale * factor))
        ratio = scale / self.scale
        self.origin = QPointF(
            point.x() - (point.x() - self.origin.x()) * ratio, point.y() - (point.y() - self.origin.y()) * ratio
        )
        self.scale = scale
        self._touched = True
        self.update()

    def pan(self, direction: str) -> None:
        """Move the view a step."""
        by = {"left": (_PAN, 0.0), "right": (-_PAN, 0.0), "up": (0.0, _PAN), "down": (0.0, -_PAN)}[direction]
        self.origin += QPointF(*by)
        self._touched = True
        self.update()

    def reveal(self, boxes: np.ndarray) -> None:
        """Scroll, without zooming, until some of these boxes are in sight."""
        layout = self.model.layout
        if layout is None or len(boxes) != len(layout.positions) or not boxes.any():
            return
        seen = self.scene_rect()
        centre = layout.positions[boxes] + self.model.sizes[boxes] / 2
        inside = (
            (centre[:, 0] > seen.left())
            & (centre[:, 0] < seen.right())
            & (centre[:, 1] > seen.top())
            & (centre[:, 1] < seen.bottom())
        )
        if not inside.any():
            x, y = centre[0] * self.scale
            self.origin = QPointF(self.width() / 2 - x, self.height() / 2 - y)
            self._touched = True
            self.update()

    def _rect_of(self, boxes: np.ndarray) -> QRectF | None:
        layout = self.model.layout
        if layout is None or len(boxes) != len(layout.positions) or not boxes.any():
            return None
        low = layout.positions[boxes].min(axis=0)
        high = (layout.positions[boxes] + self.model.sizes[boxes]).max(axis=0)
        return QRectF(QPointF(*low), QPointF(*high))

    def _show_rect(self, rect: QRectF, largest: float) -> None:
        room_x, room_y = max(self.width() - 2 * _MARGIN, 10), max(self.height() - 2 * _MARGIN, 10)
        self.scale = max(_SMALLEST, min(largest, room_x / max(rect.width(), 1), room_y / max(rect.height(), 1)))
        centre = rect.center()
        self.origin = QPointF(self.width() / 2 - centre.x() * self.scale, self.height() / 2 - centre.y() * self.scale)
        self.update()

    def resizeEvent(self, event) -> None:
        if not self._touched:
            self.start_view()

    # The minimap -------------------------------------------------------------------------------------------------

    @property
    def map_shown(self) -> bool:
        """The minimap is shown when not everything is in sight."""
        layout = self.model.layout
        if layout is None or not self.show_map or self.width() < 240 or self.height() < 200:
            return False
        seen = self.scene_rect()
        return not (
            seen.left() <= 1
            and seen.top() <= 1
            and seen.right() >= layout.width - 1
            and seen.bottom() >= layout.height - 1
        )

    def map_rect(self) -> QRectF:
        """Where the minimap is."""
        layout = self.model.layout
        width, height = min(MAP_WIDTH, self.width() * 0.26), min(MAP_HEIGHT, self.height() * 0.28)
        if layout is not None:  # no larger than the graph's shape fills: it covers a part of the graph
            inner = min((width - 10) / max(layout.width, 1), (height - 10) / max(layout.height, 1))
            width = min(width, max(layout.width * inner + 10, MAP_LEAST))
            height = min(height, max(layout.height * inner + 10, MAP_LEAST))
        foot = 8 if self.model.heat == "none" else 58  # above the legend
        return QRectF(self.width() - width - 8, self.height() - height - foot, width, height)

    def on_map(self, point: QPointF) -> bool:
        """Whether a point is on the minimap."""
        return self.map_shown and self.map_rect().contains(point)

    def go_map(self, point: QPointF) -> None:
        """Look at what lies under a point of the minimap."""
        scene = self._painter.overlay.map_transform(self.map_rect()).inverted()[0].map(point)
        self.origin = QPointF(self.width() / 2 - scene.x() * self.scale, self.height() / 2 - scene.y() * self.scale)
        self._touched = True
        self.update()
