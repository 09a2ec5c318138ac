"""Comparing in the real window, from a real database: what differs, verdicts, both sides at the first difference."""

from __future__ import annotations

import psutil
import pytest

from app.theme.look import Look
from app.viewmodels.compilation import STAGES
from app.viewmodels.frame.selection import Selection
from app.viewmodels.runs.comparison import ComparisonView, KernelVerdict, Side
from app.views.runs.compare import CompareView
from profiler.store import open_store, queries, writer

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("in_two_processes")]


def worked() -> float:
    """Seconds of processor time so far: the window's, and those of the processes that answer it."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (own, *own.children(recursive=True)))


def run_once(qtbot, window):
    window.state.run = None
    window.features.do("run")
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=120_000)
    assert window.state.run is not None, window.runs.view.bar.text
    return window.state.run.number


def compared(qtbot, window, ask):
    window.comparison.view.comparison = None
    window.comparison.view.bar.hide()
    ask()
    qtbot.waitUntil(
        lambda: window.comparison.view.comparison is not None or bool(window.comparison.view.bar.text), timeout=60_000
    )
    assert window.comparison.view.comparison is not None, window.comparison.view.bar.text
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)
    return window.comparison.view.comparison


def choose_level(qtbot, window, level):
    window.choices.level.set_value(str(level))
    window.choices.level.chosen.emit(str(level))
    qtbot.waitUntil(lambda: window.state.compilation.choices.opt_level == level, timeout=60_000)


def test_runs_open_at_the_first_stage_whose_ir_differs(qtbot, compiled):
    first = run_once(qtbot, compiled)
    choose_level(qtbot, compiled, 1)
    second = run_once(qtbot, compiled)
    compiled.records.compare((first, second))  # a warm-up: the process that answers has to start once
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is not None, timeout=60_000)
    before = worked()
    comparison = compared(qtbot, compiled, lambda: compiled.records.compare((first, second)))
    # Two runs are compared in 1 s. What it takes is this work, one part after the other; what else goes on on the
    # machine only adds to the wait.
    assert worked() - before < 1
    facts = {fact.what: fact.values for fact in comparison.differences}
    assert facts["-O"] == ("3", "1")
    assert comparison.method
    assert comparison.method in compiled.comparison.view.method.text()
    opened = comparison.first_difference()
    assert opened.differs_at in STAGES
    assert compiled.comparison.view.stage.value == opened.differs_at
    before, after = compiled.workbench.free_panes(2)
    assert before.model.stage == after.model.stage == opened.differs_at
    assert {before.model.origin, after.model.origin} == {f"c{side.compilation}" for side in comparison.sides}
    assert before.model.diff.document.lines == after.model.diff.document.lines
    assert before.model.diff.changes
    assert f"run {first}" in before.strip.words.text()
    assert any((before.model.diff.marks < 0).tolist() + (after.model.diff.marks == 1).tolist())
    before.text.verticalScrollBar().setValue(min(7, before.text.verticalScrollBar().maximum()))
    assert after.text.first_row == before.text.first_row
    for row in comparison.rows[1:]:
        assert row.verdicts[-1].interval
        assert row.verdicts[-1].words
        assert row.nodes
    kernel = next(row for row in comparison.rows if row.nodes)
    compiled.comparison.view.view.table.selectRow(compiled.comparison.view.view.model.row_of(kernel))
    assert compiled.state.selection.nodes == set(kernel.nodes)
    compiled.comparison.view.ended.emit()
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in compiled.workbench.panes), timeout=60_000)
    assert not any(pane.model.origin for pane in compiled.workbench.panes)


def test_texts_are_read_again_where_others_have_their_numbers(qtbot, compiled):
    """Somebody deletes the newest runs, or the file: the next ones are given the numbers of those that are gone."""
    numbers = []
    for levels in ((1, 3), (2, 1)):
        runs = []
        for level in levels:
            choose_level(qtbot, compiled, level)
            runs.append(run_once(qtbot, compiled))
        comparison = compared(qtbot, compiled, lambda runs=runs: compiled.records.compare(tuple(runs)))
        numbers.append([side.compilation for side in comparison.sides])
        for pane in compiled.workbench.free_panes(2):
            number, kernel = int(pane.model.origin[1:]), pane.model.kernel
            with open_store(None) as store:
                stored = queries.stage(store, number, kernel, pane.model.stage)
            assert bytes(pane.model.document.data).decode() == stored.text
        with open_store(None) as store:
            writer.delete_runs(store, runs)
    assert numbers[0] == numbers[1], "the second pair has the numbers of the first"


def test_ratios_of_any_size_are_written_whole(qtbot, tmp_path):
    view = CompareView(Look(tmp_path), Selection())
    qtbot.addWidget(view)
    view.resize(800, 150)
    view.show()
    sides = (Side("run 1", 0, 0.0), Side("run 2", 0, 0.0))
    view.set_comparison(ComparisonView("run 1 against run 2", (), (), sides, (), "", (), True))
    ratio = next(at for at, column in enumerate(view.view.model.columns) if column.title == "Ratio")
    words = view.view.model.columns[ratio].show(1234.5)
    assert view.view.table.columnWidth(ratio) >= view.fontMetrics().horizontalAdvance(words) + 16


def test_three_runs_have_a_verdict_each(qtbot, compiled):
    numbers = tuple(run_once(qtbot, compiled) for _ in range(3))
    comparison = compared(qtbot, compiled, lambda: compiled.records.compare(numbers))
    assert len(comparison.sides) == 3
    whole = comparison.rows[0]
    assert [verdict is not None for verdict in whole.verdicts] == [False, True, True]
    view = compiled.comparison.view
    ratios = [column for column in view.view.model.columns if column.title.endswith("Ratio")]
    assert len(ratios) == 2
    assert all(comparison.method in column.tip(whole) for column in ratios), "a ratio is of what verdicts compare"
    titles = [column.title for column in compiled.comparison.view.view.model.columns]
    assert sum("Verdict" in title for title in titles) == 2


def test_a_what_if_opens_the_comparison_of_both_compilations(qtbot, compiled):
    compiled.comparison.view.comparison = None
    compiled.what_if.force((("add_0", "relu_0"),), False)
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is not None, timeout=90_000)
    comparison = compiled.comparison.view.comparison
    facts = {fact.what: fact.values for fact in comparison.differences}
    assert "cut by hand" in facts, facts
    assert facts["cut by hand"] == ("none", "add_0 \u2192 relu_0")
    assert comparison.first_difference().differs_at == "mogg"
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in compiled.workbench.panes), timeout=60_000)
    before = compiled.workbench.free_panes(2)[0]
    assert before.model.stage == "mogg"
    assert before.model.diff.changes
    compiled.state.run = None
    compiled.features.do("run")  # a run of the what-if makes the same cuts
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    assert compiled.state.run is not None, compiled.runs.view.bar.text
    assert [name for name, _ in compiled.state.run.calls] == [c.kernel for c in compiled.state.compilation.calls]
    assert compiled.state.run.ok
    compiled.features.do("drop_edits")
    qtbot.waitUntil(lambda: not compiled.state.compilation.choices.force_cut, timeout=60_000)


def test_compilations_are_listed_and_compared(qtbot, compiled):
    run_once(qtbot, compiled)
    choose_level(qtbot, compiled, 0)
    run_once(qtbot, compiled)
    compiled.explorer.tabs.setCurrentWidget(compiled.runs.list)
    compiled.runs.list.show_kind("compilations")
    qtbot.waitUntil(lambda: compiled.runs.list.compilations.model.rowCount() >= 2, timeout=60_000)
    compiled.runs.list.compilations.table.selectAll()
    assert compiled.runs.list.compare.isEnabled()
    assert not compiled.runs.list.export.isEnabled()
    newest = [compiled.runs.list.compilations.model.record(row).number for row in (0, 1)]
    comparison = compared(qtbot, compiled, lambda: compiled.records.compare_compilations((min(newest), max(newest))))
    assert not comparison.timed
    assert [side.label for side in comparison.sides] == [f"compilation {n}" for n in sorted(newest)]
    compiled.runs.list.show_kind("runs")
    compiled.explorer.tabs.setCurrentIndex(0)


def test_runs_without_texts_say_so(qtbot, compiled):
    row = KernelVerdict("k", ("relu_0",), ("k", "k"), ("", ""), (None, None), "llvm", "")
    sides = (Side("run 1", 0, 0.0), Side("run 2", 0, 0.0))
    compiled.state.set_comparison(ComparisonView("a against b", (), (), sides, (row,), "", (), True))
    qtbot.waitUntil(lambda: "was not kept" in compiled.comparison.view.bar.text)
