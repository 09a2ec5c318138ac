"""The history of the open source in the window: its runs in order, with the places marked where its time changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.viewmodels.runs.past import Past
from profiler.records import History, MeasuredRun, Moment
from profiler.store import open_store, writer

sys.path.append(str(Path(__file__).resolve().parents[2] / "profiler"))
import records_for_tests as made

pytestmark = pytest.mark.gui
WAIT = 60_000


def test_the_history_of_the_open_source_is_plotted_with_its_changes(qtbot, compiled, tmp_path):
    window, view = compiled, compiled.history.view
    source = window.state.source
    with open_store(None) as store:
        runs = []
        for at in range(20):
            run = writer.begin_run(store, made.request(source, threads=77), made.MACHINE)
            level = 1_000_000 + at % 3 + 500_000 * (at >= 10)
            conditions = {"threads": 77, "commit": "abcdef0123456789" if at < 10 else "1234567890abcdef"}
            writer.finish_run(store, run, MeasuredRun("finished", (level,) * 6, (6,), conditions=conditions))
            runs.append(run)
    window.features.do("history")
    qtbot.waitUntil(lambda: view.shown is not None and len(view.shown.points) == 20, timeout=WAIT)
    past = view.shown
    assert [point.newest for point in past.points] == runs
    (step,) = past.steps
    assert (step.at, step.run) == (10, runs[10]) and step.words.startswith("+50.0%")
    assert [level[:2] for level in past.levels()] == [(0, 9), (10, 19)]
    assert f"from run {runs[10]} on" in view._plot.accessibleName() and "77" in view.title.text()
    view.by.set_value("commit")
    view.ask_wanted.emit()
    qtbot.waitUntil(lambda: view.shown.by == "commit", timeout=WAIT)
    assert [(point.label, len(point.runs)) for point in view.shown.points] == [("abcdef0123", 10), ("1234567890", 10)]
    view.by.set_value("tag")
    view.ask_wanted.emit()
    qtbot.waitUntil(lambda: view.shown.by == "tag", timeout=WAIT)
    assert "has a tag" in view.title.text() and view.empty.isVisible() and not view._plot.isVisible()
    view.by.set_value("run")


def test_one_interval_without_end_hides_no_other_run(qtbot, compiled):
    """What two processes on a busy machine come to: from nearly nothing to seconds."""
    view = compiled.history.view
    compiled.docks.show("history")
    qtbot.waitUntil(lambda: not view.visibleRegion().isEmpty(), timeout=WAIT)
    times = [(3e-3, 2.9e-3, 3.1e-3), (4e-3, 1e-6, 18.0), (5e-3, 4.9e-3, 5.2e-3)]
    moments = tuple(Moment(at, "2026-01-01T00:00:00", f"run {at}", *each) for at, each in enumerate(times))
    view.set_past(Past("sample:mlp", "run", History("sample:mlp", {}, moments, (), 0)))
    bottom, top = view._plot.box.viewRange()[1]
    assert bottom == 0 and 10 <= top <= 12
    assert view._plot.axes["left"].labelText == "time, ms"


def test_conditions_are_said_as_they_are_written_elsewhere():
    def title(**conditions: str) -> str:
        return Past("sample:mlp", "run", History("sample:mlp", conditions, (), (), 0)).title

    known = {"device": "cpu", "dims": '{"M": 256, "N": 8}', "flow": "all-kernel", "opt_level": "3", "commit": "null"}
    assert title(**known, debug="line-tables") == "on cpu, M=256 N=8, all-kernel, -O3, debug line-tables"
    assert title(dims="no json") == "dims no json"
