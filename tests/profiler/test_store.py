"""The store keeps what it is given, once, finds it again, and upgrades older files."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import records_for_tests as made

from profiler.records import FAILED, FINISHED, INTERRUPTED, RUNNING, WHOLE, MeasuredRun, StageRecord
from profiler.store import StoreError, default_path, open_store, queries, writer
from profiler.store.migrations import MIGRATIONS, VERSION, Migration
from profiler.store.texts import Found, search_texts

ROOT = Path(__file__).parents[2]
NOTHING = Found((), 0, 0)


def a_run(store, source="test", compilation=None, **changes):
    run = writer.begin_run(store, made.request(source), made.MACHINE)
    writer.finish_run(store, run, made.result(**changes), compilation)
    return run


def test_a_finished_run_comes_back_whole(store):
    run = a_run(store)
    row = queries.run_row(store, run)
    assert (row["status"], row["count"], row["memory"]) == (FINISHED, 6, {"peak": 64})
    assert row["low"] <= row["median"] <= row["high"] and row["conditions"]["blocks"] == [6]
    samples = queries.run_samples(store, run)
    assert samples[WHOLE].tolist() == [1000, 1010, 1020, 990, 1005, 1001] and samples[0][0] == 900
    (launch,) = queries.launches(store, run)
    assert (launch["kernel"], launch["flops"], launch["nodes"]) == ("k", 10, ["add_0"])
    assert queries.counters(store, run)[0]["value"] == 3
    assert queries.timeline(store, run).tolist() == [[[0, 10]]]


def test_a_compilation_comes_back_whole(store):
    record = made.compilation()
    number = writer.add_compilation(store, record, made.MACHINE)
    row = queries.compilation_row(store, number)
    assert (row["graph_text"], row["options"], row["seconds"]) == (record.graph_text, {"jobs": None}, 0.5)
    assert tuple(queries.passes(store, number)) == record.passes
    assert tuple(queries.kernels(store, number)) == record.kernels
    assert tuple(queries.decisions(store, number)) == record.decisions


def test_equal_texts_are_stored_once(store):
    stages = [StageRecord("llvm", "k", "define void @k() {\n}\n", (("add_0",), ()))]
    for _ in range(3):
        writer.add_stages(store, writer.add_compilation(store, made.compilation(), made.MACHINE), stages)
    assert queries.totals(store)["texts"] == 4  # graph, source, IR, its nodes
    assert queries.stage(store, 3, "k", "llvm") == stages[0]


def test_ir_is_found_by_its_words(store):
    number = writer.add_compilation(store, made.compilation(), made.MACHINE)
    text = "%1 = call <4 x float> @llvm.fma.v4f32(<4 x float> %a)\n"
    writer.add_stages(store, number, [StageRecord("llvm", "k", text, ((),)), StageRecord("asm", "k", "fmla\n", ((),))])
    assert [hit["stage"] for hit in search_texts(store, "llvm.fma.v4f32").hits] == ["llvm"]
    assert [hit["stage"] for hit in search_texts(store, "fmla").hits] == ["asm"]
    assert search_texts(store, 'no" OR such') == search_texts(store, " ") == NOTHING


def test_deleting_runs_forgets_what_only_they_needed(store):
    number = writer.add_compilation(store, made.compilation(), made.MACHINE)
    writer.add_stages(store, number, [StageRecord("asm", "k", "fmla v0\n", ((),))])
    one, two = a_run(store, compilation=number), a_run(store, compilation=number)
    writer.delete_runs(store, [one])
    assert queries.stage(store, number, "k", "asm") is not None
    writer.delete_runs(store, [two])
    assert queries.totals(store) == dict.fromkeys(queries.totals(store), 0) | {"machines": 1}
    assert search_texts(store, "fmla") == NOTHING
    with pytest.raises(StoreError, match="no run"):
        writer.delete_runs(store, [two])


def test_pinning_makes_the_one_baseline_of_a_source(store):
    first, second, other = a_run(store), a_run(store), a_run(store, source="other")
    for run in (first, other, second):
        writer.pin_run(store, run)
    assert [row["id"] for row in queries.list_runs(store, queries.RunFilter(pinned=True))] == [other, second]
    assert queries.find_run(store, "baseline:test") == second
    with pytest.raises(StoreError, match="unpin"):
        writer.delete_runs(store, [second])
    failed = writer.begin_run(store, made.request(), made.MACHINE)
    writer.finish_run(store, failed, MeasuredRun(FAILED, error="SIGSEGV", signal="SIGSEGV", kernel="k"))
    with pytest.raises(StoreError, match="failed"):
        writer.pin_run(store, failed)


def test_runs_are_found_by_number_age_and_tag(store):
    runs = [a_run(store) for _ in range(3)]
    writer.tag_runs(store, runs[:2], "before")
    writer.note_run(store, runs[0], "warm machine")
    assert queries.find_run(store, "latest") == runs[2] and queries.find_run(store, "latest~2") == runs[0]
    assert queries.find_run(store, "before") == runs[1] and queries.find_run(store, str(runs[0])) == runs[0]
    listed = queries.list_runs(store, queries.RunFilter(tag="before"))
    assert [row["id"] for row in listed] == [runs[1], runs[0]] and listed[1]["note"] == "warm machine"
    for words in ("999", "latest~9", "baseline", "nonesuch", "1; DROP TABLE runs"):
        with pytest.raises(StoreError, match="there is no"):
            queries.find_run(store, words)


def test_a_file_of_any_older_version_is_upgraded_after_a_backup(tmp_path):
    for version in range(1, VERSION):
        path = tmp_path / f"v{version}.db"
        with open_store(path, migrations=MIGRATIONS[:version]) if version >= 6 else _bare(path, version) as old:
            sql = "INSERT INTO machines (fingerprint, name, description, first_seen) VALUES ('f', 'n', '{}', 'then')"
            old.connection.execute(sql)
        with open_store(path) as store:
            assert store.connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
            assert a_run(store) == 1 and queries.totals(store)["machines"] == 2
            assert [row["number"] for row in store.rows("SELECT number FROM migrations")] == [*range(1, VERSION + 1)]
        backup = sqlite3.connect(path.with_name(f"{path.name}.v{version}.backup"))
        assert backup.execute("PRAGMA user_version").fetchone()[0] == version
        assert backup.execute("SELECT name FROM machines").fetchall() == [("n",)]
        backup.close()


def _bare(path, version):
    """A file of a version that had no runs yet: opening it as such cannot look for interrupted ones."""
    from profiler.store.connection import Store, connect
    from profiler.store.opening import _upgrade

    store = Store(path, connect(path, False), False)
    _upgrade(store, MIGRATIONS[:version])
    return store


def test_a_failed_migration_leaves_the_file_as_it_was(tmp_path):
    breaks = Migration("breaks", ("CREATE TABLE half (x)", "no"))
    path = tmp_path / "t.db"
    open_store(path).close()
    with pytest.raises(StoreError):
        open_store(path, migrations=(*MIGRATIONS, breaks))
    with open_store(path) as store:
        assert not store.rows("SELECT name FROM sqlite_master WHERE name = 'half'")


def test_a_newer_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "t.db"
    with open_store(path) as store:
        a_run(store)
        store.connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer version"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_run_whose_program_died_is_shown_as_interrupted(store, tmp_path):
    code = (
        "import os, sys; from profiler.store import open_store, writer; import records_for_tests as made\n"
        f"store = open_store({str(store.path)!r}); writer.begin_run(store, made.request('dead'), made.MACHINE)\n"
        "os.kill(os.getpid(), 9)"
    )
    mine = writer.begin_run(store, made.request("mine"), made.MACHINE)
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == -9
    with open_store(store.path) as again:
        status = {row["source"]: row["status"] for row in queries.list_runs(again)}
    assert status == {"dead": INTERRUPTED, "mine": RUNNING}
    writer.finish_run(store, mine, made.result())


def test_two_programs_write_at_once(store):
    code = (
        "import sys; from profiler.store import open_store, writer; import records_for_tests as made\n"
        f"store = open_store({str(store.path)!r})\n"
        "for _ in range(40):\n"
        "    number = writer.add_compilation(store, made.compilation(sys.argv[1]), made.MACHINE)\n"
        "    run = writer.begin_run(store, made.request(sys.argv[1]), made.MACHINE)\n"
        "    writer.finish_run(store, run, made.result(), number)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, name], cwd=Path(__file__).parent, env={"PYTHONPATH": str(ROOT)})
        for name in ("one", "two", "three")
    ]
    assert [process.wait(60) for process in writers] == [0, 0, 0]
    rows = queries.list_runs(store, queries.RunFilter(limit=1000))
    assert len(rows) == 120 and {row["status"] for row in rows} == {FINISHED}
    assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_the_default_file_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "here.db"))
    assert default_path() == tmp_path / "here.db"
    monkeypatch.delenv("KERNELGLASS_DB")
    assert default_path().name == "traces.db"


def test_vacuum_gives_space_back(store):
    runs = [a_run(store, samples=tuple(range(i, 20000 * 7, 7))) for i in range(1, 20)]
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.delete_runs(store, runs)
    before, after = writer.vacuum(store)
    assert after < before / 4


def test_the_request_of_a_run_is_kept_as_json(store):
    run = a_run(store)
    assert queries.run_row(store, run)["request"]["source"] == "test"
    assert json.loads(store.rows("SELECT request FROM runs")[0]["request"])["seed"] == 0
