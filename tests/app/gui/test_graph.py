"""The graph in the window, with real compilations: folding, walking, finding, fusing and cutting, exporting."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QMenu

from app.views.graph.camera import Camera
from app.views.graph.places import edge_at, holding, middle_of, opening, whole

pytestmark = pytest.mark.gui

LAYERS = 4


@pytest.fixture
def llama(qtbot, shared):
    """The shared window with a few llama layers compiled, folded."""
    window = shared
    window.activateWindow()
    if window.compiler.busy:
        window.compiler.cancel(quiet=True)
    window.state.choose(force_cut=frozenset(), force_fuse=frozenset())
    now = window.state.compilation
    source = f"sample:llama-32:{LAYERS}"
    if now is None or now.source != source or now.choices.force_cut or now.choices.force_fuse:
        window.opening.open(source)
        qtbot.waitUntil(lambda: window.state.compilation is not now, timeout=60_000)
    settle(qtbot, window)
    window.graph.model.folds = type(window.graph.model.folds)()
    window.graph.model.fold_repeats(False)
    window.graph.model.fold_repeats(True)
    drawn(qtbot, window)
    window.state.selection.reset()
    window.graph.panel.view.fit()
    window.graph.panel.view.setFocus()
    return window


def settle(qtbot, window) -> None:
    qtbot.waitUntil(lambda: not window.compiler.busy and window.graph.model.layout is not None, timeout=60_000)
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


def drawn(qtbot, window) -> None:
    qtbot.waitUntil(lambda: not window.graph.model.pending and window.graph.model.layout is not None, timeout=60_000)


def layer(window):
    return next(i for i, frame in enumerate(window.graph.model.scene.frames) if frame.key.kind == "layer")


def place(window, rect: QRectF) -> QPoint:
    return window.graph.panel.view.camera.transform().map(rect.center()).toPoint()


def close_up(view, node: str) -> None:
    view.camera = replace(view.camera, scale=1.0).centred(middle_of(view.model, node))


def popup(qtbot) -> QMenu:
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    return QApplication.activePopupWidget()


def test_a_small_graph_grows_with_a_tall_view(compiled):
    usual, tall = (whole(Camera(width=width, height=height), compiled.graph.model).scale
                   for width, height in ((1000, 700), (1900, 2000)))  # fmt: skip
    assert usual <= 1.25 < tall


def test_what_is_selected_stays_in_sight_when_the_view_gets_smaller(compiled):
    model, seen = compiled.graph.model, np.zeros(len(compiled.graph.model.scene.labels), bool)
    seen[model.scene.box_of["relu_0"]] = True
    spot = middle_of(model, "relu_0")
    before = Camera(1.0, 0, 0, 800, 600).centred(spot).moved(QPointF(300, 250))  # near the lower right corner
    small = before.resized(400, 300)
    held = holding(small, before, model, seen)
    shown = QRectF(0, 0, 400, 300)
    assert not shown.contains(small.transform().map(spot)) and shown.contains(held.transform().map(spot))
    assert held.scale == small.scale
    away = before.moved(QPointF(4000, 0))
    assert holding(away.resized(400, 300), away, model, seen) == away.resized(400, 300), "it was out of sight before"
    assert holding(before.resized(900, 700), before, model, seen) == before.resized(900, 700), "it is in sight"


def test_repeated_layers_are_one_frame_and_a_click_selects_every_copy(qtbot, llama):
    graph, view = llama.graph.model, llama.graph.panel.view
    frame = graph.scene.frames[layer(llama)]
    assert frame.copies == LAYERS
    assert f"\u00d7 {LAYERS}" in frame.title
    node = next(n.name for n in llama.state.compilation.nodes if n.op == "silu")
    close_up(view, node)
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.point_of(node).toPoint())
    chosen = llama.state.selection.nodes
    assert len(chosen) == LAYERS
    assert {llama.state.compilation.node_table[n].op for n in chosen} == {"silu"}
    kernel = llama.state.compilation.kernels_of(chosen)
    assert len(kernel) == 1  # the same kernel in every layer
    qtbot.waitUntil(lambda: not any(p.model.loading for p in llama.workbench.panes), timeout=60_000)
    assert all(pane.model.kernel == kernel[0] for pane in llama.workbench.panes)


def test_the_button_of_a_layer_unfolds_it_and_then_one_copy_is_selected(qtbot, llama):
    graph, view = llama.graph.model, llama.graph.panel.view
    number = layer(llama)
    rect = QRectF(*graph.layout.groups[number])
    chip = view.painter.frames.chip(number, rect)
    view.camera = replace(view.camera, scale=1.0, x=100 - chip.center().x(), y=100 - chip.center().y())
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=place(llama, chip))
    drawn(qtbot, llama)
    assert sum(frame.key.kind == "layer" for frame in graph.scene.frames) == LAYERS
    node = [n.name for n in llama.state.compilation.nodes if n.op == "silu"][1]
    close_up(view, node)
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.point_of(node).toPoint())
    assert llama.state.selection.nodes == {node}
    qtbot.keyClick(view, Qt.Key.Key_U)
    drawn(qtbot, llama)
    assert graph.scene.frames[layer(llama)].copies == LAYERS
    assert view.marks.lit[graph.scene.box_of[node]]


def test_one_copy_can_be_taken_out_from_the_menu(qtbot, llama):
    view = llama.graph.panel.view
    node = next(n.name for n in llama.state.compilation.nodes if n.op == "silu")
    llama.state.selection.select([node])
    qtbot.keyClick(view, Qt.Key.Key_X)
    menu = popup(qtbot)
    (sub,) = menu.findChildren(QMenu)
    assert "one copy" in sub.title()
    sub.actions()[2].trigger()
    menu.close()
    drawn(qtbot, llama)
    titles = [f.title.split("  ")[0] for f in llama.graph.model.scene.frames if f.key.kind == "layer"]
    assert titles == ["layers 1 to 2 \u00d7 2", "layer 3 of 4", "layer 4 of 4"]


def test_enter_collapses_and_expands_by_keyboard_alone(qtbot, llama):
    graph, view = llama.graph.model, llama.graph.panel.view
    node = next(n.name for n in llama.state.compilation.nodes if n.op == "silu")
    llama.state.selection.select([node])
    qtbot.keyClick(view, Qt.Key.Key_Return)
    drawn(qtbot, llama)
    box = graph.scene.box_of[node]
    assert graph.scene.kinds[box] == "group"
    assert view.marks.current == box
    assert "collapsed kernel" in view.accessibleDescription() or graph.scene.labels[box]
    qtbot.keyClick(view, Qt.Key.Key_Return)
    drawn(qtbot, llama)
    assert graph.scene.kinds[graph.scene.box_of[node]] == "op"


def test_finding_a_node_of_one_copy_opens_that_copy(qtbot, llama):
    graph, panel = llama.graph.model, llama.graph.panel
    node = [n.name for n in llama.state.compilation.nodes if n.op == "silu"][2]
    panel.open_find()
    panel.field.setText(node)
    assert "1 found" in panel.found.text()
    assert graph.scene.box_of[node] in panel.view.marks.found
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    drawn(qtbot, llama)
    assert graph.scene.box_nodes[graph.scene.box_of[node]] == (node,)
    assert llama.state.selection.nodes == {node}
    assert panel.view.camera.seen().contains(panel.view.camera.to_scene(panel.view.point_of(node)))
    panel.field.setText("silu f32")
    assert panel.found.text().startswith(f"{LAYERS} found")
    qtbot.keyClick(panel.field, Qt.Key.Key_Escape)
    assert not panel.view.marks.found


def test_arrows_walk_along_edges_and_say_where_they_are(qtbot, compiled):
    view, graph = compiled.graph.panel.view, compiled.graph.model
    view.setFocus()
    compiled.state.selection.select(["add_0"])
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert compiled.state.selection.nodes == {"relu_0"}
    assert view.accessibleDescription().startswith("relu_0, op relu, f32")
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert compiled.state.selection.nodes == {"add_0"}
    before = view.camera
    qtbot.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert view.camera != before
    qtbot.keyClick(view, Qt.Key.Key_Space)
    seen = view.camera.seen()
    assert seen.width() >= graph.layout.width
    assert seen.height() >= graph.layout.height
    qtbot.keyClick(view, Qt.Key.Key_F)
    assert view.camera.seen().width() < graph.layout.width or view.camera.scale > 1


def test_every_edge_is_found_where_it_is_drawn(qtbot, compiled):
    view, graph = compiled.graph.panel.view, compiled.graph.model
    view.fit()
    for edge in range(len(graph.scene.edges)):
        path = view.painter.path(edge)
        drawn_at = [view.camera.transform().map(path.pointAtPercent(share)) for share in (0.2, 0.35, 0.5)]
        found = {edge_at(graph, view.camera.to_scene(point), view.camera.scale) for point in drawn_at}
        assert found & {edge}, f"edge {edge} is not where it is drawn"
        assert -1 not in found
    assert edge_at(graph, view.camera.to_scene(QPointF(2, view.height() - 2)), view.camera.scale) == -1


def test_an_edge_is_cut_from_its_menu_and_the_comparison_opens(qtbot, compiled):
    view, graph = compiled.graph.panel.view, compiled.graph.model
    before = compiled.state.compilation
    assert before.node_table["add_0"].call == before.node_table["relu_0"].call
    view.fit()
    edge = graph.scene.edges.index((graph.scene.box_of["add_0"], graph.scene.box_of["relu_0"]))
    points = graph.layout.points[graph.layout.edge_starts[edge] : graph.layout.edge_starts[edge + 1]]
    middle = view.camera.transform().map((points[0] + points[-1])[0] / 2, (points[0] + points[-1])[1] / 2)
    from PySide6.QtGui import QContextMenuEvent

    spot = QPoint(round(middle[0]), round(middle[1]))
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, spot, view.mapToGlobal(spot))
    QApplication.sendEvent(view, event)
    menu = popup(qtbot)
    action = next(a for a in menu.actions() if a.text().startswith("Cut here: add_0"))
    action.trigger()
    menu.close()
    qtbot.waitUntil(lambda: compiled.state.compilation is not before, timeout=60_000)
    after = compiled.state.compilation
    assert after.choices.force_cut == {("add_0", "relu_0")}
    said = {(d.producer, d.consumer): d.reason for d in after.ledger}
    assert said["add_0", "relu_0"] == "forced cut", "the ledger says whose doing it is"
    assert after.node_table["add_0"].call != after.node_table["relu_0"].call
    assert compiled.state.previous is before
    settle(qtbot, compiled)
    compares = lambda: any(p.model.against is not None or p.model.diff is not None for p in compiled.workbench.panes)  # noqa: E731
    qtbot.waitUntil(lambda: compiled.comparison.view.isVisible() or compares(), timeout=60_000)


def test_an_edge_is_fused_again_with_the_keyboard(qtbot, compiled):
    compiled.what_if.force((("add_0", "relu_0"),), False)
    qtbot.waitUntil(lambda: bool(compiled.state.compilation.choices.force_cut), timeout=60_000)
    settle(qtbot, compiled)
    compiled.graph.panel.view.setFocus()
    compiled.state.selection.select(["relu_0"])
    qtbot.keyClick(compiled.graph.panel.view, Qt.Key.Key_X)
    menu = popup(qtbot)
    action = next(a for a in menu.actions() if a.text().startswith("Fuse here: add_0"))
    action.trigger()
    menu.close()
    qtbot.waitUntil(lambda: not compiled.state.compilation.choices.force_cut, timeout=60_000)
    table = compiled.state.compilation.node_table
    assert table["add_0"].call == table["relu_0"].call
    settle(qtbot, compiled)


def test_a_cut_in_a_folded_layer_is_made_in_every_copy(qtbot, llama):
    from app.views.graph.menu import changes_at
    from app.views.graph.view import GraphSpot

    graph = llama.graph.model
    silu = next(n for n in llama.state.compilation.nodes if n.op == "silu")
    edges = [i for i, (_, b) in enumerate(graph.scene.edges) if b == graph.scene.box_of[silu.name]]
    changes = changes_at(graph, llama.state.compilation, GraphSpot(edge=edges[0]))
    assert len(changes[0].pairs) == LAYERS
    assert f"in all {LAYERS} copies" in changes[0].text


def test_a_what_if_that_is_cancelled_leaves_the_choices_as_they_were(qtbot, compiled):
    compiled.what_if.force((("add_0", "relu_0"),), False)
    assert compiled.state.choices.force_cut
    compiled.compiler.cancel()
    assert not compiled.state.choices.force_cut
    assert not compiled.what_if.comparing


def test_an_edge_that_cannot_be_fused_says_why_and_changes_nothing(qtbot, llama):
    before = llama.state.compilation
    refused = next(d for d in before.ledger if not d.accepted and d.rule == "view")
    llama.what_if.force(((refused.producer, refused.consumer),), True)
    qtbot.waitUntil(lambda: llama.state.compilation is not before, timeout=60_000)
    assert f"cannot fuse {refused.producer}" in llama.graph.panel.bar.text
    assert refused.reason in llama.graph.panel.bar.text
    assert not llama.state.choices.force_fuse
    assert not llama.what_if.comparing
    llama.graph.panel.bar.hide()
    settle(qtbot, llama)


def test_an_exported_picture_shows_what_the_view_shows(qtbot, compiled, tmp_path):
    panel, layout = compiled.graph.panel, compiled.graph.model.layout
    svg, png = tmp_path / "g.svg", tmp_path / "g.png"
    assert panel.save_svg(str(svg))
    assert panel.save_png(str(png))
    texts = " ".join(ElementTree.parse(svg).getroot().itertext())
    for node in compiled.state.compilation.nodes:
        assert node.name in texts
    renderer = QSvgRenderer(str(svg))
    assert renderer.isValid()
    assert renderer.viewBoxF().width() == pytest.approx(layout.width + 40, abs=1)
    picture = QImage(str(png))
    assert (picture.width(), picture.height()) == (int((layout.width + 40) * 2), int((layout.height + 40) * 2))
    drawing = QImage(picture.size(), QImage.Format.Format_ARGB32)
    drawing.fill(0)
    painter = QPainter(drawing)
    renderer.render(painter)
    painter.end()
    colours = {picture.pixel(x, y) for x in range(0, picture.width(), 7) for y in range(0, picture.height(), 7)}
    assert len(colours) > 20
    same = sum(
        abs((picture.pixel(x, y) & 255) - (drawing.pixel(x, y) & 255)) < 40
        for x in range(0, picture.width(), 11)
        for y in range(0, picture.height(), 11)
    )
    total = len(range(0, picture.width(), 11)) * len(range(0, picture.height(), 11))
    assert same / total > 0.9


def test_heat_says_what_is_measured_and_what_is_divided_up(qtbot, compiled):
    graph = compiled.graph.model
    graph.set_heat("time")
    assert "not measured" in graph.heat_note
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and bool(graph.times), timeout=60_000)
    assert "measured per kernel, apportioned" in graph.heat_note
    total = float((graph.heat_values**2).sum() * graph.heat_top)
    assert total == pytest.approx(sum(graph.times.values()), rel=1e-6)
    graph.set_heat("none")


def test_a_view_that_has_no_room_yet_still_looks_at_the_graph(compiled):
    camera = opening(Camera(width=30, height=0), compiled.graph.model)
    assert all(np.isfinite([camera.x, camera.y, camera.scale]))


def test_no_node_lies_under_the_legend_of_the_heat(qtbot, compiled):
    view, model = compiled.graph.panel.view, compiled.graph.model
    view.fit()
    before = view.camera
    model.set_heat("bytes")
    lowest = max(view.point_of(node.name).y() for node in compiled.state.compilation.nodes)
    assert view.height() - lowest > 45
    assert min(view.point_of(node.name).y() for node in compiled.state.compilation.nodes) > 0
    model.set_heat("none")
    assert view.camera == before, "the room is given back"
    view.start_view()
