"""What of a graph is lit, hovered, found and current, and what of it is folded; how the view answers to changes."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPaintEvent

from app.theme.look import Look
from app.viewmodels.frame.selection import Selection
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.graph.scene import Key
from app.views.graph.camera import GraphCamera
from app.views.parts.speech import announce


class GraphMarks(GraphCamera):
    """A camera on a graph that knows the selection; what the mouse and the keyboard do is its heir's."""

    def __init__(self, look: Look, model: GraphModel, selection: Selection) -> None:
        self.selection = selection
        self.lit = np.zeros(0, bool)
        self.hovered = np.zeros(0, bool)
        self.found: set[int] = set()
        self.found_nodes: list[str] = []
        self.current = self.current_edge = -1
        self._current_node = ""
        self._anchor: tuple[str, QPointF] | None = None
        super().__init__(look, model)
        model.changed.connect(self._laid_out)
        model.recoloured.connect(self._recoloured)
        selection.changed.connect(self._selected)
        selection.hovered.connect(self._light)
        look.changed.connect(self._restyle)

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
        if not 0 <= self.current < len(self.model.labels):
            return
        key = self.model.scene.keys[self.current] or self.model.frame_of(self.current)
        if key is not None:
            self.toggle(key)

    def toggle_layer_here(self) -> None:
        """U: unfold or fold the layer of the current box, or the only one there is."""
        key = self.model.layer_of(self.current) if 0 <= self.current < len(self.model.labels) else None
        if key is None:
            key = next((frame.key for frame in self.model.frames if frame.key.kind == "layer"), None)
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
        self._mark_found()
        if self.found_nodes:
            self.reveal(self.model.boxes_of(frozenset(self.found_nodes[:1])))
        self.update()
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

    def _mark_found(self) -> None:
        self.found = {self.model.box_of[name] for name in self.found_nodes if name in self.model.box_of}

    # What happens ------------------------------------------------------------------------------------------------

    def _laid_out(self) -> None:
        self._painter.prepare()
        self._mark_found()
        self.lit = self.model.boxes_of(self.selection.nodes)
        self.hovered = np.zeros(len(self.model.labels), bool)
        self.current_edge = -1
        self.current = self.model.box_of.get(self._current_node, -1)
        anchor, self._anchor = self._anchor, None
        if anchor is not None and anchor[0] in self.model.box_of:
            self.origin += anchor[1] - self.point_of(anchor[0])
            self._touched = True
        elif not self._touched:
            self.start_view()
        if self.lit.any():
            self.reveal(self.lit)
        self.update()

    def reset_view(self) -> None:
        """Another graph: the next layout is shown from its beginning."""
        self._touched, self.found_nodes, self._anchor = False, [], None

    def set_current(self, box: int) -> None:
        """Put the keyboard on a box, and say what it is to those who listen."""
        if 0 <= box < len(self.model.labels):
            self.current, self._current_node = box, self.model.box_nodes[box][0]
            announce(self, self.model.describe(box))
            self.update()

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        self.lit = self.model.boxes_of(nodes)
        self.current_edge = -1
        if self.lit.any() and not (0 <= self.current < len(self.lit) and self.lit[self.current]):
            self.set_current(int(np.argmax(self.lit)))
        if origin is not self:
            self.reveal(self.lit)
        self.update()

    def _light(self, nodes: frozenset[str], _origin: object) -> None:
        self.hovered = self.model.boxes_of(nodes)
        self.update()

    def _recoloured(self) -> None:
        self._painter.overlay.forget()
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

    def focusInEvent(self, event) -> None:
        super().focusInEvent(event)
        if self.current < 0 and self.model.labels:
            self.set_current(int(np.argmax(self.lit)) if self.lit.any() else 0)
