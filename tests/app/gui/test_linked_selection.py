"""Open a sample, compile, click: the right lines light up in every pane, checked against the compiler's provenance."""

from __future__ import annotations

import numpy as np
import pytest
from hands import point_of_line
from PySide6.QtCore import QPoint, Qt

from app.sources import load_source
from app.worker.extract import source_nodes
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gui

STAGES = ("mo", "source", "kgen", "kernel", "llvm", "llvm-opt", "asm")


@pytest.fixture(scope="module")
def model():
    """The same compilation made directly, as the oracle of what belongs to what."""
    return compile_graph(load_source("sample:mlp").graph, CompileOptions(debug="line-tables"))


def show_stages(qtbot, window):
    while len(window.workbench.panes) < len(STAGES):
        window.workbench.add_pane("mo")
    for pane, stage in zip(window.workbench.panes, STAGES):
        pane.model.show(stage=stage)
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


def click_node(qtbot, window, node):
    view = window.graph.panel.view
    view.reveal(window.graph.model.boxes_of(frozenset([node])))
    point = view.point_of(node).toPoint()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point)


def test_clicking_a_node_lights_its_lines_in_every_stage(qtbot, compiled, model):
    show_stages(qtbot, compiled)
    click_node(qtbot, compiled, "relu_0")
    assert compiled.state.selection.nodes == {"relu_0"}
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in compiled.workbench.panes), timeout=60_000)
    kernel = next(k for k in model.kernels if "relu_0" in k.nodes)
    for pane in compiled.workbench.panes:
        if pane.model.stage == "source":
            nodes = source_nodes(kernel)
        else:
            nodes = (model if pane.model.stage == "mo" else kernel).stage(pane.model.stage).nodes
        expected = [index for index, entry in enumerate(nodes) if "relu_0" in entry]
        assert np.flatnonzero(pane.text.shown.lit).tolist() == expected, pane.model.stage
        if expected:
            first, last = pane.text.visible_range()
            assert any(first <= line <= last for line in expected), f"{pane.model.stage} did not scroll"
    assert sum(pane.text.shown.lit.any() for pane in compiled.workbench.panes) >= 6


def test_panes_follow_the_selection_to_another_kernel_unless_locked(qtbot, compiled):
    first, second = compiled.workbench.panes[:2]
    for pane, stage in ((first, "source"), (second, "asm")):
        pane.model.show(stage=stage, kernel=compiled.state.compilation.kernels[0].name)
    second.lock.setChecked(True)
    before = second.model.kernel
    target = next(k for k in compiled.state.compilation.kernels if k.name != before)
    compiled.state.selection.select([target.nodes[0]])
    assert first.model.kernel == target.name
    assert second.model.kernel == before


def test_clicking_a_line_selects_its_nodes_everywhere(qtbot, compiled):
    pane = next(p for p in compiled.workbench.panes if p.model.stage == "source")
    line = next(i for i in range(pane.text.document.lines) if pane.text.document.nodes(i))
    pane.text.reveal(line)
    qtbot.mouseClick(pane.text.viewport(), Qt.MouseButton.LeftButton, pos=point_of_line(pane.text, line))
    nodes = set(pane.text.document.nodes(line))
    assert compiled.state.selection.nodes == nodes
    lit = {compiled.graph.model.scene.labels[i] for i in np.flatnonzero(compiled.graph.panel.view.marks.lit)}
    assert lit == nodes


def test_a_kernel_row_selects_its_nodes_and_history_walks_back(qtbot, compiled):
    table = compiled.explorer.kernels.view.table
    for row in (0, 1):
        table.selectRow(row)
    kernels = compiled.state.compilation.kernels
    assert compiled.state.selection.nodes == set(kernels[1].nodes)
    qtbot.keyClick(compiled, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert compiled.state.selection.nodes == set(kernels[0].nodes)
    qtbot.keyClick(compiled, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert compiled.state.selection.nodes == set(kernels[1].nodes)
    qtbot.keyClick(compiled, Qt.Key.Key_Escape)
    assert not compiled.state.selection.nodes


def test_hovering_is_a_light_version(qtbot, compiled):
    kernel = compiled.state.compilation.kernels_of(frozenset(["relu_0"]))[0]
    compiled.workbench.panes[0].model.show(kernel=kernel)
    qtbot.waitUntil(lambda: not compiled.workbench.panes[0].model.loading, timeout=60_000)
    view = compiled.graph.panel.view
    qtbot.mouseMove(view, QPoint(2, 2))
    view.reveal(compiled.graph.model.boxes_of(frozenset(["relu_0"])))
    qtbot.mouseMove(view, view.point_of("relu_0").toPoint())
    qtbot.waitUntil(lambda: compiled.state.selection.hover_nodes == {"relu_0"})
    assert not compiled.state.selection.nodes
    assert any(pane.text.shown.hovered.any() for pane in compiled.workbench.panes)
    qtbot.mouseMove(view, QPoint(2, 2))


def test_the_inspector_says_why_an_edge_was_fused(compiled):
    from app.viewmodels.frame.inspection import inspect

    title, sections = inspect(compiled.state.compilation, frozenset(["relu_0"]))
    assert title == "relu_0"
    ledger = next(s for s in sections if s.title == "Fusion ledger")
    assert any("fused by" in entry.value for entry in ledger.entries)
