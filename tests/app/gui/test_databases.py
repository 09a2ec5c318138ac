"""Another database in the real window: opened as a file, and left again; every process follows, and nothing is run."""

from __future__ import annotations

import pytest

from app.viewmodels.requests import Failure
from app.viewmodels.text.ir_pane import TextKey

pytestmark = pytest.mark.gui


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A database with two runs of another sample."""
    from app.cli.main import main

    path = tmp_path_factory.mktemp("elsewhere") / "theirs.db"
    for _ in range(2):
        assert main(["run", "sample:softmax", "--repeat", "3", "--processes", "1", "--db", str(path)]) == 0
    return path


def rows(window):
    """The runs that the window lists, newest first: number and source."""
    model = window.runs.list.view.model
    return [(model.record(row).number, model.record(row).source) for row in range(model.rowCount())]


def test_a_database_is_opened_as_a_file_and_left_again(qtbot, compiled, elsewhere):
    compiled.state.run = None
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    newest = (compiled.state.run.number, "sample:mlp")
    qtbot.waitUntil(lambda: rows(compiled)[:1] == [newest], timeout=60_000)
    own = rows(compiled)  # other tests of this process may have run something here
    compiled.compiler.warm_up()  # a process that is older than the choice below

    assert compiled.opening.open(str(elsewhere))
    qtbot.waitUntil(lambda: rows(compiled) == [(2, "sample:softmax"), (1, "sample:softmax")], timeout=60_000)
    assert compiled.explorer.tabs.currentWidget() is compiled.runs.list
    assert str(elsewhere) in compiled.runs.list.bar.text

    before = compiled.state.compilation
    compiled.compiler.open_run(2)
    qtbot.waitUntil(lambda: compiled.state.compilation is not before, timeout=60_000)
    assert compiled.state.compilation.source == "sample:softmax"

    compiled.features.do("own_database")
    qtbot.waitUntil(lambda: rows(compiled) == own, timeout=60_000)
    assert not compiled.runs.list.bar.isVisible()
    pane = compiled.workbench.panes[1]  # the run on show is still the other database's
    pane.model.show(stage="llvm")
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
    assert not pane.model.error and "softmax" in bytes(pane.model.document.data).decode()


def test_a_database_of_others_is_written_only_when_that_is_asked_for(qtbot, compiled, elsewhere):
    theirs = [(2, "sample:softmax"), (1, "sample:softmax")]
    before = {path.name: path.read_bytes() for path in elsewhere.parent.iterdir()}
    assert compiled.opening.open(str(elsewhere))
    qtbot.waitUntil(lambda: rows(compiled) == theirs, timeout=60_000)
    assert "read-only" in compiled.runs.list.bar.text

    compiled.state.run = None
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    assert any("not kept" in note and "read-only" in note for note in compiled.state.run.notes)
    assert {path.name: path.read_bytes() for path in elsewhere.parent.iterdir()} == before

    compiled.features.do("write_database")
    compiled.state.run = None
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    qtbot.waitUntil(lambda: rows(compiled)[:1] == [(3, "sample:mlp")], timeout=60_000)
    compiled.features.do("own_database")


def test_what_is_not_a_database_is_a_message(qtbot, compiled, tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("not a database at all")
    assert compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: "not a database" in compiled.runs.list.bar.text, timeout=60_000)
    assert path.read_text() == "not a database at all"
    compiled.features.do("own_database")
    assert not compiled.opening.open(str(tmp_path / "missing.db"))
    assert "there is no file" in compiled.log.bar.text


def test_texts_of_stored_compilations_stay_with_their_database(qtbot, compiled, elsewhere):
    """Both have compilations 1 and 2, of other models: no text of one is shown for the other, none is waited for."""
    assert compiled.opening.open(str(elsewhere))
    qtbot.waitUntil(lambda: len(rows(compiled)) >= 2, timeout=60_000)
    compiled.comparison.view.comparison = None
    compiled.records.compare_compilations((1, 2))
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is not None, timeout=60_000)
    theirs = TextKey("mo", origin="c1")
    texts, seen = compiled.panes._texts, []
    texts.document(theirs, seen.append)
    qtbot.waitUntil(lambda: bool(seen), timeout=60_000)
    assert b"softmax" in bytes(seen.pop().data)

    never = TextKey("kgen", "no_such_kernel", origin="c2")
    texts._waiting[texts._full(never)] = [(seen.append, lambda _: None)]  # asked for, and its process is ended before
    compiled.features.do("own_database")
    (failure,) = seen
    assert isinstance(failure, Failure) and "was left" in failure.message
    assert not any(key.is_stored for _, key in (*texts._waiting, *texts._documents))
    assert not any(pane.model.key.is_stored for pane in compiled.workbench.panes)

    row = compiled.state.comparison.rows[0]
    compiled.comparison.view.pair_wanted.emit(row, "mo")
    assert "compare again" in compiled.comparison.view.bar.text
    assert not any(pane.model.key.is_stored for pane in compiled.workbench.panes)
    compiled.comparison.view.bar.hide()


def test_a_report_is_of_the_database_that_is_open(qtbot, compiled, elsewhere):
    """Runs of different databases have the same numbers."""
    view = compiled.report.view
    compiled.state.run = None
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy)
    compiled.docks.show("report")
    qtbot.waitUntil(lambda: view.run.value == str(compiled.state.run.number))
    view.run.set_value("1")
    view.run.chosen.emit("1")
    qtbot.waitUntil(lambda: "run 1" in view.page.toPlainText() and "softmax" not in view.page.toPlainText())
    compiled.opening.open(str(elsewhere))
    qtbot.waitUntil(lambda: "sample:softmax, run" in view.page.toPlainText())
    compiled.features.do("own_database")
    qtbot.waitUntil(lambda: view.preview is not None and "softmax" not in view.page.toPlainText())
    compiled.docks.show("timeline")
