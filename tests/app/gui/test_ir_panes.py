"""IR panes in the real window: two targets under one selection, SASS, diffs, finding everywhere, heat, restoring."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.sources import load_source
from app.viewmodels.text.line_costs import APPORTIONED, MEASURED
from app.views.text.ir_pane import pane_menu
from compiler.errors import UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gui
KERNEL = "matmul_add_relu"


@pytest.fixture(scope="module")
def models():
    """The same compilations made directly, as the oracle of what belongs to what."""
    graph = load_source("sample:mlp").graph
    return {target: compile_graph(graph, CompileOptions(target, debug="line-tables")) for target in ("cpu", "sm_90a")}


def loaded(qtbot, window):
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


def test_cpu_assembly_and_ptx_side_by_side_under_one_selection(qtbot, compiled, models):
    left, right = compiled.workbench.panes[:2]
    left.model.show(stage="asm", kernel=KERNEL)
    loaded(qtbot, compiled)
    left.text.setFocus()
    qtbot.keyClick(compiled, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    loaded(qtbot, compiled)
    assert (left.model.target, right.model.target) == ("", "sm_90a")
    assert (left.stage.currentText(), right.stage.currentText()) == ("Assembly", "PTX")
    assert right.text.shown.language == "ptx"
    compiled.state.selection.select(["relu_0"])
    loaded(qtbot, compiled)
    for pane, target in ((left, "cpu"), (right, "sm_90a")):
        nodes = models[target].kernel(KERNEL).stage("asm").nodes
        expected = [line for line, entry in enumerate(nodes) if "relu_0" in entry]
        assert expected
        assert np.flatnonzero(pane.text.shown.lit).tolist() == expected, target
    right.set_target("cpu")
    loaded(qtbot, compiled)
    assert right.model.target == ""


def test_sass_is_shown_for_an_nvidia_target_or_says_what_is_missing(qtbot, compiled, models):
    pane = compiled.workbench.panes[1]
    pane.model.show(stage="sass", kernel=KERNEL)
    loaded(qtbot, compiled)
    assert pane.model.target == "sm_90a"
    try:
        expected = models["sm_90a"].kernel(KERNEL).stage("sass")
    except UnavailableError as error:
        assert error.message in pane.bar.text
        return
    assert bytes(pane.model.document.data).decode() == expected.text
    compiled.state.selection.select(["matmul_0"])
    lines = [line for line, entry in enumerate(expected.nodes) if "matmul_0" in entry]
    assert lines
    assert np.flatnonzero(pane.text.shown.lit).tolist() == lines


def test_leaving_sass_leaves_the_target_it_asked_for(qtbot, compiled):
    pane = compiled.workbench.panes[1]
    pane.model.show(stage="sass", kernel=KERNEL)
    loaded(qtbot, compiled)
    assert pane.model.target == "sm_90a"
    assert pane.model.state()["target"] == ""
    pane.model.show(stage="asm")
    loaded(qtbot, compiled)
    assert (pane.model.target, pane.stage.currentText()) == ("", "Assembly")
    pane.model.show(target="sm_90a")
    pane.model.show(stage="sass")
    pane.model.show(stage="asm")
    loaded(qtbot, compiled)
    assert (pane.model.target, pane.stage.currentText()) == ("sm_90a", "PTX")


def test_a_missing_sass_tool_is_a_plain_statement(qtbot, compiled):
    pane = compiled.workbench.panes[0]
    pane.model.set_error("ptxas is not on this machine (pip install 'kernelglass[sass]')", "unavailable")
    assert pane.bar.property("role") == "info"
    assert "ptxas is not on this machine" in pane.bar.text
    pane.model.ask()
    loaded(qtbot, compiled)
    assert not pane.bar.text


def test_a_pane_compares_with_the_stage_before_and_with_the_previous_compilation(qtbot, compiled):
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="llvm-opt", kernel=KERNEL)
    loaded(qtbot, compiled)
    pane.text.setFocus()
    qtbot.keyClick(pane.text, Qt.Key.Key_D)
    loaded(qtbot, compiled)
    assert pane.model.diff is not None
    assert pane.model.diff.changes
    assert "LLVM" in pane.strip.words.text()
    qtbot.keyClick(pane.text, Qt.Key.Key_D)
    loaded(qtbot, compiled)
    assert pane.model.diff is None
    compiled.choices.level.set_value("1")
    compiled.choices.level.chosen.emit("1")
    qtbot.waitUntil(lambda: compiled.state.compilation.choices.opt_level == 1, timeout=60_000)
    loaded(qtbot, compiled)
    compiled.panes.compare_pane(pane, "previous")
    loaded(qtbot, compiled)
    assert not pane.model.error
    assert "-O3" in pane.strip.words.text()
    assert pane.model.diff.changes, "-O1 and -O3 differ in optimised LLVM IR"


def test_find_everywhere_also_finds_in_stages_no_pane_shows(qtbot, compiled, models):
    shown = {pane.model.stage for pane in compiled.workbench.panes}
    qtbot.keyClick(compiled, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    view = compiled.search.view
    assert view.isVisible()
    view.regex.setChecked(True)
    view.field.setText(r"arith\.add[if]")
    view.search()
    qtbot.waitUntil(lambda: " in " in view.row.count.text(), timeout=60_000)
    hits = view.view.model.shown
    stages = {hit.stage for hit in hits}
    assert "kernel" in stages - shown
    text = models["cpu"].kernel(KERNEL).ir("kernel").splitlines()
    expected = [line for line, words in enumerate(text) if "arith.addi" in words or "arith.addf" in words]
    assert [hit.line for hit in hits if hit.stage == "kernel" and hit.kernel == KERNEL] == expected[:200]
    chosen = next(i for i, hit in enumerate(hits) if hit.stage == "kernel" and hit.kernel == KERNEL)
    view.view.table.selectRow(chosen)
    loaded(qtbot, compiled)
    pane = compiled.workbench.step_pane()
    assert pane.model.key.stage == "kernel"
    assert pane.text.shown.caret == hits[chosen].line
    first, last = pane.text.visible_range()
    assert first <= hits[chosen].line <= last
    view.field.setText("(")
    view.search()
    assert view.field.property("state") == "error"
    view.regex.setChecked(False)
    view.field.setText("relu_0")
    view.search()
    qtbot.waitUntil(lambda: " in " in view.row.count.text(), timeout=60_000)
    node = next(i for i, hit in enumerate(view.view.model.shown) if hit.stage == "graph")
    view.view.table.selectRow(node)
    assert compiled.state.selection.nodes == {"relu_0"}
    view.field.clear()
    view.search()


def test_heat_says_whether_it_is_measured_or_apportioned(qtbot, compiled):
    compiled.state.run = None
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    assert compiled.state.run is not None, compiled.runs.view.bar.text
    first, second = compiled.workbench.panes[:2]
    first.model.show(stage="mgp")
    second.model.show(stage="asm", kernel=KERNEL)
    loaded(qtbot, compiled)
    qtbot.waitUntil(lambda: first.costs is not None and second.costs is not None, timeout=60_000)
    calls = [line for line in range(first.text.document.lines) if "mgp.call" in first.text.document.line(line)]
    assert np.flatnonzero(first.costs.measured).tolist() == calls
    assert first.costs.label == MEASURED
    measured = [summary.median for summary in compiled.state.run.summaries]
    assert first.costs.seconds[calls] == pytest.approx(measured)
    assert second.costs.label == APPORTIONED
    assert not second.costs.measured.any()
    kernel = next(i for i, call in enumerate(compiled.state.compilation.calls) if call.kernel == KERNEL)
    assert second.costs.seconds.sum() <= measured[kernel] * 1.001
    hot = int(np.argmax(second.costs.seconds))
    assert "apportioned" in second.costs.words(hot)
    assert "heat apportioned" in second.coverage.text()


def test_panes_are_restored_with_the_workspace(qtbot, tmp_path):
    settings = Settings(tmp_path / "kept")
    first = MainWindow(settings)
    first.show()
    first.docks.show_work()
    qtbot.waitUntil(lambda: first.docks.bottom["log"].isVisible() or first.docks.bottom["log"].isVisibleTo(first))
    qtbot.wait_at_rest(first)
    extra = first.workbench.add_pane("llvm")
    extra.lock.setChecked(True)
    first.workbench.panes[1].model.target = "sm_90a"
    kept = first.workbench.pane_states()
    first.close()
    second = MainWindow(Settings(tmp_path / "kept"))
    second.show()
    second.docks.show_work()
    qtbot.waitUntil(lambda: len(second.workbench.panes) == 3, timeout=60_000)
    assert second.workbench.pane_states() == kept
    assert second.workbench.panes[2].lock.isChecked()
    second.close()
    for window in (first, second):
        window.deleteLater()


def test_the_header_keeps_the_stage_readable_in_a_small_window(qtbot, compiled):
    size = compiled.size()
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="llvm-opt", kernel=KERNEL)
    compiled.resize(1280, 720)
    loaded(qtbot, compiled)
    needed = pane.stage.fontMetrics().horizontalAdvance(pane.stage.currentText())
    assert pane.stage.width() >= needed + 20
    assert pane.kernel.toolTip() == KERNEL
    offered = {action.text().split("\t")[0] for action in pane_menu(pane).actions()}
    assert {"Compare with the stage before", "Go to line...", "Copy all"} <= offered
    compiled.resize(size)


def test_a_compared_pane_follows_the_selection_and_stays_compared(qtbot, compiled):
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="kernel", kernel=KERNEL)
    loaded(qtbot, compiled)
    compiled.panes.compare_pane(pane)
    loaded(qtbot, compiled)
    other = next(k for k in compiled.state.compilation.kernels if k.name != KERNEL)
    compiled.state.selection.select([other.nodes[0]])
    loaded(qtbot, compiled)
    assert pane.model.kernel == other.name
    assert pane.model.diff is not None
    assert pane.model.against.key.kernel == other.name


def test_progress_names_the_stage_and_never_goes_back(qtbot, compiled):
    told = []
    compiled.compiler.progressed.connect(lambda words, done: told.append((words, done)))
    before = compiled.state.compilation
    compiled.features.do("compile_afresh")
    qtbot.waitUntil(lambda: compiled.state.compilation is not before, timeout=60_000)
    stages = {words.split(":")[0] for words, _ in told}
    assert {"graph passes", "fusion", "elaboration", "kernel passes", "LLVM optimising and emitting"} <= stages
    shares = [done for _, done in told if done >= 0]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert 0.5 <= shares[-1] <= 1


def test_a_pane_whose_text_is_long_in_coming_shows_no_other_text(qtbot, compiled, monkeypatch):
    pane = compiled.workbench.panes[0]
    assert pane.text.document.lines
    with monkeypatch.context() as patch:
        patch.setattr(compiled.compiler, "text", lambda *arguments: None)
        pane.model.show(stage="kernel", kernel=compiled.state.compilation.kernels[1].name)
        if pane.model.loading:  # unless another test has asked for it, and it is still there
            qtbot.waitUntil(lambda: pane.text.document.lines == 0)
            assert "Loading" in pane.text.shown.empty
    pane.model.ask()
    qtbot.waitUntil(lambda: not pane.model.loading and pane.text.document.lines > 0, timeout=60_000)
