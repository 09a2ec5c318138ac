"""A database that cannot be written when a run begins or ends: the run is made, told, and kept aside."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest
from command_line import SCALE
from tiny_checkpoints import checkpoint

import profiler.measure.measuring as measuring
from profiler.store import open_store, queries

FEW = ("--repeat", "2", "--threads", "1", "--budget", "0.1")  # in turns, the budget says how long
QUICK = (*FEW, "--processes", "1")


@pytest.fixture(autouse=True)
def short_patience(monkeypatch):
    monkeypatch.setattr("profiler.store.connection.BUSY_SECONDS", 0.2)


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(SCALE)
    return path


class Lock:
    """Another program that writes and does not end."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    def take(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


@pytest.fixture
def database(tmp_path, runs_at):
    path = tmp_path / "d" / "t.db"
    path.parent.mkdir()
    return runs_at(path, 1, SCALE, *FEW)


def during_the_run(monkeypatch, act):
    """Have something happen after the measuring and before the run is kept."""
    real = measuring.measure

    def measured(*arguments, **options):
        outcome = real(*arguments, **options)
        act()
        return outcome

    monkeypatch.setattr(measuring, "measure", measured)


def finished(path: Path) -> list[dict]:
    with open_store(path, create=False) as store:
        assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        return [row for row in queries.list_runs(store) if row["status"] == "finished"]


def test_a_database_that_is_locked_when_the_run_ends_loses_nothing(kernelglass, scale, database, monkeypatch):
    lock = Lock(database)
    during_the_run(monkeypatch, lock.take)
    status, out, err = kernelglass("run", scale, *QUICK, "--check", "--tag", "mine", "--db", database)
    lock.release()
    assert status == 0 and "median" in out
    aside = database.with_name("t.aside.db")
    assert err.startswith("kernelglass: note: the run is kept as run 1 of ") and err.count("\n") == 1
    assert str(aside) in err and "locked by another program" in err
    (row,) = finished(aside)
    assert row["tags"] == ["mine"] and row["source"] == str(scale)
    assert len(finished(database)) == 1
    assert kernelglass("runs", "--db", aside)[0] == 0
    assert kernelglass("report", "1", "-o", database.with_suffix(".html"), "--db", aside)[0] == 0


def test_a_database_that_is_locked_at_the_start_is_written_if_it_is_free_in_the_end(
    kernelglass, scale, database, monkeypatch
):
    lock = Lock(database)
    lock.take()
    during_the_run(monkeypatch, lock.release)
    status, out, err = kernelglass("run", scale, *QUICK, "--json", "--db", database)
    assert status == 0 and json.loads(out)["run"] is None
    assert err.startswith("kernelglass: note: the run is not in the database yet: ") and err.count("\n") == 1
    assert len(finished(database)) == 2
    assert not list(database.parent.glob("*aside*"))


def test_a_database_that_stays_locked_runs_with_a_note(kernelglass, scale, database, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_DB", str(database))
    lock = Lock(database)
    lock.take()
    status, out, err = kernelglass("run", scale, *QUICK)
    lock.release()
    assert status == 0 and "median" in out
    assert [line[:18] for line in err.splitlines()] == ["kernelglass: note:"] * 2
    assert len(finished(database.with_name("t.aside.db"))) == 1


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)], capture_output=True)
    if done.returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_database_runs_with_a_note(kernelglass, scale, small_disk):
    path = small_disk / "t.db"
    assert kernelglass("run", scale, *QUICK, "--db", path)[0] == 0
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    status, out, err = kernelglass("run", scale, *QUICK, "--db", path)
    assert status == 0 and "median" in out, err
    assert "read-only" in err and "the run is kept as run 1 of " in err  # in the user's own folder
    assert "Traceback" not in err and [row["id"] for row in finished(path)] == [1]


def test_a_disk_that_fills_during_a_run_loses_nothing(kernelglass, scale, small_disk, monkeypatch):
    path = small_disk / "t.db"
    assert kernelglass("run", scale, *QUICK, "--db", path)[0] == 0
    during_the_run(monkeypatch, lambda: (small_disk / "filler").write_bytes(bytes(_free(small_disk))))
    status, out, err = kernelglass("run", scale, *QUICK, "--db", path)
    assert status == 0 and "median" in out
    assert "the disk is full" in err and "the run is kept as run 1 of " in err and err.count("\n") == 1
    assert not list(small_disk.glob("*aside*"))  # no empty file is left where there was no room for it
    (small_disk / "filler").unlink()
    assert len(finished(path)) == 1


def _free(folder: Path) -> int:
    import os

    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def test_a_run_is_kept_where_nobody_reads_what_is_printed(scale, tmp_path):
    from command_line import ROOT

    path = tmp_path / "t.db"
    words = " ".join(("run", str(scale), *QUICK, "--db", str(path)))
    done = subprocess.run(
        ["bash", "-c", f"python -m app {words} | true; exit ${{PIPESTATUS[0]}}"], cwd=ROOT, capture_output=True,
        text=True, timeout=120, env=_environment(),
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""
    assert len(finished(path)) == 1


def _environment() -> dict[str, str]:
    import os
    import sys

    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_a_run_whose_check_cannot_be_made_is_kept(kernelglass, scale, database, monkeypatch):
    def fails(*arguments):
        raise MemoryError

    monkeypatch.setattr("app.checking.check_against_reference", fails)
    with pytest.raises(MemoryError):
        kernelglass("run", scale, *QUICK, "--check", "--db", database)
    assert len(finished(database)) == 2


def in_the_last_pair(monkeypatch, act):
    """Have something happen before runs made in turns are kept; a side's processes after its second repeat that one."""
    import app.sweep.places as places

    real, taken = places.measure_once, []

    def measured(*arguments, **options):
        taken.append(real(*arguments, **options) if len(taken) < 4 else taken[3])
        if len(taken) == 16:
            act()
        return taken[-1]

    monkeypatch.setattr(places, "measure_once", measured)


@pytest.fixture
def two_runs(runs_at, database):
    return runs_at(database, 2, SCALE, *FEW)


@pytest.mark.parametrize("asked", [("--again",), ("--fail-if-slower", "5")], ids=["again", "gate"])
def test_runs_in_turns_are_compared_and_kept_aside_where_the_database_is_locked_in_the_end(
    kernelglass, two_runs, monkeypatch, asked
):
    lock = Lock(two_runs)
    in_the_last_pair(monkeypatch, lock.take)
    status, out, err = kernelglass("compare", "1", "2", *asked, "--db", two_runs)
    lock.release()
    assert status in ((0,) if asked == ("--again",) else (0, 5, 6)), err
    assert "in turns" in out
    assert "kernelglass: note: the runs are kept as runs 1 and 2 of " in err and "locked by another program" in err
    aside = two_runs.with_name("t.aside.db")
    assert str(aside) in err and len(finished(aside)) == 2 and len(finished(two_runs)) == 2
    status, again, err = kernelglass("compare", "1", "2", "--db", aside)
    assert (status, err) == (0, "") and "in turns" in again


def test_runs_in_turns_are_compared_also_where_nothing_can_be_kept(kernelglass, two_runs, monkeypatch):
    lock = Lock(two_runs)
    monkeypatch.setattr("profiler.keeping._places", lambda path: [])
    in_the_last_pair(monkeypatch, lock.take)
    status, out, err = kernelglass("compare", "1", "2", "--again", "--json", "--db", two_runs)
    lock.release()
    assert status == 0 and json.loads(out)["verdicts"]
    assert "kernelglass: note: the runs are not kept: " in err
    assert len(finished(two_runs)) == 2


def test_runs_are_made_in_turns_while_the_database_is_locked(kernelglass, two_runs, monkeypatch):
    lock = Lock(two_runs)
    lock.take()
    in_the_last_pair(monkeypatch, lock.release)
    status, out, err = kernelglass("compare", "1", "2", "--again", "--db", two_runs)
    assert status == 0 and "in turns" in out and "note" not in err
    assert len(finished(two_runs)) == 4


@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "the user's own"])
def test_a_generation_is_told_and_kept_aside(kernelglass, database, tmp_path, monkeypatch, asked):
    monkeypatch.setenv("KERNELGLASS_DB", str(database))
    lock = Lock(database)
    lock.take()
    model = checkpoint(tmp_path / "model", num_hidden_layers=1)
    where = ("--db", database) if asked else ()
    status, out, err = kernelglass("generate", model, "--tokens", "1,2", "-n", "3", *where)
    lock.release()
    assert status == 0 and "time per output token" in out, err
    aside = database.with_name("t.aside.db")
    assert f"kept as run 1 of {aside}" in err
    assert [row["source"] for row in finished(aside)] == [str(model)]


def test_a_generation_into_what_is_no_database_is_refused_before_it_begins(kernelglass, tmp_path):
    place = tmp_path / "words.db"
    place.write_text("no database at all")
    status, out, err = kernelglass(
        "generate", checkpoint(tmp_path / "model"), "--tokens", "1,2", "-n", "3", "--db", place
    )
    assert status == 2 and out == "" and "is not a database" in err


def test_a_compilation_is_told_before_the_database_refuses_it(kernelglass, scale, database):
    lock = Lock(database)
    lock.take()
    status, out, err = kernelglass("compile", scale, "--db", database)
    lock.release()
    assert status == 2 and "is locked by another program" in err and err.count("\n") == 1
    assert out.startswith("scale for cpu: 1 kernel")
