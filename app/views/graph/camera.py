"""Where the graph is looked at from, and what of it is marked: lit by the selection, hovered, found, and where the
keyboard is. Both are values: moving, zooming and marking make others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QTransform

MARGIN = 24.0
_LARGEST, _SMALLEST = 4.0, 0.001


@dataclass(frozen=True)
class Camera:
    """`x` and `y` are where the scene's origin lies in the view; `width` and `height` are the view's."""

    scale: float = 1.0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0

    def transform(self) -> QTransform:
        """Scene to view."""
        return QTransform(self.scale, 0, 0, self.scale, self.x, self.y)

    def to_scene(self, point: QPointF) -> QPointF:
        """View to scene."""
        return QPointF((point.x() - self.x) / self.scale, (point.y() - self.y) / self.scale)

    def seen(self) -> QRectF:
        """The part of the scene in sight."""
        return QRectF(self.to_scene(QPointF(0, 0)), self.to_scene(QPointF(self.width, self.height)))

    def resized(self, width: float, height: float) -> Camera:
        """The same place in a view of another size."""
        return replace(self, width=width, height=height)

    def moved(self, by: QPointF) -> Camera:
        """The scene shifted by so many pixels."""
        return replace(self, x=self.x + by.x(), y=self.y + by.y())

    def zoomed(self, factor: float, centre: QPointF | None = None) -> Camera:
        """Nearer or farther, about a point of the view."""
        point = centre or QPointF(self.width / 2, self.height / 2)
        scale = max(_SMALLEST, min(_LARGEST, self.scale * factor))
        ratio = scale / self.scale
        return replace(
            self, scale=scale, x=point.x() - (point.x() - self.x) * ratio, y=point.y() - (point.y() - self.y) * ratio
        )

    def centred(self, spot: QPointF) -> Camera:
        """A point of the scene in the middle of the view."""
        return replace(self, x=self.width / 2 - spot.x() * self.scale, y=self.height / 2 - spot.y() * self.scale)

    def fitted(self, rect: QRectF, largest: float) -> Camera:
        """A part of the scene whole in the view, no larger than this scale."""
        room_x, room_y = max(self.width - 2 * MARGIN, 10), max(self.height - 2 * MARGIN, 10)
        scale = max(_SMALLEST, min(largest, room_x / max(rect.width(), 1), room_y / max(rect.height(), 1)))
        return replace(self, scale=scale).centred(rect.center())


@dataclass(frozen=True)
class GraphMarks:
    """Masks over the boxes, and numbers of boxes; -1 is none."""

    lit: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    hovered: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    found: frozenset[int] = frozenset()
    current: int = -1
    current_edge: int = -1
    focused: bool = False


NO_MARKS = GraphMarks()
