"""A disk that is really full: a small file system of its own, filled up. One line, exit 2, and nothing is lost.

Mounting one takes a privilege; without it these tests are skipped, and those of tests/profiler/test_store_damage.py
stand.
"""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from profiler.records import FINISHED, INTERRUPTED
from profiler.store import StoreError, open_store, queries, writer
from profiler.store.migrations import MIGRATIONS, VERSION
from profiler.store.texts import put_text

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "profiler"))

import records_for_tests as made  # noqa: E402  it lies beside the profiler's tests

RUNS = 12


class Disk:
    """A file system of three megabytes."""

    def __init__(self, folder):
        self.folder = folder
        self.database = folder / "t.db"

    def leave(self, room):
        """Fill it until only so many bytes are free."""
        self.free()
        found = os.statvfs(self.folder)
        (self.folder / "filler").write_bytes(bytes(max(found.f_bavail * found.f_frsize - room, 0)))

    def free(self):
        (self.folder / "filler").unlink(missing_ok=True)

    def names(self):
        """What lies there, but for the filler and what SQLite keeps beside an open file."""
        return sorted(
            p.name for p in self.folder.iterdir() if p.name != "filler" and p.suffix not in (".db-wal", ".db-shm")
        )


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)], capture_output=True)
    if done.returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    yield Disk(folder)
    subprocess.run(["umount", str(folder)], check=True)


def a_run(store, number):
    text = f"mo.graph @g{number}() {{}}\n" * 400
    compilation = writer.add_compilation(store, made.compilation(text=text), made.MACHINE)
    run = writer.begin_run(store, made.request(), made.MACHINE)
    writer.finish_run(store, run, made.result(tuple(range(1000, 1060))), compilation)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "t.db"
    with open_store(path) as store:
        for number in range(RUNS):
            a_run(store, number)
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def assert_whole(path, runs=RUNS):
    with open_store(path) as store:
        rows = queries.list_runs(store)
        assert len([row for row in rows if row["status"] == FINISHED]) == runs
        assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        for row in rows:
            queries.run_samples(store, row["id"])


READERS = {
    "list": ("runs",), "one": ("runs", "--tag", "none"), "search": ("runs", "search", "mo"),
    "compare": ("compare", "1", "2"), "to stdout": ("export", "1", "--format", "json"),
}  # fmt: skip
WRITERS = {
    "tag": ("runs", "tag", "x", "1"), "note": ("runs", "note", "1", "hello"), "pin": ("runs", "pin", "3"),
    "delete": ("runs", "delete", "1"), "vacuum": ("runs", "vacuum"),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("room", [0, 8192, 40_960])
def test_what_is_there_can_be_read_from_a_full_disk(disk, filled, kernelglass, name, room):
    shutil.copy(filled, disk.database)
    disk.leave(room)
    status, out, err = kernelglass(*READERS[name], "--db", disk.database)
    assert (status, err) == (0, "") and out
    disk.free()
    assert_whole(disk.database)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("room", [0, 8192, 32_768])
def test_every_change_of_the_store_is_one_line_and_all_or_nothing(disk, filled, kernelglass, name, room):
    shutil.copy(filled, disk.database)
    disk.leave(room)
    status, out, err = kernelglass(*WRITERS[name], "--db", disk.database)
    assert (status, out) == (2, "") and err.startswith("kernelglass: the disk is full: ") and err.count("\n") == 1
    disk.free()
    assert_whole(disk.database)
    assert kernelglass(*WRITERS[name], "--db", disk.database)[0] == 0  # and with room again, it works


@pytest.mark.parametrize(
    "command", [("report", "1"), ("export", "1", "--format", "json"), ("export", "1", "--format", "html")]
)
def test_a_report_that_does_not_fit_leaves_the_earlier_one(disk, filled, kernelglass, command):
    shutil.copy(filled, disk.database)
    out = disk.folder / "out.html"
    out.write_text("the earlier one")
    disk.leave(4096)
    status, said, err = kernelglass(*command, "-o", out, "--db", disk.database)
    assert (status, said) == (2, "") and err.count("\n") == 1 and "cannot write" in err and "space" in err
    assert out.read_text() == "the earlier one" and disk.names() == ["out.html", "t.db"]
    disk.free()
    assert_whole(disk.database)


def test_a_run_cannot_begin_on_a_full_disk(disk, filled, kernelglass):
    shutil.copy(filled, disk.database)
    disk.leave(0)
    status, out, err = kernelglass("run", "sample:mlp", "--repeat", "2", "--db", disk.database)
    assert (status, out) == (2, "") and "the disk is full" in err and err.count("\n") == 1
    new = disk.folder / "new.db"
    status, out, err = kernelglass("run", "sample:mlp", "--repeat", "2", "--db", new)
    assert (status, out) == (2, "") and "the disk is full" in err and err.count("\n") == 1
    disk.free()
    assert_whole(disk.database)


@pytest.mark.parametrize("room", [0, 90_000, 200_000])
def test_a_sweep_on_a_full_disk_ends_in_one_line_and_goes_on_later(disk, kernelglass, tmp_path, room):
    spec = tmp_path / "small.toml"
    spec.write_text('sources = ["sample:mlp"]\ntargets = ["cpu", "sm_90a"]\nlevels = [0, 1, 2]\ncache = true')
    with open_store(disk.database) as store:
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    disk.leave(room)
    status, out, err = kernelglass("sweep", spec, "--db", disk.database, "--jobs", 1)
    assert (status, out) == (2, "") and "the disk is full" in err and err.count("\n") == 1
    disk.free()
    with open_store(disk.database) as store:
        before = [row["id"] for row in store.rows("SELECT id FROM compilations")]
        assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert len(before) < 6
    assert kernelglass("sweep", spec, "--db", disk.database, "--jobs", 1)[0] == 0
    with open_store(disk.database) as store:
        after = [row["id"] for row in store.rows("SELECT id FROM compilations")]
        assert len(after) == 6 and after[: len(before)] == before
        assert store.rows("SELECT count(*) AS n FROM under_way") == [{"n": 0}]


def test_an_upgrade_without_room_for_its_backup_changes_nothing(disk):
    with open_store(disk.database, migrations=MIGRATIONS[:-1]) as store:
        for number in range(RUNS):
            with store.transaction():
                put_text(store, random.Random(number).randbytes(20_000).hex())
            run = writer.begin_run(store, made.request(), made.MACHINE)
            writer.finish_run(store, run, made.result(tuple(range(1000, 1060))))
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = disk.database.read_bytes()
    disk.leave(65_536)
    with pytest.raises(StoreError) as error:
        open_store(disk.database)
    assert "disk is full" in str(error.value) and "\n" not in str(error.value)
    assert disk.database.read_bytes() == before and disk.names() == ["t.db"]
    disk.free()
    with open_store(disk.database) as store:
        assert store.connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
    assert_whole(disk.database)
    assert disk.names() == ["t.db", f"t.db.v{VERSION - 1}.backup"]


def test_a_disk_that_fills_while_runs_are_written_loses_none_that_finished(disk):
    """Runs are written until there is no room; the one in progress is marked, all that were said to be kept are."""
    code = (
        "import sys; from profiler.store import open_store, writer, StoreError; import records_for_tests as made\n"
        "store = open_store(sys.argv[1])\n"
        "try:\n"
        "    while True:\n"
        "        run = writer.begin_run(store, made.request(), made.MACHINE)\n"
        "        writer.finish_run(store, run, made.result(tuple(range(run, 9_000_000, 997))))\n"
        "        print(run, flush=True)\n"
        "except StoreError as error:\n"
        "    print(error, file=sys.stderr)\n"
    )
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'profiler'}"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(disk.database)], env=environment, capture_output=True, text=True, timeout=120
    )
    kept = [int(line) for line in done.stdout.split()]
    assert done.returncode == 0 and len(kept) > 10
    assert done.stderr.startswith("the disk is full: ") and done.stderr.count("\n") == 1
    (disk.folder / "t.db").stat()
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk.folder)], check=True)
    with open_store(disk.database) as store:
        rows = {row["id"]: row["status"] for row in queries.list_runs(store, queries.RunFilter(limit=10_000))}
        assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert all(rows[run] == FINISHED for run in kept)
    assert set(rows.values()) <= {FINISHED, INTERRUPTED}
