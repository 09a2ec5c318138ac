"""The graph: fusion groups as boxes with their nodes inside, painted directly so that 10,000 nodes stay smooth.

The view holds a camera and the marks, both values; a gesture makes another of either and the painter paints them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.frame.selection import Selection
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.graph.scene import Key
from app.viewmodels.graph.walk import walk
from app.views.graph import places
from app.views.graph.camera import NO_MARKS, Camera
from app.views.graph.painter import GraphPainter
from app.views.graph.places import Hit, edge_at, hit, opening, rect_of, revealing, tip_of, whole
from app.views.parts.chart import announce
from app.views.parts.later import one_shot
from app.views.parts.plain import plain_tip

_PAN = {"left": QPointF(60, 0), "right": QPointF(-60, 0), "up": QPointF(0, 60), "down": QPointF(0, -60)}


@dataclass(frozen=True)
class GraphSpot:
    """What a menu is asked for: a box, an edge and a frame, each where there is one."""

    box: int = -1
    edge: int = -1
    frame: Key | None = None


class GraphView(QWidget):
    """Pan with the mouse, zoom with the wheel, walk with the arrows; a click selects a node or a group."""

    menu_wanted = Signal(object, object)  # a GraphSpot, and where on the screen

    def __init__(self, look: Look, model: GraphModel, selection: Selection) -> None:
        super().__init__()
        self.model, self.selection = model, selection
        self.camera, self.marks = Camera(), NO_MARKS
        self.show_map = True
        self.found_nodes: list[str] = []
        self._current_node = ""
        self._anchor: tuple[str, QPointF] | None = None  # a node that stays where it is over a change of layout
        self._touched = False  # whether the user chose where to look
        self._fitted = False  # whether that was to see everything, which then holds for every size and layout
        self._press: QPointF | None = None
        self._dragging = False
        self._moving = one_shot(self, self.update)  # a wheel that is turned on leaves time between two pictures
        self.painter = GraphPainter(look, model)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(180, 120)
        self.setAccessibleName("Graph")
        model.changed.connect(self._laid_out)
        model.recoloured.connect(self._recoloured)
        selection.changed.connect(self._selected)
        selection.hovered.connect(lambda nodes, _origin: self._mark(hovered=self.model.boxes_of(nodes)))
        look.changed.connect(self._restyle)

    # Where it looks ----------------------------------------------------------------------------------------------

    def _look_from(self, camera: Camera, by_hand: bool = True) -> None:
        """From now on, look from there; a place the user chose is kept over changes of size and layout."""
        if camera != self.camera:
            self.camera = camera
            if by_hand:
                self._touched, self._fitted = True, False
            if not self._moving.isActive():
                self._moving.start()

    def fit(self) -> None:
        """Show everything, also when the view gets another size."""
        self._touched, self._fitted = False, True
        self._look_from(whole(self.camera, self.model), by_hand=False)

    def start_view(self) -> None:
        """Show the graph from its beginning, as one that was just opened."""
        self._touched = self._fitted = False
        self._look_from(opening(self.camera, self.model), by_hand=False)

    def focus(self) -> None:
        """Show the selected boxes."""
        rect = rect_of(self.model, self.marks.lit)
        if rect is None:
            self.fit()
        else:
            self._look_from(self.camera.fitted(rect, 1.4))

    def zoom(self, factor: float, centre: QPointF | None = None) -> None:
        """Zoom about a point of the view."""
        self._look_from(self.camera.zoomed(factor, centre))

    def reveal(self, boxes: np.ndarray) -> None:
        """Scroll, without zooming, until some of these boxes are in sight."""
        self._look_from(revealing(self.camera, self.model, boxes))

    def reset_view(self) -> None:
        """Another graph: the next layout is shown from its beginning."""
        self._touched = self._fitted = False
        self.found_nodes, self._anchor = [], None

    def point_of(self, node: str) -> QPointF:
        """The middle of a node's box in the view."""
        return self.camera.transform().map(places.middle_of(self.model, node))

    def resizeEvent(self, event) -> None:
        before = self.camera
        self._look_from(before.resized(self.width(), self.height()), by_hand=False)
        self._look_again()
        self._look_from(places.holding(self.camera, before, self.model, self.marks.lit), by_hand=False)

    def _look_again(self) -> None:
        """The view or the layout is another: show what is usual, unless the user looks at some of it."""
        if self._fitted:
            self.fit()
        elif not self._touched or not places.any_box_in(self.model, self.camera.seen()):
            self.start_view()

    # Folding -----------------------------------------------------------------------------------------------------

    def toggle(self, key: Key) -> None:
        """Collapse or expand a frame; what was under the mouse stays there."""
        self._hold(key)
        self.model.toggle([key])

    def toggle_layer(self, key: Key) -> None:
        """Unfold a layer's copies, or fold them again."""
        self._hold(key)
        self.model.toggle_layer(key)

    def toggle_here(self) -> None:
        """Enter: open the current box where it is a closed frame, else close the frame around it."""
        if self._on_a_box:
            key = self.model.scene.keys[self.marks.current] or self.model.frame_of(self.marks.current)
            if key is not None:
                self.toggle(key)

    def toggle_layer_here(self) -> None:
        """U: unfold or fold the layer of the current box, or the only one there is."""
        key = self.model.layer_of(self.marks.current) if self._on_a_box else None
        if key is None:
            key = next((frame.key for frame in self.model.scene.frames if frame.key.kind == "layer"), None)
        if key is not None:
            self.toggle_layer(key)

    def _hold(self, key: Key) -> None:
        scene = self.model.scene
        frame = next((frame for frame in scene.frames if frame.key == key), None)
        box = next((b for b, k in enumerate(scene.keys) if k == key), -1)
        names = frame.nodes if frame is not None else scene.box_nodes[box] if box >= 0 else ()
        if names:
            self._anchor = (names[0], self.point_of(names[0]))

    # Finding -----------------------------------------------------------------------------------------------------

    def find_boxes(self, text: str) -> int:
        """Mark the nodes that match and go to the first; how many there are."""
        self.found_nodes = self.model.find(text)
        self._mark(found=self._found_boxes())
        if self.found_nodes:
            self.reveal(self.model.boxes_of(frozenset(self.found_nodes[:1])))
        return len(self.found_nodes)

    def go_to_found(self, position: int) -> None:
        """Select one of the found nodes; what hides it is opened."""
        if not self.found_nodes:
            return
        node = self.found_nodes[position % len(self.found_nodes)]
        self._current_node = node
        if self.model.expose([node]):
            self._anchor = None
            self._touched = True
        self.selection.select([node])

    def _found_boxes(self) -> frozenset[int]:
        return frozenset(self.model.scene.box_of[name] for name in self.found_nodes if name in self.model.scene.box_of)

    # What is marked ----------------------------------------------------------------------------------------------

    def _mark(self, **changes: Any) -> None:
        self.marks = replace(self.marks, **changes)
        self.update()

    @property
    def _on_a_box(self) -> bool:
        return 0 <= self.marks.current < len(self.model.scene.labels)

    def set_current(self, box: int) -> None:
        """Put the keyboard on a box, and say what it is to those who listen."""
        if 0 <= box < len(self.model.scene.labels):
            self._current_node = self.model.scene.box_nodes[box][0]
            self._mark(current=box)
            announce(self, self.model.describe(box))

    def _laid_out(self) -> None:
        self.painter.prepare()
        lit = self.model.boxes_of(self.selection.nodes)
        current = self.model.scene.box_of.get(self._current_node, -1)
        nowhere = np.zeros(len(self.model.scene.labels), bool)
        self._mark(lit=lit, hovered=nowhere, found=self._found_boxes(), current=current, current_edge=-1)
        anchor, self._anchor = self._anchor, None
        if anchor is not None and anchor[0] in self.model.scene.box_of:
            self._look_from(self.camera.moved(anchor[1] - self.point_of(anchor[0])))
            self._touched, self._fitted = True, False
        else:
            self._look_again()
        if lit.any():
            self.reveal(lit)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        lit = self.model.boxes_of(nodes)
        self._mark(lit=lit, current_edge=-1)
        if lit.any() and not (self._on_a_box and lit[self.marks.current]):
            self.set_current(int(np.argmax(lit)))
        if origin is not self:
            self.reveal(lit)

    def _recoloured(self) -> None:
        self.painter.minimap.forget()
        if self.model.layout is not None and not self._touched:
            self._look_again()  # a legend came or went
        self.update()

    def _restyle(self) -> None:
        self.painter.prepare()
        self.update()

    # Painting ----------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.painter.paint(painter, self.camera, replace(self.marks, focused=self.hasFocus()), self.show_map)
        painter.end()

    # The mouse ---------------------------------------------------------------------------------------------------

    def _under(self, point: QPointF) -> Hit:
        return hit(self.model, self.painter.frames, self.camera, point)

    def _on_map(self, point: QPointF) -> bool:
        minimap = self.painter.minimap
        return self.show_map and minimap.needed(self.camera) and minimap.rect(self.camera).contains(point)

    def _go_map(self, point: QPointF) -> None:
        self._look_from(self.painter.minimap.looked_at(self.camera, point))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press, self._dragging = event.position(), False
        if event.button() == Qt.MouseButton.LeftButton and self._on_map(event.position()):
            self._go_map(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is not None and event.buttons() & (Qt.MouseButton.LeftButton | Qt.MouseButton.MiddleButton):
            if self._on_map(self._press):
                self._go_map(event.position())
                return
            delta = event.position() - self._press
            if self._dragging or delta.manhattanLength() > 4:
                self._dragging = True
                self._look_from(self.camera.moved(delta))
                self._press = event.position()
            return
        under = self._under(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if under.button else Qt.CursorShape.ArrowCursor)
        self.selection.hover(self.model.scene.box_nodes[under.box] if under.box >= 0 else (), self)
        self.setToolTip(plain_tip(tip_of(self.model, under, self.camera.scale)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, self._press = self._press, None
        if self._dragging or press is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if self._on_map(event.position()):
            return
        under = self._under(event.position())
        if under.button:
            key = self.model.scene.frames[under.frame].key
            self.toggle_layer(key) if under.button == "chip" else self.toggle(key)
            return
        edge = self._edge_at(event.position(), under)
        nodes: tuple[str, ...] = ()
        if under.box >= 0:
            self.set_current(under.box)
            nodes = self.model.scene.box_nodes[under.box]
        elif edge >= 0:
            a, b = self.model.scene.edges[edge]
            nodes = (*self.model.scene.box_nodes[a], *self.model.scene.box_nodes[b])
        elif under.frame >= 0:
            nodes = self.model.scene.frames[under.frame].nodes
        extend = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        self.selection.select(self.selection.nodes ^ set(nodes) if extend else nodes, self)
        if under.box < 0:
            self._mark(current_edge=edge)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        under = self._under(event.position())
        if under.button or self._on_map(event.position()):
            return
        if under.box >= 0 and (key := self.model.scene.keys[under.box]) is not None:
            self.toggle(key)
        elif under.box < 0 and under.frame >= 0:
            self.toggle(self.model.scene.frames[under.frame].key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.menu_here()
            return
        under = self._under(QPointF(event.pos()))
        key = self.model.scene.frames[under.frame].key if under.frame >= 0 else None
        spot = GraphSpot(under.box, self._edge_at(QPointF(event.pos()), under), key)
        self.menu_wanted.emit(spot, event.globalPos())

    def _edge_at(self, point: QPointF, under: Hit) -> int:
        """The edge there, where there is no box."""
        return edge_at(self.model, self.camera.to_scene(point), self.camera.scale) if under.box < 0 else -1

    def menu_here(self) -> None:
        """The menu of the current box, for the keyboard."""
        if self._on_a_box:
            current = self.marks.current
            self.reveal(self.model.boxes_of(frozenset(self.model.scene.box_nodes[current])))
            place = self.point_of(self.model.scene.box_nodes[current][0]).toPoint()
            spot = GraphSpot(current, self.marks.current_edge, self.model.frame_of(current))
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
            self._look_from(self.camera.moved(_PAN[arrows[key]]))
        elif key in arrows:
            self._walk(arrows[key])
        elif key in actions:
            actions[key]()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(0.8 if key == Qt.Key.Key_Minus else 1.25)
        elif key in (Qt.Key.Key_N, Qt.Key.Key_P) and self.model.scene.labels:
            self._go((self.marks.current + (1 if key == Qt.Key.Key_N else -1)) % len(self.model.scene.labels))
        else:
            super().keyPressEvent(event)

    def _walk(self, direction: str) -> None:
        """Along an edge up or down, to a neighbour left or right."""
        layout = self.model.layout
        if layout is None or not self.model.scene.labels:
            return
        if self._on_a_box:
            self._go(walk(self.model.scene, layout, self.marks.current, direction))
        else:
            self._go(self._first_box)

    @property
    def _first_box(self) -> int:
        """Where the keyboard begins: at what is lit, or at the beginning."""
        return int(np.argmax(self.marks.lit)) if self.marks.lit.any() else 0

    def focusInEvent(self, event) -> None:
        super().focusInEvent(event)
        if self.marks.current < 0 and self.model.scene.labels:
            self.set_current(self._first_box)

    def _go(self, box: int) -> None:
        self.set_current(box)
        self.selection.select(self.model.scene.box_nodes[box], self)
        mask = np.zeros(len(self.model.scene.labels), bool)
        mask[box] = True
        self.reveal(mask)
