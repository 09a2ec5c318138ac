"""Measuring both runs of a comparison again, in turns, in the real window."""

from __future__ import annotations

import shutil

import pytest

from profiler.store import open_store, queries

pytestmark = pytest.mark.gui


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    from app.cli.main import main

    path = tmp_path_factory.mktemp("again") / "t.db"
    few = ["--repeat", "3", "--processes", "1", "--budget", "0.1"]
    run = ["run", "sample:softmax", "--dim", "M=16", *few, "--db", str(path)]
    assert main(run) == main(run) == 0
    return path


@pytest.fixture
def compared(qtbot, compiled, two_runs, tmp_path, monkeypatch):
    """Two stored runs in a comparison; two pairs are few, but it is not about their times."""
    monkeypatch.setenv("KERNELGLASS_DB", str(shutil.copy(two_runs, tmp_path / "t.db")))
    compiled.records.forget()
    before = compiled.state.comparison
    compiled.records.compare((1, 2))
    qtbot.waitUntil(lambda: compiled.state.comparison is not before)
    monkeypatch.setattr(compiled.comparison, "pairs", 2)
    yield compiled
    compiled.records.cancel()
    compiled.comparison.pair.end()
    compiled.records.forget()


def test_both_runs_are_made_again_in_turns_and_compared(qtbot, compared, tmp_path):
    view, before, told = compared.comparison.view, compared.state.comparison, []
    compared.records.progressed.connect(lambda words, done: told.append(words))
    qtbot.waitUntil(lambda: view.comparison is before)
    assert view.again.isVisibleTo(view)
    view.again.click()
    assert not view.again.isEnabled(), "a second click asks for nothing more"
    compared.comparison.measure_again()
    qtbot.waitUntil(lambda: compared.state.comparison is not before)
    assert compared.state.comparison.runs == (3, 4) and view.again.isEnabled() and not view.bar.text
    assert any("pair 2 of 2" in words for words in told)
    with open_store(tmp_path / "t.db") as store:
        turns = [queries.run_row(store, run)["conditions"]["turns"] for run in (3, 4)]
    assert turns[0] == turns[1] and len(turns[0]["first"]) == 2
    qtbot.waitUntil(lambda: view.comparison is compared.state.comparison)
    qtbot.waitUntil(lambda: compared.runs.list.view.model.rowCount() == 4)


def test_runs_of_a_database_that_was_left_are_not_those_of_the_same_numbers_here(qtbot, compared, tmp_path):
    compared.records.forget()
    for ask in (compared.comparison.measure_again, compared.bisecting.bisect):
        ask()
        assert "of the database that was open before" in compared.comparison.view.bar.text
        assert not compared.records.busy
        compared.messages.clear("compare")


def test_what_ends_after_its_database_was_left_is_not_looked_for_in_the_new_one(qtbot, compared, tmp_path):
    compared.comparison.measure_again()
    compared.records.forget()
    before = compared.state.comparison
    qtbot.waitUntil(lambda: not compared.records.busy)
    qtbot.waitUntil(lambda: "runs 3 and 4 were made again, in the database" in compared.comparison.view.bar.text)
    assert compared.state.comparison is before


def test_it_is_cancelled_as_any_measurement_is(qtbot, compared, tmp_path):
    compared.comparison.pairs = 50
    compared.comparison.measure_again()
    assert compared.records.busy
    assert compared.records.cancel()
    assert compared.comparison.view.again.isEnabled() and compared.state.comparison.runs == (1, 2)
