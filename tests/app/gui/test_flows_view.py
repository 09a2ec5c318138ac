"""The flows view driven by clicks, with real child processes: measure, stop and keep, measure one again, export."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import psutil
import pytest
from hands import choose
from PySide6.QtCore import Qt

from app.flows.cells import Cell
from app.viewmodels.runs.flows import DONE, RUNNING, STOPPED, WAITING, FlowRow

pytestmark = pytest.mark.gui


@pytest.fixture
def flows(qtbot, compiled):
    """The view with two cells chosen and nothing measured."""
    window = compiled
    if window.flows.busy:
        window.flows.cancel()
    window.docks.show("flows")
    view = window.flows.view
    choose(view.levels, ("0",))
    choose(view.debugs, ("none",))
    choose(view.caches, ("cold",))
    choose(view.ends, ("compiled",))
    view.repeat.setValue(1)
    return view


def children():
    """What measures: the processes that compile, wherever in the tree they are."""
    found = []
    for process in psutil.process_iter():
        try:
            if "app.worker.flow_child" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait(qtbot, window):
    qtbot.waitUntil(lambda: not window.flows.busy, timeout=60_000)


def test_measuring_again_and_exporting(qtbot, compiled, flows, tmp_path, monkeypatch):
    qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
    assert compiled.status.cancel.isVisible()
    assert flows.measure.text() == "Stop"
    wait(qtbot, compiled)
    assert not flows.bar.text
    rows = [flows.view.model.record(row) for row in range(flows.view.model.rowCount())]
    assert [row.cell.flow for row in rows] == ["per-kernel", "all-kernel"]
    assert all(row.state == "done" and row.figures["user_s"] > 0 for row in rows)
    assert all(row.figures["peak_bytes"] > 1 << 20 for row in rows)
    per_kernel, all_kernel = (row.figures["user_s"] + row.figures["system_s"] for row in rows)
    assert rows[1].time_ratio == pytest.approx(per_kernel / all_kernel)
    assert "2 kernels" in flows.note.text() and "sample:mlp" in flows.note.text()

    flows.view.table.selectRow(0)
    qtbot.mouseClick(flows.again, Qt.MouseButton.LeftButton)
    wait(qtbot, compiled)
    again = [flows.view.model.record(row) for row in range(flows.view.model.rowCount())]
    assert again[0].figures != rows[0].figures, "the chosen cell was measured again"
    assert again[1].figures == rows[1].figures, "the other was left alone"
    assert [row.cell for row in flows.view.selected()] == [rows[0].cell], "and what was selected stays so"

    for kind, suffix in (("text", "txt"), ("md", "md"), ("csv", "csv"), ("json", "json")):
        target = tmp_path / f"flows.{suffix}"
        monkeypatch.setattr("app.controllers.flows.path_to_save", lambda *a, t=target, **k: (str(t), ""))
        flows.exports[kind].trigger()
        assert "wrote" in flows.bar.text
        assert "per-kernel" in target.read_text()
    document = json.loads((tmp_path / "flows.json").read_text())
    assert document["cells"][0]["user_s"] == again[0].figures["user_s"]
    assert len(list(csv.DictReader((tmp_path / "flows.csv").open()))) == 2


def test_stopping_keeps_finished_cells_and_leaves_no_process(qtbot, compiled, flows):
    choose(flows.levels, ("1",))
    flows.repeat.setValue(20)
    qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
    model = compiled.flows.model
    cell = Cell("per-kernel", 1, "none", "cold")
    qtbot.waitUntil(lambda: any(row.cell == cell and row.taken >= 1 for row in model.rows()), timeout=60_000)
    assert 0 < compiled.status.progress.value() < 100
    assert "of 40" in compiled.status.what.text()
    qtbot.waitUntil(lambda: bool(children()), timeout=60_000)
    qtbot.mouseClick(compiled.status.cancel, Qt.MouseButton.LeftButton)
    assert not compiled.flows.busy
    assert not compiled.status.cancel.isVisible()
    (kept,) = (row for row in model.rows() if row.cell == cell)
    assert kept.figures["user_s"] > 0 and 1 <= kept.taken < 20
    assert "Stopped" in flows.note.text()
    qtbot.waitUntil(lambda: not children(), timeout=60_000)
    assert flows.export.isEnabled()


def test_the_first_result_is_measured_cell_by_cell(qtbot, compiled, flows, tmp_path, monkeypatch):
    choose(flows.ends, ("first result",))
    choose(flows.levels, ("0", "1"))
    assert [str(cell) for cell in flows.chosen_cells()] == [
        "per-kernel -O1 none cold to first result", "all-kernel -O1 none cold to first result",
    ]  # fmt: skip
    qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
    wait(qtbot, compiled)
    assert not flows.bar.text
    rows = {row.cell: row for row in flows.rows if row.cell.execute}
    per_kernel, all_kernel = (rows[Cell(flow, 1, "none", "cold", True)] for flow in ("per-kernel", "all-kernel"))
    first = [row.figures["first_result_s"] for row in (per_kernel, all_kernel)]
    assert all(row.figures["compile_s"] < row.figures["first_result_s"] for row in (per_kernel, all_kernel))
    assert all_kernel.time_ratio == pytest.approx(first[0] / first[1])
    table = flows.view.table
    column = next(c for c, known in enumerate(flows.view.model.columns) if known.title == "First result")
    assert not table.isColumnHidden(column)
    row = flows.view.model.row_of(all_kernel)
    assert "s" in flows.view.model.data(flows.view.model.index(row, column))

    table.selectRow(row)
    qtbot.mouseClick(flows.again, Qt.MouseButton.LeftButton)
    wait(qtbot, compiled)
    again = {row.cell: row for row in flows.rows if row.cell.execute}
    assert again[all_kernel.cell].figures != all_kernel.figures, "the chosen cell was measured again"
    assert again[per_kernel.cell].figures == per_kernel.figures, "the other was left alone"
    target = tmp_path / "flows.md"
    monkeypatch.setattr("app.controllers.flows.path_to_save", lambda *a, **k: (str(target), ""))
    flows.exports["md"].trigger()
    assert "first result" in target.read_text()


def test_code_for_another_machine_has_no_first_result(qtbot, compiled, flows):
    choose(flows.ends, ("first result",))
    compiled.state.choices = replace(compiled.state.choices, target="sm_90a")
    try:
        qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
        assert not compiled.flows.busy
        assert "sm_90a" in flows.bar.text and "until code" in flows.bar.text
    finally:
        compiled.state.choices = replace(compiled.state.choices, target="cpu")


def test_a_source_without_sizes_is_compiled_and_why_it_is_not_run_is_said(qtbot, compiled, flows):
    choose(flows.ends, ("compiled", "first result"))
    before = compiled.state.compilation
    compiled.state.compilation = replace(before, unsized=("M",))
    try:
        qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
        assert 'DIMS = {"M": 256}' in flows.bar.text, "it stays on show while the rest is measured"
        asked = compiled.flows.model.request.cells
        assert len(asked) == 2 and not any(cell.execute for cell in asked)
        compiled.flows.cancel()
    finally:
        compiled.state.compilation = before


def test_a_source_that_does_not_compile_is_said_in_the_view(qtbot, compiled, flows, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("raise ValueError('no such thing')\n")
    compiled.settings.trust(str(path))
    before = compiled.state.source
    compiled.state.source = str(path)
    try:
        qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
        wait(qtbot, compiled)
    finally:
        compiled.state.source = before
    assert "no such thing" in flows.bar.text
    assert "no such thing" in compiled.log.view.toPlainText()
    assert flows.measure.text() == "Measure"


def test_a_choice_of_several_always_keeps_one(qtbot, flows):
    choose(flows.levels, ())
    assert len(flows.levels.values) == 1
    assert "Optimisation levels" in flows.levels.accessibleName()


def test_a_run_asked_for_while_flows_are_measured_waits_its_turn(qtbot, compiled, flows):
    compiled.state.run = None
    together = []
    compiled.compiler.progressed.connect(lambda *_: together.append(compiled.flows.busy))
    qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
    compiled.features.do("run")
    compiled.features.do("run")
    assert compiled.flows.busy and not compiled.compiler.busy
    assert compiled.compiler.measuring.waiting == ("Running",)
    assert "next, when this has ended" in compiled.runs.view.bar.text
    qtbot.waitUntil(lambda: bool(compiled.compiler.busy), timeout=60_000)
    assert not compiled.flows.busy
    assert compiled.status.cancel.isVisible()
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    assert together and not any(together), "never both at once"
    assert not compiled.runs.view.bar.isVisible()
    assert not flows.bar.text
    assert not compiled.status.cancel.isVisible()


def test_cancel_stays_while_flows_go_on_and_what_disturbed_them_is_said(qtbot, compiled, flows):
    flows.repeat.setValue(20)
    qtbot.mouseClick(flows.measure, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: compiled.flows.model.running is not None, timeout=60_000)
    compiled.compile.compile()
    qtbot.waitUntil(lambda: not compiled.compiler.busy, timeout=60_000)
    assert compiled.flows.busy
    assert compiled.status.cancel.isVisible()
    assert "disturbed" in flows.bar.text
    qtbot.mouseClick(compiled.status.cancel, Qt.MouseButton.LeftButton)
    assert not compiled.flows.busy
    assert not compiled.status.cancel.isVisible()
    assert "disturbed" in [row.state for row in compiled.flows.model.rows()]
    compiled.messages.clear("flows")


@pytest.mark.parametrize("state", [WAITING, RUNNING, STOPPED])
def test_how_far_a_cell_is_has_room_and_one_that_was_stopped_promises_nothing(flows, state):
    row = FlowRow(Cell("per-kernel", 3, "none", "cold", True), state, 1, 3, {})
    table, columns = flows.view.table, flows.view.model.columns
    titles = [column.title for column in columns]
    runs, first = titles.index("Runs"), titles.index("First result")
    needed = table.fontMetrics().horizontalAdvance(row.progress) + 18  # the padding of a cell, both sides
    assert columns[runs].width >= needed
    assert columns[first].words(row) == ("" if state == STOPPED else "to come")


@pytest.mark.parametrize("wide", [800, 936])  # between both sides of a window 1280 and 1600 wide
def test_what_was_stopped_is_told_in_a_narrow_table_too(qtbot, flows, monkeypatch, wide):
    rows = [FlowRow(Cell("per-kernel", 3, "none", "cold", True), STOPPED, 1, 3, {})]
    monkeypatch.setattr(flows.model, "rows", lambda: rows)
    view, titles = flows.view, [column.title for column in flows.view.model.columns]
    view.setMinimumWidth(wide)
    view.setMaximumWidth(wide)
    qtbot.waitUntil(lambda: view.width() == wide)
    flows._refresh()
    shown = {title for at, title in enumerate(titles) if not view.table.isColumnHidden(at)}
    assert {"Runs", "First result", "Time ratio"} <= shown
    assert sum(view.table.columnWidth(at) for at in range(len(titles))) <= wide
    rows[0] = replace(rows[0], state=DONE, taken=3)
    flows._refresh()
    assert view.table.isColumnHidden(titles.index("Runs")), "how often is known"
    view.setMinimumWidth(0)
    view.setMaximumWidth((1 << 24) - 1)
    monkeypatch.undo()
    flows._refresh()
