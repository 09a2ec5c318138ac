"""The graph: fusion groups as boxes with their nodes inside, painted directly so that 10,000 nodes stay smooth."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QTransform, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.graph import GraphModel
from app.viewmodels.selection import Selection
from app.views.graph_painter import GraphPainter

_MARGIN, _LARGEST, _SMALLEST, _READABLE = 24.0, 4.0, 0.004, 0.62
MAP_WIDTH, MAP_HEIGHT = 150.0, 110.0


class GraphView(QWidget):
    """Pan with the mouse or arrows, zoom with the wheel; a click selects a node or a group."""

    edge_menu = Signal(str, str, object)
    edge_clicked = Signal(str, str)

    def __init__(self, look: Look, model: GraphModel, selection: Selection) -> None:
        super().__init__()
        self.look, self.model, self.selection = look, model, selection
        self.scale, self.origin = 1.0, QPointF(0, 0)
        self.lit = np.zeros(0, bool)
        self.hovered = np.zeros(0, bool)
        self.found: set[int] = set()
        self.show_map = True
        self._painter = GraphPainter(self)
        self._press: QPointF | None = None
        self._dragging = self._touched = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(180, 120)
        self.setAccessibleName("Graph")
        model.changed.connect(self._laid_out)
        model.recoloured.connect(self.update)
        selection.changed.connect(self._selected)
        selection.hovered.connect(self._light)
        look.changed.connect(self._restyle)

    # Where things are --------------------------------------------------------------------------------------------

    def transform(self) -> QTransform:
        """Scene to widget."""
        return QTransform(self.scale, 0, 0, self.scale, self.origin.x(), self.origin.y())

    def scene_rect(self) -> QRectF:
        """The part of the scene in sight."""
        return QRectF(
            -self.origin.x() / self.scale,
            -self.origin.y() / self.scale,
            self.width() / self.scale,
            self.height() / self.scale,
        )

    def box_at(self, point: QPointF) -> int:
        """The box under a widget point, or -1."""
        layout = self.model.layout
        if layout is None or not len(layout.positions):
            return -1
        spot = np.array([(point.x() - self.origin.x()) / self.scale, (point.y() - self.origin.y()) / self.scale])
        inside = ((layout.positions <= spot) & (spot <= layout.positions + self.model.sizes)).all(axis=1)
        return int(np.argmax(inside)) if inside.any() else -1

    def group_at(self, point: QPointF) -> int:
        """The group under a widget point, or -1."""
        layout = self.model.layout
        spot = QPointF((point.x() - self.origin.x()) / self.scale, (point.y() - self.origin.y()) / self.scale)
        for group, box in layout.groups.items() if layout else ():
            if QRectF(*box).contains(spot):
                return group
        return -1

    def edge_at(self, point: QPointF) -> int:
        """The edge within a few pixels of a widget point, or -1."""
        layout = self.model.layout
        if layout is None or not self.model.edges:
            return -1
        spot = np.array([(point.x() - self.origin.x()) / self.scale, (point.y() - self.origin.y()) / self.scale])
        last = np.zeros(len(layout.points), bool)
        last[layout.edge_starts[1:] - 1] = True
        starts = np.flatnonzero(~last)
        a, b = layout.points[starts], layout.points[starts + 1]
        along = b - a
        length = np.maximum((along**2).sum(axis=1), 1e-9)
        share = np.clip(((spot - a) * along).sum(axis=1) / length, 0, 1)
        distance = np.sqrt(((a + along * share[:, None] - spot) ** 2).sum(axis=1))
        nearest = int(np.argmin(distance))
        if distance[nearest] * self.scale > 6:
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
        """Everything if it can be read that way, else the top of the graph at a readable size."""
        layout = self.model.layout
        if layout is None:
            return
        self.fit()
        if self.scale < _READABLE and len(self.model.labels) < 2000:
            self.scale = _READABLE
            self.origin = QPointF(self.width() / 2 - layout.width * self.scale / 2, _MARGIN)
            if layout.width * self.scale > self.width():
                high = layout.positions[:, 1] < self.height() / self.scale
                centres = layout.positions[high, 0] + self.model.sizes[high, 0] / 2
                self.origin.setX(self.width() / 2 - float(np.median(centres)) * self.scale)
            self._moved()

    def focus(self) -> None:
        """Show the selected boxes."""
        rect = self._rect_of(self.lit)
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
        self._moved()

    def reveal(self, boxes: np.ndarray) -> None:
        """Scroll, without zooming, until some of these boxes are in sight."""
        layout = self.model.layout
        if layout is None or not boxes.any():
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
            self._moved()

    def find_boxes(self, text: str) -> int:
        """Mark the boxes that match and go to the first; how many there are."""
        boxes = self.model.find(text)
        self.found = set(boxes)
        if boxes:
            mask = np.zeros(len(self.model.labels), bool)
            mask[boxes[0]] = True
            self.reveal(mask)
        self.update()
        return len(boxes)

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
        self._moved()

    def _moved(self) -> None:
        self.update()

    # What happens ------------------------------------------------------------------------------------------------

    def _laid_out(self) -> None:
        self._painter.prepare()
        self.found = set()
        self.lit = self.model.boxes_of(self.selection.nodes)
        self.hovered = np.zeros(len(self.model.labels), bool)
        if not self._touched:
            self.start_view()
        self.update()

    def reset_view(self) -> None:
        """Another graph: the next layout is shown from its beginning."""
        self._touched = False

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        self.lit = self.model.boxes_of(nodes)
        if origin is not self:
            self.reveal(self.lit)
        self.update()

    def _light(self, nodes: frozenset[str], _origin: object) -> None:
        self.hovered = self.model.boxes_of(nodes)
        self.update()

    def _restyle(self) -> None:
        self._painter.prepare()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._painter.paint(painter, QRectF(self.rect()))
        painter.end()

    def paint_all(self, painter: QPainter, area: QRectF) -> None:
        """The whole graph into another device, for export."""
        self._painter.paint_scene(painter, area)

    def resizeEvent(self, event) -> None:
        if not self._touched:
            self.start_view()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press, self._dragging = event.position(), False
        if (
            event.button() == Qt.MouseButton.LeftButton
            and self._map_rect().contains(event.position())
            and self.map_shown
        ):
            self._go_map(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is not None and event.buttons() & (Qt.MouseButton.LeftButton | Qt.MouseButton.MiddleButton):
            if self._map_rect().contains(self._press) and self.map_shown:
                self._go_map(event.position())
                return
            delta = event.position() - self._press
            if self._dragging or delta.manhattanLength() > 4:
                self._dragging = self._touched = True
                self.origin += delta
                self._press = event.position()
                self._moved()
            return
        box = self.box_at(event.position())
        self.selection.hover(self.model.box_nodes[box] if box >= 0 else (), self)
        self.setToolTip(self._tip(box))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, self._press = self._press, None
        if self._dragging or press is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if self.map_shown and self._map_rect().contains(event.position()):
            return
        box = self.box_at(event.position())
        nodes: tuple[str, ...] = self.model.box_nodes[box] if box >= 0 else ()
        if box < 0 and (group := self.group_at(event.position())) >= 0 and self.model.compilation:
            nodes = self.model.compilation.calls[group].nodes
        elif box < 0 and (edge := self.edge_at(event.position())) >= 0:
            a, b = self.model.edges[edge]
            nodes = (*self.model.box_nodes[a], *self.model.box_nodes[b])
        extend = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        self.selection.select(self.selection.nodes ^ set(nodes) if extend else nodes, self)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        box = self.box_at(event.position())
        group = self.group_at(event.position())
        if box >= 0 and self.model.kinds[box] == "group" and self.model.compilation:
            record = self.model.compilation.node_table[self.model.box_nodes[box][0]]
            self.model.toggle([record.call])
        elif box < 0 and group >= 0:
            self.model.toggle([group])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        edge = self.edge_at(QPointF(event.pos()))
        if edge >= 0 and self.box_at(QPointF(event.pos())) < 0:
            a, b = self.model.edges[edge]
            self.edge_menu.emit(self.model.box_nodes[a][-1], self.model.box_nodes[b][0], event.globalPos())
        else:
            self.edge_menu.emit("", "", event.globalPos())

    def leaveEvent(self, event) -> None:
        self.selection.hover((), self)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(1.0015 ** event.angleDelta().y(), event.position())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Left: (60, 0),
            Qt.Key.Key_Right: (-60, 0),
            Qt.Key.Key_Up: (0, 60),
            Qt.Key.Key_Down: (0, -60),
        }
        key = Qt.Key(event.key())
        if event.modifiers() & (Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ControlModifier):
            super().keyPressEvent(event)
        elif key in steps:
            self.origin += QPointF(*steps[key])
            self._moved()
        elif key == Qt.Key.Key_Space:
            self.fit()
        elif key == Qt.Key.Key_F:
            self.focus()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(0.8 if key == Qt.Key.Key_Minus else 1.25)
        elif key in (Qt.Key.Key_Tab, Qt.Key.Key_N, Qt.Key.Key_P) and key != Qt.Key.Key_Tab:
            self._step(1 if key == Qt.Key.Key_N else -1)
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        """N and P walk through the boxes in order, for those without a mouse."""
        if self.model.labels:
            at = int(np.argmax(self.lit)) if self.lit.any() else -1
            box = (at + by) % len(self.model.labels)
            self.selection.select(self.model.box_nodes[box])

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

    def _map_rect(self) -> QRectF:
        width, height = min(MAP_WIDTH, self.width() * 0.3), min(MAP_HEIGHT, self.height() * 0.3)
        return QRectF(self.width() - width - 8, self.height() - height - 8, width, height)

    def _go_map(self, point: QPointF) -> None:
        scene = self._painter.map_transform(self._map_rect()).inverted()[0].map(point)
        self.origin = QPointF(self.width() / 2 - scene.x() * self.scale, self.height() / 2 - scene.y() * self.scale)
        self._touched = True
        self._moved()

    def _tip(self, box: int) -> str:
        if box < 0 or self.scale > 0.6:
            return ""
        return f"{self.model.labels[box]}\n{self.model.details[box]}"
