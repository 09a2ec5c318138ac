"""Notes on kernels, and deleting in the notebook of runs that can be undone until the window closes."""

from __future__ import annotations

import threading

import pytest
from held_processes import hold, let_go
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog

from app.controllers import records
from app.controllers.settings import Settings
from app.main_window import MainWindow
from profiler.store import open_store, queries
from profiler.store.kernel_notes import kernel_notes

pytestmark = pytest.mark.gui


def numbers(window):
    model = window.runs.list.view.model
    return [model.record(row).number for row in range(model.rowCount())]


def kept(path):
    with open_store(path) as store:
        return {row["id"] for row in queries.list_runs(store)}


@pytest.fixture
def window(qtbot, runs_at, tmp_path, monkeypatch):
    """A window on a database with three runs of a sample."""
    database = runs_at(tmp_path / "traces.db", 3, "sample:softmax", "--repeat", "3", "--dim", "M=16")
    monkeypatch.setenv("KERNELGLASS_DB", str(database))
    window = MainWindow(Settings(tmp_path / "kept"))
    window.resize(1280, 720)
    window.show()
    window.opening.open("sample:softmax")
    window.records.list_runs()
    qtbot.waitUntil(lambda: window.state.compilation is not None and numbers(window) == [3, 2, 1], timeout=60_000)
    yield window
    window.close()
    window.deleteLater()


def press(qtbot, window, key, modifier=Qt.KeyboardModifier.NoModifier):
    window.explorer.show_tab("Runs")
    table = window.runs.list.view.table
    table.setFocus()
    qtbot.keyClick(table, key, modifier)


def test_deleting_is_undone_until_the_window_closes(qtbot, window, tmp_path):
    runs = window.runs.list
    window.explorer.show_tab("Runs")
    runs.view.table.selectRow(1)
    press(qtbot, window, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    press(qtbot, window, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: numbers(window) == [3], timeout=60_000)
    assert runs.bar.text == "deleted runs 2, 1" and runs.bar.action.isVisibleTo(runs.bar)
    assert kept(tmp_path / "traces.db") == {1, 2, 3}, "nothing is lost yet"
    qtbot.mouseClick(runs.bar.action, Qt.MouseButton.LeftButton)
    assert numbers(window) == [3, 2, 1]
    for run in (1, 3):
        runs.view.table.selectRow(numbers(window).index(run))
        press(qtbot, window, Qt.Key.Key_Delete)
        qtbot.waitUntil(lambda run=run: run not in numbers(window), timeout=60_000)
    press(qtbot, window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: numbers(window) == [3, 2])
    window.records.list_runs()
    qtbot.wait(50)
    assert numbers(window) == [3, 2], "a list that is read again brings nothing back"
    assert window.close()
    assert kept(tmp_path / "traces.db") == {2, 3}


def test_what_cannot_be_deleted_is_told_at_once(qtbot, window):
    runs = window.runs.list
    window.notebook.edit("pin", tuple(row for row in runs.runs if row.number == 1))
    qtbot.waitUntil(lambda: any(row.pinned for row in runs.runs), timeout=60_000)
    window.notebook.edit("delete", tuple(row for row in runs.runs if row.number == 1))
    qtbot.waitUntil(lambda: "pinned" in runs.bar.text, timeout=60_000)
    assert numbers(window) == [3, 2, 1]


def test_another_database_takes_nothing_of_what_was_deleted_in_this_one(qtbot, window, kernelglass, tmp_path):
    with open_store(tmp_path / "other.db"):
        pass
    window.notebook.edit("delete", tuple(row for row in window.runs.list.runs if row.number == 2))
    qtbot.waitUntil(lambda: numbers(window) == [3, 1], timeout=60_000)
    window.preferences.visit_database(str(tmp_path / "other.db"))
    qtbot.waitUntil(lambda: numbers(window) == [], timeout=60_000)
    assert kept(tmp_path / "traces.db") == {1, 3}
    window.preferences.visit_database("")


def test_a_note_is_kept_where_another_database_is_opened_right_after(qtbot, window, tmp_path):
    with open_store(tmp_path / "other.db"):
        pass
    kernel = window.state.compilation.kernels[0].name
    held = hold(qtbot, window.records._asker())
    window.kernel_notes.write_note(kernel, "spills")
    window.preferences.visit_database(str(tmp_path / "other.db"))
    qtbot.waitUntil(lambda: numbers(window) == [], timeout=60_000)
    (retired,) = window.records._retired
    let_go(held)
    qtbot.waitUntil(lambda: not retired.alive, timeout=60_000)
    with open_store(tmp_path / "traces.db") as store:
        assert kernel_notes(store, "sample:softmax") == {kernel: "spills"}
    with open_store(tmp_path / "other.db") as store:
        assert kernel_notes(store, "sample:softmax") == {}
    qtbot.wait_at_rest(window)
    assert window.kernel_notes.notes == {}, "those of the database that is open"
    window.preferences.visit_database("")
    qtbot.waitUntil(lambda: window.kernel_notes.notes == {kernel: "spills"}, timeout=60_000)


def test_a_note_is_kept_where_the_window_is_closed_right_after(qtbot, window, tmp_path):
    kernel = window.state.compilation.kernels[0].name
    qtbot.wait_at_rest(window)
    held = hold(qtbot, window.records._asker())
    window.kernel_notes.write_note(kernel, "spills")
    threading.Timer(0.3, let_go, (held,)).start()
    assert window.close()
    with open_store(tmp_path / "traces.db") as store:
        assert kernel_notes(store, "sample:softmax") == {kernel: "spills"}


def test_a_window_closes_though_what_is_written_takes_for_ever(qtbot, window, monkeypatch):
    monkeypatch.setattr(records, "_LAST", 0.2)
    qtbot.wait_at_rest(window)
    hold(qtbot, window.records._asker())
    window.kernel_notes.write_note(window.state.compilation.kernels[0].name, "spills")
    assert window.close() and not window.isVisible()


def test_what_is_written_is_no_longer_waited_for(qtbot, window):
    window.kernel_notes.write_note(window.state.compilation.kernels[0].name, "spills")
    assert window.records.writing
    qtbot.waitUntil(lambda: not window.records.writing, timeout=60_000)


def test_a_note_on_a_kernel_is_kept_by_source_and_shown_with_it(qtbot, window, kernelglass, tmp_path, monkeypatch):
    kernel = window.state.compilation.kernels[0].name
    window.state.selection.select(window.state.compilation.kernels[0].nodes)
    monkeypatch.setattr(QInputDialog, "getMultiLineText", lambda *a, **k: ("spills on <small> cores", True))
    window.features.do("note_kernel")
    qtbot.waitUntil(lambda: window.kernel_notes.notes == {kernel: "spills on <small> cores"}, timeout=60_000)
    qtbot.waitUntil(lambda: "spills on <small> cores" in window.explorer.inspector.toPlainText())
    shown = window.explorer.kernels.view.model
    assert shown.index(0, 0).data() == f"{kernel} \u270e"
    assert "spills on" in shown.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    with open_store(tmp_path / "traces.db") as store:
        assert kernel_notes(store, "sample:softmax") == {kernel: "spills on <small> cores"}
        assert kernel_notes(store, "sample:mlp") == {}
    for kind, words in (("html", "spills on &lt;small&gt; cores"), ("md", "spills on"), ("json", "spills on <small>")):
        assert kernelglass("export", "3", "--format", kind, "-o", str(tmp_path / f"out.{kind}"))[0] == 0
        assert words in (tmp_path / f"out.{kind}").read_text()
    window.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: window.state.compilation.source == "sample:mlp" and not window.kernel_notes.notes)
    monkeypatch.setattr(QInputDialog, "getMultiLineText", lambda *a, **k: ("", True))
    window.opening.open("sample:softmax")
    qtbot.waitUntil(lambda: window.state.compilation.source == "sample:softmax" and bool(window.kernel_notes.notes),
                    timeout=60_000)  # fmt: skip
    window.features.do("note_kernel")
    qtbot.waitUntil(lambda: not window.kernel_notes.notes, timeout=60_000)
