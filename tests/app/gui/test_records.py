"""Runs kept in a real database: run, list, compare, export, and open a stored run in the same views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.viewmodels.requests import RunRow

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("in_two_processes")]


def run_once(qtbot, window):
    window.state.run = None
    window.features.do("run")
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=120_000)
    assert window.state.run is not None, window.runs.view.bar.text
    return window.state.run.number


def test_run_compare_export_and_open_again(qtbot, compiled, tmp_path):
    first, second = run_once(qtbot, compiled), run_once(qtbot, compiled)
    assert second > first > 0
    assert compiled.state.run.ok
    assert "check passed" in compiled.runs.view.summary.text()
    assert compiled.graph.model.times
    assert compiled.runs.launches.timeline is not None
    heats = [pane.text.shown.heat for pane in compiled.workbench.panes]
    assert any(heat is not None and heat.max() == 1 for heat in heats)
    listed = compiled.runs.list.view.model
    qtbot.waitUntil(lambda: listed.rowCount() >= 2 and listed.record(0).number == second, timeout=60_000)

    compiled.comparison.view.comparison = None  # an earlier test may have left one
    compiled.records.compare((first, second))
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is not None, timeout=60_000)
    whole = compiled.comparison.view.view.model.record(0)
    assert whole.name == "whole model"
    assert whole.verdicts[-1].words
    assert whole.verdicts[-1].interval

    target = tmp_path / "report.html"
    compiled.records.export((second,), "html", str(target))
    qtbot.waitUntil(lambda: target.exists() and "wrote" in compiled.log.bar.text, timeout=60_000)
    assert "matmul_add_relu" in target.read_text()

    before = compiled.state.compilation
    compiled.compiler.open_run(second)
    qtbot.waitUntil(
        lambda: compiled.state.compilation is not before and compiled.graph.model.layout is not None, timeout=60_000
    )
    stored = compiled.state.compilation
    assert [node.name for node in stored.nodes] == [node.name for node in before.nodes]
    pane = next(p for p in compiled.workbench.panes if p.model.stage == "asm")
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
    assert not pane.model.error
    compiled.state.selection.select(["relu_0"])
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
    assert np.flatnonzero(pane.text.shown.lit).size > 0
    compiled.library.show()
    table = compiled.library.view.view.table
    qtbot.waitUntil(lambda: table.empty.startswith("This is a stored run; open its source"), timeout=60_000)


def test_a_narrow_list_says_that_a_run_failed_and_a_wide_one_says_it_once(compiled):
    view = compiled.runs.list.view
    (column,) = (column for column in view.model.columns if column.title == "Median")
    row = RunRow(1, "", "mine.py", "cpu", "failed", 0.0, "", "")
    status = [shown.title for shown in view.model.columns].index("Status")
    view.table.setColumnHidden(status, True)
    assert column.text(row) == "failed" and column.value(row) is None
    view.table.setColumnHidden(status, False)
    assert column.text(row) == ""
    assert column.text(replace(row, status="finished", median=0.0021)) == "2.1 ms"
