"""Stepping through the passes of a kernel in the real window: the list, the diffs, their provenance."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.sources import load_source
from compiler.backend.provenance import line_provenance
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gui
KERNEL = "matmul_add_relu"


@pytest.fixture(scope="module")
def oracle():
    """The same kernel's snapshots made directly."""
    model = compile_graph(load_source("sample:mlp").graph, CompileOptions(debug="line-tables"))
    return model.kernel(KERNEL), model.snapshot(KERNEL)


@pytest.fixture
def stepping(qtbot, compiled):
    compiled.explorer.tabs.setCurrentWidget(compiled.passes.view)
    compiled.passes.view.changed_only.setChecked(False)
    compiled.passes.view.llvm.setChecked(True)
    compiled.passes.view.kernel.set_value(KERNEL)
    compiled.passes.view.kernel_wanted.emit(KERNEL)
    qtbot.waitUntil(lambda: any(step.step >= 0 for step in compiled.passes.view.view.model.shown), timeout=60_000)
    qtbot.waitUntil(lambda: not compiled.compiler.busy, timeout=60_000)
    yield compiled
    compiled.passes.show_kernel("")
    compiled.explorer.tabs.setCurrentIndex(0)


def loaded(qtbot, window):
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


def row_of(window, step: int) -> int:
    return next(row for row, entry in enumerate(window.passes.view.view.model.shown) if entry.step == step)


def test_the_list_has_every_snapshot_with_time_ops_and_bytes(stepping, oracle):
    _, snapshots = oracle
    shown = [step for step in stepping.passes.view.view.model.shown if step.step >= 0]
    assert [(s.stage, s.name, s.scope) for s in shown] == [(s.stage, s.name, s.scope) for s in snapshots]
    assert [(s.ops_before, s.ops_after, s.bytes_after) for s in shown] == [
        (s.ops_before, s.ops_after, s.bytes_after) for s in snapshots
    ]
    assert {"kernel", "llvm"} <= {step.stage for step in stepping.passes.view.view.model.shown}
    assert any(step.llvms for step in shown)


def test_in_the_list_of_all_kernels_each_row_says_whose_it_is(stepping):
    view = stepping.passes.view
    assert not any(KERNEL in view.second_line(step) for step in view.view.model.shown), "the choice above it says so"
    stepping.passes.show_kernel("")
    names = {kernel.name for kernel in stepping.state.compilation.kernels}
    assert names <= {step.kernel for step in view.view.model.shown}
    whose = {name: name for name in names} | {"": ""}
    for step in view.view.model.shown:
        assert view.second_line(step).startswith(whose.get(step.kernel, "shared by kernels"))


def test_unchanged_and_llvm_passes_can_be_hidden(stepping):
    everything = stepping.passes.view.view.model.shown
    assert any(not step.changed for step in everything)
    stepping.passes.view.changed_only.setChecked(True)
    assert stepping.passes.view.view.model.shown == [step for step in everything if step.changed]
    stepping.passes.view.changed_only.setChecked(False)
    stepping.passes.view.llvm.setChecked(False)
    assert not any(step.llvms for step in stepping.passes.view.view.model.shown)


def test_arrow_keys_step_and_the_pane_shows_the_diff_with_its_nodes(qtbot, stepping, oracle):
    kernel, snapshots = oracle
    number = next(n for n, s in enumerate(snapshots) if s.stage == "llvm" and n and snapshots[n - 1].stage == "llvm")
    table = stepping.passes.view.view.table
    table.setFocus()
    table.selectRow(row_of(stepping, number - 1))
    loaded(qtbot, stepping)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    pane = stepping.workbench.step_pane()
    qtbot.waitUntil(lambda: pane.model.step == number and not pane.model.loading, timeout=60_000)
    assert not pane.model.error
    before, after = snapshots[number - 1].text.splitlines(), snapshots[number].text.splitlines()
    shown = [pane.model.diff.document.line(line) for line in range(pane.model.diff.document.lines)]
    kept_after = [line for line, mark in zip(shown, pane.model.diff.marks) if mark >= 0]
    assert kept_after == [line.expandtabs(8) for line in after]
    assert pane.model.diff.went == sum(mark < 0 for mark in pane.model.diff.marks)
    assert len(before) == sum(mark <= 0 for mark in pane.model.diff.marks)
    assert snapshots[number].name in pane.strip.words.text()
    assert pane.strip.isVisible()
    provenance = line_provenance(snapshots[number].text, "llvm")
    nodes = kernel.with_nodes(snapshots[number].text, provenance).nodes
    lines = [line for line, mark in enumerate(pane.model.diff.marks) if mark >= 0]
    assert [pane.model.diff.document.nodes(line) for line in lines] == list(nodes)
    stepping.state.selection.select(["matmul_0"])
    lit = [line for line, index in enumerate(lines) if pane.text.shown.lit[index]]
    assert lit == [line for line, entry in enumerate(nodes) if "matmul_0" in entry]


def test_mlir_passes_know_their_nodes_too(qtbot, stepping, oracle):
    _, snapshots = oracle
    number = next(n for n, s in enumerate(snapshots) if s.stage == "kernel" and n)
    stepping.passes.view.view.table.selectRow(row_of(stepping, number))
    loaded(qtbot, stepping)
    pane = stepping.workbench.step_pane()
    known = [bool(pane.model.document.nodes(line)) for line in range(pane.model.document.lines)]
    assert np.sum(known) == sum(bool(number) for number in snapshots[number].provenance) > 0


def test_f7_walks_the_differences_and_closing_the_strip_brings_the_stage_back(qtbot, stepping, oracle):
    _, snapshots = oracle
    number = max(
        (n for n, s in enumerate(snapshots) if n and s.stage == snapshots[n - 1].stage),
        key=lambda n: abs(snapshots[n].bytes_after - snapshots[n].bytes_before),
    )
    stepping.passes.view.view.table.selectRow(row_of(stepping, number))
    loaded(qtbot, stepping)
    pane = stepping.workbench.step_pane()
    places = []
    for _ in range(len(pane.model.diff.changes)):
        qtbot.keyClick(stepping, Qt.Key.Key_F7)
        places.append(pane.text.shown.caret)
    assert sorted(places) == pane.model.diff.changes
    qtbot.keyClick(stepping, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert pane.text.shown.caret in pane.model.diff.changes
    pane.strip.closed.emit()
    loaded(qtbot, stepping)
    assert pane.model.diff is None
    assert not pane.strip.isVisible()
    assert pane.model.step == -1


def test_a_second_look_is_answered_from_what_is_known(qtbot, stepping, monkeypatch):
    monkeypatch.setattr(stepping.compiler, "passes", lambda *_: pytest.fail("asked again"))
    stepping.passes.show_kernel("")
    assert all(step.step < 0 for step in stepping.passes.view.view.model.shown)
    stepping.passes.show_kernel(KERNEL)
    assert any(step.step >= 0 for step in stepping.passes.view.view.model.shown)


def test_running_the_passes_can_be_cancelled(qtbot, stepping):
    other = next(k.name for k in stepping.state.compilation.kernels if k.name != KERNEL)
    stepping.passes.show_kernel(other)
    assert stepping.compiler.busy
    qtbot.waitUntil(lambda: stepping.status.cancel.isVisible())
    qtbot.keyClick(stepping, Qt.Key.Key_Escape)
    assert not stepping.compiler.busy
    stepping.passes.show_kernel(KERNEL)
    pane = stepping.workbench.step_pane()
    pane.model.show(stage="kgen", kernel=other)
    loaded(qtbot, stepping)
    assert not pane.model.error, "the compilation was not revived"
