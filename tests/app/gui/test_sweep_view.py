"""The view of sweeps: cells, matrix and plot, the best cell, failures with their reason, progress, opening a cell."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from held_processes import hold, let_go

from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.viewmodels.runs.sweep import (
    FIGURE_TABLE,
    SweepCell,
    SweepRequest,
    SweepsRequest,
    SweepTold,
    axes_of,
    best,
    matrix,
    plotted,
    progress,
    shown,
)

pytestmark = pytest.mark.gui
SPEC = """
name = "mine"
sources = ["sample:softmax", "wrong.py"]
targets = ["cpu", "sm_90a"]
levels = [0, 3]
devices = ["cpu"]
repeat = 3
processes = 1
"""
WRONG = """
from compiler import Graph, TensorType, ops

def build():
    g = Graph("wrong", inputs=[TensorType("f32", (4,))])
    with g:
        g.output(ops.custom("nowhere", [g.inputs[0]], TensorType("f32", (4,))))
    return g
"""
COMPILE = FIGURE_TABLE["compile"]


def cells(*rows):
    return tuple(SweepCell(source, "cpu", "", "all-kernel", level, status=status, compile=took, ended=ended)
                 for source, level, status, took, ended in rows)  # fmt: skip


def test_a_matrix_has_the_best_of_each_place_first():
    found = cells(("a", 3, "done", 2.0, ""), ("a", 0, "done", 1.0, ""), ("b", 3, "failed", None, ""))
    made = matrix(found, "level", "source", COMPILE)
    assert (made.rows, made.columns) == (("a", "b"), ("-O0", "-O3"))
    assert made.places["a", "-O0"] == (found[1],) and ("b", "-O0") not in made.places
    whole = matrix(found, "flow", "source", COMPILE)
    assert whole.places["a", "all-kernel"] == (found[1], found[0]), "of several the best is first"
    assert best(found, COMPILE) is found[1] and best(found, FIGURE_TABLE["median"]) is None
    said = [shown(cell, FIGURE_TABLE["median"]) for cell in found]
    assert said == ["\u2013", "\u2013", "failed"], "a place never says nothing"


def test_sizes_that_follow_from_the_source_tell_nothing_apart():
    """Every source has sizes of its own, and what is only compiled has none: those are four, the sources three."""
    sizes = {"mlp": "M=256", "softmax": "M=512 N=1000", "attention": "B=2 S=128"}
    found = tuple(SweepCell(source, device, target, "all-kernel", level, status="done", compile=1.0,
                            sizes=sizes[source] if device else "")
                  for source in sizes for device, target in (("cpu", ""), ("", "cpu")) for level in (0, 3))  # fmt: skip
    assert axes_of(found)[:2] == ["source", "where"] and axes_of(found)[-1] == "sizes"
    assert [line.name for line in plotted(found, "level", COMPILE).lines] == list(sizes)
    other = tuple(replace(cell, sizes=size) for cell in found for size in ("M=64", "M=256", "M=512", "M=1024"))
    assert axes_of(other)[0] == "sizes", "those of the sweep's own list do"


def test_a_plot_joins_the_best_and_shows_all():
    found = cells(("a", 0, "done", 2.0, ""), ("a", 3, "done", 1.0, ""), ("b", 3, "done", 3.0, ""))
    found += (replace(found[0], flow="per-kernel", compile=5.0),)
    made = plotted(found, "level", COMPILE)
    assert made.ticks == ("-O0", "-O3") and made.below == "Level" and made.beside == "Compile time, s"
    assert [(line.name, line.best) for line in made.lines] == [("a", ((0.0, 2.0), (1.0, 1.0))), ("b", ((1.0, 3.0),))]
    assert [len(line.points) for line in made.lines] == [3, 1]
    both = plotted(found, "compile", COMPILE)
    assert both.ticks == () and all(x == y for line in both.lines for x, y, _ in line.points)
    assert plotted((), "level", COMPILE).lines == ()


def test_progress_says_what_is_done_and_when_it_ends():
    moments = [f"2026-01-01T10:00:{second:02}+00:00" for second in (0, 10, 20, 30)]
    done = [("a", level, "done", 1.0, moment) for level, moment in enumerate(moments)]
    told = SweepTold("s", cells(*done, ("b", 1, "failed", None, moments[3]), ("b", 2, "missing", None, "")), True, 1)
    at = datetime(2026, 1, 1, 10, 0, 32, tzinfo=UTC)
    assert progress(told, at).startswith("4 of 6 done, 1 running, 1 failed; ends in about ")
    later = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert progress(told, later) == "4 of 6 done, 1 running, 1 failed", "one that does not go on has no end"


def test_a_sweep_of_the_store_is_shown_filtered_plotted_and_its_cells_opened(qtbot, kernelglass, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "traces.db"))
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mine.toml").write_text(SPEC)
    assert kernelglass("sweep", str(tmp_path / "mine.toml"), "--jobs", "1", "--db", str(tmp_path / "traces.db"))[0] == 0
    window = MainWindow(Settings(tmp_path / "kept"))
    window.resize(1280, 720)
    window.show()
    view = window.sweep.view
    window.features.do("sweep")
    qtbot.waitUntil(lambda: view.told.name == "mine", timeout=60_000)
    assert len(view.cells.model.shown) == 12 and not view.told.whole
    assert view.state.text() == "6 done, 6 failed"
    table = view.cells.table
    qtbot.waitUntil(lambda: table.viewport().height() >= 2 * table.rowHeight(0))
    failed = [cell for cell in view.cells.model.shown if cell.status == "failed"]
    assert all("nowhere" in cell.error for cell in failed)
    view.cells.filter.setText("status = done median > 0")
    assert {cell.device for cell in view.cells.model.shown} == {"cpu"} and len(view.cells.model.shown) == 2
    view.cells.filter.clear()
    view.form.set_value("matrix")
    view.figure.set_value("compile")
    view.down.set_value("source")
    view.across.set_value("level")
    view._draw()
    assert (view.matrix.rowCount(), view.matrix.columnCount()) == (2, 2)
    assert view.cells.filter.isVisible(), "what it leaves is what the matrix has"
    texts = [view.matrix.item(0, at).text() for at in range(2)]
    assert sum("\u2605" in text for text in texts) == 1, "the best cell is marked"
    assert view.best.text().startswith("Best: ") and "failed" in view.matrix.item(1, 0).text()
    view.form.set_value("plot")
    view._draw()
    assert view._plot.drawn
    qtbot.waitUntil(lambda: _clear_of_legend(view._plot))
    view.across.set_value("median")
    view._draw()
    assert view.across.value == "median", "a figure along another"
    window.sweep.show(SweepRequest(file=str(tmp_path / "mine.toml")))
    qtbot.waitUntil(lambda: view.told.whole, timeout=60_000)
    assert view.state.text() == "6 of 12 done, 6 failed"
    view.form.set_value("cells")
    view._draw()
    view.cells.activated.emit(next(cell for cell in view.cells.model.shown if cell.run and cell.status == "done"))
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=60_000)
    assert window.state.run.number
    (tmp_path / "mine.toml").write_text("sources = 3")
    window.sweep.show(SweepRequest(file=str(tmp_path / "mine.toml")))
    qtbot.waitUntil(lambda: "sources is a list" in view.bar.text, timeout=60_000)
    window.close()
    window.deleteLater()


def test_the_database_is_asked_about_sweeps_only_while_they_are_in_sight(qtbot, compiled, monkeypatch):
    """Behind another tab nobody sees them, and a question wakes a process beside what is measured."""
    asked, put = [], compiled.records.put
    monkeypatch.setattr(compiled.records, "put", lambda request, *how: (asked.append(request), put(request, *how)))
    for name in ("sweep", "timeline"):  # a test before this one may have closed it
        compiled.docks.show(name)
        qtbot.wait_at_rest(compiled)
    qtbot.waitUntil(lambda: not compiled.sweep._asked)
    asked.clear()
    compiled.sweep._timer.timeout.emit()
    assert compiled.sweep.view.isVisible() and not asked
    compiled.docks.bottom["sweep"].raise_()  # as a click on its tab does
    qtbot.waitUntil(lambda: SweepsRequest() in asked)
    compiled.docks.show("timeline")


def test_sweeps_are_asked_for_again_where_another_database_is_opened_before_the_answer(qtbot, compiled):
    told = []
    compiled.sweep.view.sweep_chosen.connect(told.append)
    compiled.docks.show("sweep")
    qtbot.waitUntil(lambda: not compiled.sweep._asked and compiled.records._quick is not None)
    held = hold(qtbot, compiled.records._quick)
    compiled.sweep.ask()
    assert compiled.sweep._asked
    compiled.records.forget()
    assert compiled.records._quick is not None, "the new database is asked"
    qtbot.waitUntil(lambda: not compiled.sweep._asked, timeout=60_000)
    assert not compiled.sweep.view.bar.isVisibleTo(compiled.sweep.view) and not told
    with contextlib.suppress(ProcessLookupError):
        let_go(held)
    compiled.docks.show("timeline")


def _clear_of_legend(plot) -> bool:
    """Whether no point lies under the words that say which line is which."""
    words = plot.addLegend().sceneBoundingRect()
    points = (item.mapToScene(point.pos()) for item in plot.drawn if hasattr(item, "points")
              for point in item.points())  # fmt: skip
    return words.height() > 0 and all(point.y() > words.bottom() for point in points)
