"""The graph: fusion groups as boxes with their nodes inside, painted directly so that 10,000 nodes stay smooth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QWheelEvent

from app.theme.look import Look
from app.viewmodels.frame.selection import Selection
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.graph.scene import Key
from app.viewmodels.graph.walk import walk
from app.views.graph.marks import GraphMarks


@dataclass(frozen=True)
class GraphSpot:
    """What a menu is asked for: a box, an edge and a frame, each where there is one."""

    box: int = -1
    edge: int = -1
    frame: Key | None = None


class GraphView(GraphMarks):
    """Pan with the mouse, zoom with the wheel, walk with the arrows; a click selects a node or a group."""

    menu_wanted = Signal(object, object)  # a GraphSpot, and where on the screen

    def __init__(self, look: Look, model: GraphModel, selection: Selection) -> None:
        self._press: QPointF | None = None
        self._dragging = False
        super().__init__(look, model, selection)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(180, 120)
        self.setAccessibleName("Graph")

    # The mouse ---------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press, self._dragging = event.position(), False
        if event.button() == Qt.MouseButton.LeftButton and self.on_map(event.position()):
            self.go_map(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is not None and event.buttons() & (Qt.MouseButton.LeftButton | Qt.MouseButton.MiddleButton):
            if self.on_map(self._press):
                self.go_map(event.position())
                return
            delta = event.position() - self._press
            if self._dragging or delta.manhattanLength() > 4:
                self._dragging = self._touched = True
                self.origin = self.origin + delta
                self._press = event.position()
                self.update()
            return
        box = self.box_at(event.position())
        button, frame = self.button_at(event.position()) if box < 0 else ("", -1)
        self.setCursor(Qt.CursorShape.PointingHandCursor if button else Qt.CursorShape.ArrowCursor)
        self.selection.hover(self.model.box_nodes[box] if box >= 0 else (), self)
        self.setToolTip(self._tip(box, button, frame, event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, self._press = self._press, None
        if self._dragging or press is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if self.on_map(event.position()):
            return
        box = self.box_at(event.position())
        button, frame = self.button_at(event.position()) if box < 0 else ("", -1)
        if button:
            key = self.model.frames[frame].key
            self.toggle_layer(key) if button == "chip" else self.toggle(key)
            return
        edge = self.edge_at(event.position()) if box < 0 else -1
        nodes: tuple[str, ...] = ()
        if box >= 0:
            self.set_current(box)
            nodes = self.model.box_nodes[box]
        elif edge >= 0:
            a, b = self.model.edges[edge]
            nodes = (*self.model.box_nodes[a], *self.model.box_nodes[b])
        elif (frame := self.frame_at(event.position())) >= 0:
            nodes = self.model.frames[frame].nodes
        extend = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        self.selection.select(self.selection.nodes ^ set(nodes) if extend else nodes, self)
        if box < 0:
            self.current_edge = edge
            self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        box = self.box_at(event.position())
        frame = self.frame_at(event.position())
        if self.button_at(event.position())[0] or self.on_map(event.position()):
            return
        if box >= 0 and (key := self.model.scene.keys[box]) is not None:
            self.toggle(key)
        elif box < 0 and frame >= 0:
            self.toggle(self.model.frames[frame].key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.menu_here()
            return
        point = QPointF(event.pos())
        box, frame = self.box_at(point), self.frame_at(point)
        key = self.model.frames[frame].key if frame >= 0 else None
        self.menu_wanted.emit(GraphSpot(box, self.edge_at(point) if box < 0 else -1, key), event.globalPos())

    def menu_here(self) -> None:
        """The menu of the current box, for the keyboard."""
        if 0 <= self.current < len(self.model.labels):
            self.reveal(self.model.boxes_of(frozenset(self.model.box_nodes[self.current])))
            place = self.point_of(self.model.box_nodes[self.current][0]).toPoint()
            spot = GraphSpot(self.current, self.current_edge, self.model.frame_of(self.current))
            self.menu_wanted.emit(spot, self.mapToGlobal(place))
        else:
            self.menu_wanted.emit(GraphSpot(), self.mapToGlobal(QPoint(20, 20)))

    def leaveEvent(self, event) -> None:
        self.selection.hover((), self)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(1.0015 ** event.angleDelta().y(), event.position())

    # The keyboard ------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = Qt.Key(event.key()), event.modifiers()
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        arrows = {Qt.Key.Key_Left: "left", Qt.Key.Key_Right: "right", Qt.Key.Key_Up: "up", Qt.Key.Key_Down: "down"}
        actions = {
            Qt.Key.Key_Space: self.fit, Qt.Key.Key_F: self.focus, Qt.Key.Key_Return: self.toggle_here,
            Qt.Key.Key_Enter: self.toggle_here, Qt.Key.Key_U: self.toggle_layer_here, Qt.Key.Key_Menu: self.menu_here,
            Qt.Key.Key_X: self.menu_here,
        }  # fmt: skip
        if modifiers & (Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ControlModifier):
            super().keyPressEvent(event)
        elif key in arrows and shift:
            self.pan(arrows[key])
        elif key in arrows:
            self._walk(arrows[key])
        elif key in actions:
            actions[key]()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(0.8 if key == Qt.Key.Key_Minus else 1.25)
        elif key in (Qt.Key.Key_N, Qt.Key.Key_P) and self.model.labels:
            self._go((self.current + (1 if key == Qt.Key.Key_N else -1)) % len(self.model.labels))
        else:
            super().keyPressEvent(event)

    def _walk(self, direction: str) -> None:
        """Along an edge up or down, to a neighbour left or right."""
        layout = self.model.layout
        if layout is None or not self.model.labels:
            return
        if not 0 <= self.current < len(self.model.labels):
            self._go(int(np.argmax(self.lit)) if self.lit.any() else 0)
            return
        self._go(walk(self.model.scene, layout, self.current, direction))

    def _go(self, box: int) -> None:
        self.set_current(box)
        self.selection.select(self.model.box_nodes[box], self)
        mask = np.zeros(len(self.model.labels), bool)
        mask[box] = True
        self.reveal(mask)

    def _tip(self, box: int, button: str, frame: int, point: QPointF) -> str:
        if button == "chip":
            key = self.model.frames[frame].key
            return "Fold all copies into one (U)" if key.first == key.last else "Show each copy by itself (U)"
        if button == "chevron":
            return "Collapse to one box (Enter)"
        if box < 0:
            inside = self.frame_at(point)
            cost = self.model.frame_cost(inside) if inside >= 0 else ""
            return f"{self.model.group_title(inside)}\n{cost}".strip() if inside >= 0 else ""
        text = self.model.describe(box).replace(", ", "\n", 1)
        return text if self.scale <= 0.6 or self.model.heat != "none" or len(self.model.box_nodes[box]) > 1 else ""
