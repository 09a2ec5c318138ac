"""Runs of several databases come together in one, each once, and the files they come from are only read."""

import sqlite3
from dataclasses import replace

import pytest
import records_for_tests as made

from profiler.records import FAILED, Ceiling, MeasuredRun, StageRecord
from profiler.sampled import Sampling
from profiler.store import StoreError, open_store, queries, writer
from profiler.store.importing import Imported, import_runs, run_identity
from profiler.store.migrations import MIGRATIONS
from profiler.store.sampled import sampling
from profiler.store.texts import search_texts

ELSEWHERE = replace(made.MACHINE, fingerprint="cafe", name="another desk")


def filled(path, machine=ELSEWHERE, samples=(1000, 1010, 1020, 990, 1005, 1001)):
    """A database with a run that has everything, a failed one and a compilation without a run."""
    with open_store(path) as store:
        compilation = writer.add_compilation(store, made.compilation(), machine)
        writer.add_stages(store, compilation, [StageRecord("asm", "k", "fmla v0\n", (("add_0",),))])
        run = writer.begin_run(store, made.request(), machine)
        found = made.result(samples, lost=(0, 1, 0, 0, 0, 0), sampling=Sampling(samples=7, inside=5, calls=6))
        writer.finish_run(store, run, found, compilation)
        writer.tag_runs(store, [run], "before")
        writer.note_run(store, run, "warm machine")
        writer.keep_check(store, run, True, ["fine"])
        writer.pin_run(store, run)
        failed = writer.begin_run(store, made.request("other"), machine)
        writer.finish_run(store, failed, MeasuredRun(FAILED, error="SIGSEGV", signal="SIGSEGV", kernel="k"))
        writer.add_compilation(store, made.compilation("alone"), machine)
        writer.put_ceiling(store, machine, Ceiling("copy L1", 1, 100.0, "GB/s", 90.0, 110.0))
    return path


def test_a_run_comes_over_whole(store, tmp_path):
    other = filled(tmp_path / "other.db")
    found = import_runs(store, other)
    assert (len(found.runs), len(found.compilations), found.machines) == (2, 2, ("another desk",))
    with open_store(other) as theirs:
        for here, there in zip(found.runs, (1, 2)):
            mine, its = queries.run_row(store, here), queries.run_row(theirs, there)
            local = ("id", "machine", "compilation", "pinned")
            assert {k: v for k, v in mine.items() if k not in local} == {k: v for k, v in its.items() if k not in local}
            assert queries.counters(store, here) == queries.counters(theirs, there)
            assert {at: v.tolist() for at, v in queries.run_samples(store, here).items()} == {
                at: v.tolist() for at, v in queries.run_samples(theirs, there).items()
            }
        assert sampling(store, found.runs[0]) == sampling(theirs, 1) == Sampling(samples=7, inside=5, calls=6)
        row = queries.run_row(store, found.runs[0])
        assert (row["tags"], row["note"], row["conditions"]["check"]["ok"]) == (["before"], "warm machine", True)
        number = row["compilation"]
        assert queries.kernels(store, number) == queries.kernels(theirs, 1)
        assert queries.passes(store, number) == queries.passes(theirs, 1)
        assert queries.decisions(store, number) == queries.decisions(theirs, 1)
        assert queries.stages(store, number) == queries.stages(theirs, 1)
        assert queries.timeline(store, found.runs[0]).tolist() == queries.timeline(theirs, 1).tolist()
    assert [hit["compilation"] for hit in search_texts(store, "fmla").hits] == [number]
    assert queries.machine_row(store, row["machine"])["fingerprint"] == "cafe"
    assert [ceiling.value for ceiling in queries.ceilings(store, "cafe")] == [100.0]


def test_importing_again_adds_nothing_whatever_way_a_run_took(store, tmp_path):
    other = filled(tmp_path / "other.db")
    first = import_runs(store, other)
    before = queries.totals(store)
    assert import_runs(store, other) == Imported(known=2)
    with open_store(tmp_path / "third.db") as third:  # here from there, and back to where it came from
        import_runs(third, store.path)
    with open_store(other) as theirs:
        assert import_runs(theirs, tmp_path / "third.db") == Imported(known=2)
    assert queries.totals(store) == before and len(first.runs) == 2


def test_what_was_written_here_about_a_run_stays(store, tmp_path):
    other = filled(tmp_path / "other.db")
    run = import_runs(store, other).runs[0]
    writer.note_run(store, run, "mine")
    writer.tag_runs(store, [run], "before", remove=True)
    import_runs(store, other)
    row = queries.run_row(store, run)
    assert (row["note"], row["tags"], row["pinned"]) == ("mine", [], False)


def test_runs_that_only_look_alike_are_two(store, tmp_path):
    one = filled(tmp_path / "one.db")
    two = filled(tmp_path / "two.db", samples=(2000, 2010, 2020, 1990, 2005, 2001))
    for path in (one, two):  # begun in the same moment by the same process, for all that is written down
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE runs SET started = '2026-01-01T00:00:00.000+00:00'")
    assert len(import_runs(store, one).runs) == 2
    found = import_runs(store, two)
    assert (len(found.runs), found.known) == (1, 1)  # the failed one has no samples to tell it by
    assert run_identity(store, 1) != run_identity(store, found.runs[0])


def test_a_run_that_has_not_ended_is_left_out_until_it_has(store, tmp_path):
    other = tmp_path / "other.db"
    with open_store(other) as theirs:
        run = writer.begin_run(theirs, made.request(), ELSEWHERE)
        assert import_runs(store, other) == Imported(running=1)
        writer.finish_run(theirs, run, made.result())
        assert len(import_runs(store, other).runs) == 1  # its journal has not been written back yet
    assert import_runs(store, other) == Imported(known=1)


@pytest.mark.parametrize("version", range(6, len(MIGRATIONS) + 1))
def test_a_database_of_any_version_is_read_and_never_written(store, tmp_path, version):
    folder = tmp_path / "theirs"
    with open_store(folder / "old.db", migrations=MIGRATIONS[:version]) as old:
        run = writer.begin_run(old, made.request(), ELSEWHERE)
        writer.finish_run(old, run, made.result(timeline=()))
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    assert len(import_runs(store, folder / "old.db").runs) == 1
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()} == before


def test_a_file_that_is_no_good_is_refused_in_one_line_and_adds_nothing(store, tmp_path):
    whole = filled(tmp_path / "whole.db").read_bytes()
    bad = tmp_path / "bad.db"
    changes = (
        "UPDATE samples SET data = x'00'",
        "UPDATE sampled SET data = x'00'",
        "UPDATE runs SET machine = 99",
        "UPDATE runs SET compilation = 99",
        "UPDATE runs SET seed = 'x'",
        "UPDATE compilations SET options = '['",
        "UPDATE texts SET data = x'00'",
        "UPDATE graphs SET hash = 'no'",
        "DELETE FROM machines",
    )
    for change in changes:
        bad.write_bytes(whole)
        with sqlite3.connect(bad) as raw:
            raw.execute(change)
        raw.close()
        with pytest.raises(StoreError, match=r"damaged") as refused:
            import_runs(store, bad)
        assert "\n" not in str(refused.value) and str(bad) in str(refused.value)
    for content in (b"", b"no database at all", whole[: len(whole) // 2], whole[:4096] + b"\xff" * (len(whole) - 4096)):
        bad.write_bytes(content)
        with pytest.raises(StoreError) as refused:
            import_runs(store, bad)
        assert "\n" not in str(refused.value) and str(bad) in str(refused.value)
    with pytest.raises(StoreError, match="no database"):
        import_runs(store, tmp_path / "none.db")
    assert set(queries.totals(store).values()) == {0}
