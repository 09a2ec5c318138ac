"""A click on a line lights its exact counterparts in every other pane strongly, and the node's other lines faintly."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from hands import point_of_line
from paintings import Paintings
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

pytestmark = pytest.mark.gui
KERNEL = "matmul_add_relu"


def panes_with(qtbot, window, *stages, target=""):
    while len(window.workbench.panes) < len(stages):
        window.workbench.add_pane("asm")
    panes = window.workbench.panes[: len(stages)]
    for pane, stage in zip(panes, stages):
        pane.model.show(stage=stage, kernel=KERNEL, target=target if stage in ("asm", "llvm-opt", "kernel") else "")
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in panes), timeout=60_000)
    return panes


def click(qtbot, pane, line):
    pane.text.reveal(line)
    place = point_of_line(pane.text, line)
    qtbot.mouseClick(pane.text.viewport(), Qt.MouseButton.LeftButton, pos=place)


def lines(pane, words):
    return [n for n in range(pane.text.document.lines) if words in pane.text.document.line(n)]


def strong(pane):
    return np.flatnonzero(pane.text.shown.exact) if pane.text.shown.exact is not None else None


def loaded(qtbot, window):
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


@pytest.mark.parametrize("target", ["", "sm_90a"])
def test_a_machine_line_of_a_product_lights_its_line_of_the_library_and_not_the_whole_node(qtbot, compiled, target):
    asm, opt, ir, library = panes_with(qtbot, compiled, "asm", "llvm-opt", "kernel", "library", target=target)
    document = asm.text.document
    fused = [n for n in range(document.lines) if re.search(r"\tv?fm", document.text(n, n))]
    product = [n for n in fused if document.nodes(n) == ("matmul_0",)]
    line = product[len(product) // 2]
    file, number = document.place(line)
    click(qtbot, asm, line)
    loaded(qtbot, compiled)
    assert compiled.state.selection.nodes == {"matmul_0"}
    assert library.model.file == file and strong(library).tolist() == [number - 1]
    first, last = library.text.visible_range()
    assert first <= number - 1 <= last
    for pane in (asm, opt, ir):
        chosen = strong(pane)
        assert len(chosen) and all(pane.text.document.place(int(n)) == (file, number) for n in chosen)
        assert len(chosen) < pane.text.shown.lit.sum() / 2, "not the whole node"
        first, last = pane.text.visible_range()
        assert any(first <= n <= last for n in chosen)
    assert line in strong(asm)


def test_the_line_of_the_model_the_node_and_the_generated_line_are_one(qtbot, compiled):
    source, python, mo, asm = panes_with(qtbot, compiled, "source", "python", "mo", "asm")
    click(qtbot, python, lines(python, "ops.relu")[0])
    loaded(qtbot, compiled)
    assert "relu_0" in compiled.state.selection.nodes
    click(qtbot, source, lines(source, "= relu(")[0])
    loaded(qtbot, compiled)
    assert compiled.state.selection.nodes == {"relu_0"}
    assert [python.text.document.line(int(n)) for n in strong(python)] == [
        python.text.document.line(n) for n in lines(python, "ops.relu")
    ]
    assert all("relu" in mo.text.document.line(int(n)) for n in strong(mo)) and len(strong(mo))
    assert len(strong(asm)) and all(asm.text.document.nodes(int(n)) == ("relu_0",) for n in strong(asm))


def test_a_line_of_the_library_lights_what_was_made_of_it(qtbot, compiled):
    library, asm, ir, _ = panes_with(qtbot, compiled, "library", "asm", "kernel", "mo")
    document = asm.text.document
    at = next(n for n in range(document.lines) if document.place(n)[0].endswith("elementwise_unary.py"))
    file, number = document.place(at)
    library.model.show_file(file)
    loaded(qtbot, compiled)
    click(qtbot, library, number - 1)
    assert compiled.state.selection.nodes == {"relu_0"}
    assert at in strong(asm) and len(strong(ir))
    assert strong(library).tolist() == [number - 1]
    compiled.state.selection.select(["matmul_0"])
    assert strong(asm) is None, "a node of the graph is meant as a whole"


def test_a_click_is_answered_within_fifty_milliseconds(qtbot, compiled):
    panes = panes_with(qtbot, compiled, "asm", "llvm-opt", "kernel", "library")
    views = [view for view in (pane.text.viewport() for pane in panes) if not view.visibleRegion().isEmpty()]
    asm = panes[0]
    assert len(views) > 2, "there is no room for the last"
    document = asm.text.document
    known = [n for n in range(document.lines) if document.place(n)[1] and document.nodes(n)]
    took = []
    for line in known[:: max(len(known) // 12, 1)]:
        compiled.state.selection.select(())
        asm.text.reveal(line)
        qtbot.wait_at_rest(compiled)
        painted = Paintings(views)
        begun = time.thread_time()  # other processes of the machine are none of it
        click(qtbot, asm, line)
        while not painted.complete and time.thread_time() - begun < 5:
            QApplication.processEvents()
        took.append(time.thread_time() - begun)
        loaded(qtbot, compiled)
    assert sorted(took)[len(took) // 2] < 0.05, took


def test_a_line_of_the_generated_kernel_lights_the_line_of_the_library_that_called_it(qtbot, compiled):
    asm, source, library, _ = panes_with(qtbot, compiled, "asm", "source", "library", "mo")
    document = asm.text.document
    own = f"{KERNEL}.py"
    shown = np.flatnonzero(~asm.text.shown.noise).tolist()  # directives have no row to click at
    line = next(n for n in shown if document.place(n)[0] == own and document.library_place(n)[1])
    click(qtbot, asm, line)
    loaded(qtbot, compiled)
    file, number = document.library_place(line)
    assert library.model.file == file and strong(library).tolist() == [number - 1]
    assert strong(source).tolist() == [document.place(line)[1] - 1]
    click(qtbot, library, number - 1)
    assert line in strong(asm), "and back"
    assert "for " in asm.text.tip_of(line, -1)
