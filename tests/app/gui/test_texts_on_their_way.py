"""Texts that take a while: they wait behind no compilation, say how far they are, and can be given up."""

from __future__ import annotations

from pathlib import Path

import pytest
import shiboken6
from held_processes import hold, let_go
from PySide6.QtCore import Qt, QTimer

from app.viewmodels.requests import CompileRequest, KeepRequest, StageRequest
from app.viewmodels.text.text_document import EMPTY
from app.worker.compile_session import CompileSession
from compiler.options import CompileOptions

pytestmark = pytest.mark.gui
LARGE = '''"""{kernels} products, each with {ops} ops behind it."""
from compiler import Graph, TensorType, ops


def build():
    inputs = [TensorType("f32", (64, 64)), *(TensorType("f32", (64, 64 + 4 * n)) for n in range({kernels}))]
    with Graph("large", inputs=inputs) as graph:
        x, *weights = graph.inputs
        results = []
        for weight in weights:
            y = x @ weight
            for number in range({ops}):
                y = (ops.relu, ops.tanh, lambda v: v * v)[number % 3](y)
            results.append(y)
        graph.output(*results)
    return graph
'''


def large(folder: Path, kernels: int, ops: int) -> str:
    path = folder / "large.py"
    path.write_text(LARGE.format(kernels=kernels, ops=ops))
    return str(path)


def loaded(qtbot, window, timeout=60_000):
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=timeout)


def test_a_text_for_another_target_does_not_wait_for_the_other_kernels(tmp_path):
    """Measured in what is done rather than in seconds: of 16 kernels, one is asked for and one is compiled."""
    request = CompileRequest(large(tmp_path, 16, 3), CompileOptions(cache=False), None)
    session = CompileSession(request, lambda _: None)
    said = []
    kernel = session.records().kernels[15].name
    text = session.stage(StageRequest("asm", kernel, "sm_90a"), said.append)
    assert b".entry" in text.text
    assert not [progress.stage for progress in said if "LLVM optimising" in progress.stage]
    assert not session._for("sm_90a").compiled, "no kernel but that one went through LLVM"


def test_a_text_of_a_target_that_cuts_the_kernel_differently_says_whose_it_is(qtbot, compiled, tmp_path):
    """A CPU makes two kernels of this where a GPU makes one: its name is not the one in the header."""
    right = compiled.workbench.panes[1]
    path = large(tmp_path, 1, 6)
    compiled.settings.trust(path)
    compiled.opening.open(path)
    qtbot.waitUntil(lambda: compiled.state.compilation.name == "large", timeout=60_000)
    assert len(compiled.state.compilation.kernels) == 2
    right.set_target("sm_90a")
    loaded(qtbot, compiled)
    whose = right.model.document.kernel
    assert whose and f".entry {whose}(".encode() in bytes(right.model.document.data)
    assert right.strip.isVisible()
    assert right.strip.words.text() == f"sm_90a cuts it differently: this is {whose}"
    right.set_target("cpu")
    loaded(qtbot, compiled)
    assert not right.strip.isVisible() and not right.model.document.kernel


def test_texts_do_not_wait_behind_a_search_or_another_compilation(qtbot, compiled):
    """The process that holds the compilation is kept busy by keeping every stage; a text comes before that is over."""
    order = []
    compiled.compiler.ask(KeepRequest(True), lambda _: order.append("kept"))
    compiled.compiler.text(StageRequest("llvm-opt", "matmul_add"), lambda _: order.append("text"))
    qtbot.waitUntil(lambda: len(order) == 2, timeout=60_000)
    assert compiled.compiler._reader is not None


def hold_reader(qtbot, window) -> int:
    """Stop the process that makes texts: a text is then on its way for as long as a test looks."""
    window.compiler.end_reading()
    return hold(qtbot, window.compiler._reading())


def test_a_text_does_not_wait_for_another_targets_compilation(qtbot, compiled):
    kernel, came = compiled.state.compilation.kernels[0].name, []
    held = hold_reader(qtbot, compiled)
    compiled.compiler.text(StageRequest("asm", kernel, "sm_80"), lambda value: came.append(("sm_80", value)))
    compiled.compiler.text(StageRequest("llvm", kernel), lambda value: came.append(("own", value)))
    qtbot.waitUntil(lambda: bool(came), timeout=60_000)
    assert [name for name, _ in came] == ["own"]
    let_go(held)
    qtbot.waitUntil(lambda: len(came) == 2, timeout=60_000)
    assert b".target sm_80" in came[1][1].text


def test_a_text_on_its_way_says_so_and_can_be_given_up(qtbot, compiled):
    pane = compiled.workbench.panes[1]
    hold_reader(qtbot, compiled)
    pane.set_target("sm_80")
    qtbot.waitUntil(lambda: pane.waiting.isVisible())
    assert "PTX of matmul_add_relu" in pane.waiting.words.text() and not pane.text.document.lines
    pane.model.progress = ("PTX of matmul_add_relu", 0.7)  # a step may be called as its result is
    pane._progressed()
    assert pane.waiting.words.text().count("PTX of matmul_add_relu") == 1
    assert pane.waiting.cancel.isVisible()
    qtbot.mouseClick(pane.waiting.cancel, Qt.MouseButton.LeftButton)
    assert not pane.model.loading and compiled.compiler._reader is None
    assert "cancelled" in pane.waiting.words.text() and not pane.bar.text
    qtbot.mouseClick(pane.waiting.load, Qt.MouseButton.LeftButton)
    loaded(qtbot, compiled)
    assert not pane.waiting.isVisible() and b"sm_80" in bytes(pane.model.document.data)
    pane.set_target("cpu")
    loaded(qtbot, compiled)


def test_a_text_of_a_model_that_is_gone_is_not_asked_for_again(qtbot, compiled):
    """Giving up one text ends the process that makes them, and only what somebody still waits for starts another."""
    pane = compiled.workbench.panes[1]
    hold_reader(qtbot, compiled)
    pane.set_target("sm_80")
    compiled.compile.compile_file()
    qtbot.waitUntil(lambda: not compiled.compiler.busy, timeout=60_000)
    loaded(qtbot, compiled)
    hold_reader(qtbot, compiled)
    pane.set_target("sm_90a")
    qtbot.waitUntil(lambda: pane.waiting.isVisible())
    qtbot.mouseClick(pane.waiting.cancel, Qt.MouseButton.LeftButton)
    assert not pane.model.loading and compiled.compiler._reader is None
    assert not compiled.panes._texts._waiting
    pane.set_target("cpu")
    loaded(qtbot, compiled)


def test_no_line_of_another_model_stands_under_this_ones_name(qtbot, compiled):
    """Headers and texts are looked at in every turn of the window, from opening a source until its texts are there."""
    left, right = compiled.workbench.panes[:2]
    right.set_target("sm_90a")
    loaded(qtbot, compiled)
    seen = []

    def look() -> None:
        for pane in (left, right):
            if pane.text.document.lines:
                seen.append((pane.model.kernel, bytes(pane.text.document.data)))

    turns = QTimer()
    turns.timeout.connect(look)
    turns.start(0)
    compiled.opening.open("sample:softmax")
    assert "still mlp: softmax is being compiled" in left.strip.words.text()
    qtbot.waitUntil(lambda: compiled.state.compilation.name == "softmax", timeout=60_000)
    loaded(qtbot, compiled)
    turns.stop()
    look()
    assert {"matmul_add_relu", "mul_softmax"} <= {kernel for kernel, _ in seen}
    assert all(kernel.encode() in text for kernel, text in seen)
    assert not left.strip.isVisible()


def watched(window):
    """Look in every turn of the window at what each pane's header says and which text stands under it."""
    seen, turns = [], QTimer()

    def look() -> None:
        for pane in window.workbench.panes:
            if pane.text.document.lines:
                seen.append((pane.stage.value, pane.kernel.value, bytes(pane.text.document.data)))

    turns.timeout.connect(look)
    turns.start(0)
    return seen, turns


def test_another_kernel_or_stage_never_stands_over_the_text_before(qtbot, compiled):
    left = compiled.workbench.panes[0]
    seen, turns = watched(compiled)
    left.model.show(stage="asm")
    loaded(qtbot, compiled)
    for kernel in ("matmul_add", "matmul_add_relu", "matmul_add"):
        left.model.show(kernel=kernel)
        loaded(qtbot, compiled)
        qtbot.wait(5)
    turns.stop()
    assert {"matmul_add", "matmul_add_relu"} <= {kernel for _, kernel, _ in seen}
    for stage, kernel, text in seen:
        assert f"{kernel}:".encode() in text if stage == "asm" else f"def {kernel}(".encode() in text
    left.model.show(stage="source")
    loaded(qtbot, compiled)


def test_a_text_of_the_model_before_always_says_so(qtbot, compiled):
    """While another source is compiled, after that was given up, in every stage and in panes that are new."""
    compiled.opening.open("sample:transformer-block")
    left = compiled.workbench.panes[0]
    left.model.show(stage="llvm")
    added = compiled.workbench.add_pane("kgen")
    assert compiled.compiler.busy
    qtbot.keyClick(compiled, Qt.Key.Key_Escape)
    loaded(qtbot, compiled)
    for pane in compiled.workbench.panes:
        assert pane.text.document.lines
        assert pane.strip.isVisible() and pane.strip.words.text() == "still mlp: transformer-block is not compiled"
    node = compiled.state.compilation.nodes[-1].name
    compiled.state.selection.select([node], None)
    assert not any(pane.text.shown.lit.any() for pane in compiled.workbench.panes), "a node of the other graph"
    compiled.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: not compiled.compiler.busy, timeout=60_000)
    loaded(qtbot, compiled)
    assert not any(pane.strip.isVisible() for pane in compiled.workbench.panes)
    compiled.workbench.remove_pane(added)
    left.model.show(stage="source")
    loaded(qtbot, compiled)


@pytest.mark.slow
def test_five_thousand_nodes_under_an_open_ptx_pane(qtbot, compiled, tmp_path):
    right = compiled.workbench.panes[1]
    right.set_target("sm_90a")
    loaded(qtbot, compiled)
    path = large(tmp_path, 109, 44)
    compiled.settings.trust(path)
    compiled.opening.open(path)
    qtbot.waitUntil(lambda: compiled.state.compilation.name == "large", timeout=600_000)
    assert len(compiled.state.compilation.nodes) > 5_000 and len(compiled.state.compilation.kernels) >= 109
    qtbot.waitUntil(lambda: right.waiting.isVisible() or not right.model.loading)
    loaded(qtbot, compiled, timeout=60_000)
    for pane in compiled.workbench.panes[:2]:
        whose = pane.model.document.kernel or pane.model.kernel
        assert whose.encode() in bytes(pane.model.document.data)
        assert whose == pane.model.kernel or pane.strip.words.text().endswith(f"this is {whose}")


def test_a_text_that_comes_after_its_pane_was_closed_finds_nobody(qtbot, compiled):
    added = compiled.workbench.add_pane("asm", "matmul_add_relu")
    model = added.model
    compiled.workbench.remove_pane(added)
    qtbot.waitUntil(lambda: not shiboken6.isValid(added), timeout=60_000)
    model.set_document(EMPTY)  # what it was asked for comes all the same
    model.ask()
    model.set_progress("on its way")
