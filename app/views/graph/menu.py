"""The menu of a place in the graph: fuse or cut the edges there, fold and unfold, fit, export."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtWidgets import QMenu, QWidget

from app.viewmodels.compilation import Compilation
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.view import GraphSpot, GraphView
from app.views.parts.plain import plain_tip

Pairs = tuple[tuple[str, str], ...]
_MOST = 12  # edges of one box that a menu lists


@dataclass(frozen=True)
class EdgeChange:
    """Edges (in a folded layer, the same edge of every copy) and whether they would be fused or cut."""

    pairs: Pairs
    fuse: bool
    reason: str

    @property
    def text(self) -> str:
        """What the menu says."""
        producer, consumer = self.pairs[0]
        more = f" in all {len(self.pairs)} copies" if len(self.pairs) > 1 else ""
        return f"{'Fuse' if self.fuse else 'Cut'} here: {producer} \u2192 {consumer}{more}"


def edge_changes(model: GraphModel, compilation: Compilation, edges: Iterable[tuple[int, int]]) -> list[EdgeChange]:
    """What can be changed about edges between boxes, by the decisions that fusion made about the nodes in them."""
    changes = []
    for a, b in edges:
        producers, consumers = frozenset(model.scene.box_nodes[a]), frozenset(model.scene.box_nodes[b])
        for accepted in (True, False):
            decided = [
                d
                for d in compilation.ledger
                if d.accepted == accepted and d.producer in producers and d.consumer in consumers
            ]
            if decided:
                pairs = tuple(dict.fromkeys((d.producer, d.consumer) for d in decided))
                changes.append(EdgeChange(pairs, not accepted, decided[0].reason))
    return changes


def changes_at(model: GraphModel, compilation: Compilation, spot: GraphSpot) -> list[EdgeChange]:
    """The changes at an edge, or at every edge of a box."""
    if 0 <= spot.edge < len(model.scene.edges):
        return edge_changes(model, compilation, [model.scene.edges[spot.edge]])
    if spot.box >= 0:
        return edge_changes(model, compilation, [edge for edge in model.scene.edges if spot.box in edge])
    return []


def graph_menu(
    parent: QWidget,
    view: GraphView,
    spot: GraphSpot,
    what_if: Callable[[Pairs, bool], None],
    export: Callable[[], None],
) -> QMenu:
    """Everything that can be done at a place."""
    menu, model = QMenu(parent), view.model
    menu.setToolTipsVisible(True)
    compilation = model.compilation
    changes = changes_at(model, compilation, spot) if compilation is not None else []
    for change in changes[:_MOST]:
        action = menu.addAction(change.text, lambda c=change: what_if(c.pairs, c.fuse))
        words = f"Compile again with this edge {'fused' if change.fuse else 'cut'}. Now: {change.reason}"
        action.setToolTip(plain_tip(words))
    if changes:
        menu.addSeparator()
    _add_folding(menu, view, spot)
    menu.addAction("Fit\tSpace", view.fit)
    menu.addAction("Focus the selection\tF", view.focus)
    menu.addAction("Collapse all kernels", lambda: model.collapse_all(True))
    menu.addAction("Expand all kernels", lambda: model.collapse_all(False))
    if model.scene.repeats:
        menu.addAction("Fold repeated layers", lambda: model.fold_repeats(True))
        menu.addAction("Unfold repeated layers", lambda: model.fold_repeats(False))
    menu.addSeparator()
    menu.addAction("Export as SVG or PNG...", export)
    return menu


def _add_folding(menu: QMenu, view: GraphView, spot: GraphSpot) -> None:
    model = view.model
    closed = model.scene.keys[spot.box] if spot.box >= 0 else None
    if closed is not None:
        menu.addAction(f"Expand {model.scene.labels[spot.box]}\tEnter", lambda: view.toggle(closed))
    frame = model.frame_of(spot.box) if spot.box >= 0 else spot.frame
    if frame is not None:
        title = next((f.title for f in model.scene.frames if f.key == frame), "")
        menu.addAction(f"Collapse {title}\tEnter", lambda: view.toggle(frame))
    layer = model.layer_of(spot.box) if spot.box >= 0 else frame if frame and frame.kind == "layer" else None
    if layer is not None and layer.first == layer.last:
        menu.addAction("Fold this layer's copies into one\tU", lambda: view.toggle_layer(layer))
    elif layer is not None:
        menu.addAction(f"Show all {layer.last - layer.first + 1} copies\tU", lambda: view.toggle_layer(layer))
        one = menu.addMenu("Show one copy by itself")
        for copy in range(layer.first, layer.last + 1):
            one.addAction(f"Copy {copy + 1}", lambda c=copy: model.open_copies(layer.number, [c]))
    if not menu.isEmpty():
        menu.addSeparator()
