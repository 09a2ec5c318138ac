"""A store that cannot be used says why in one line, and nothing is destroyed."""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import records_for_tests as made

from profiler.records import FINISHED, INTERRUPTED
from profiler.store import StoreError, open_store, queries, writer
from profiler.store import connection as connection_module
from profiler.store.texts import search_texts

ROOT = Path(__file__).parents[2]


def a_run(store):
    run = writer.begin_run(store, made.request(), made.MACHINE)
    writer.finish_run(store, run, made.result(), writer.add_compilation(store, made.compilation(), made.MACHINE))
    return run


def filled(path, runs=30):
    with open_store(path) as store:
        for _ in range(runs):
            a_run(store)
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def use(path):
    """Everything a program would ask of a store."""
    with open_store(path, create=False) as store:
        for row in queries.list_runs(store, queries.RunFilter(limit=1000)):
            queries.run_samples(store, row["id"])
            queries.launches(store, row["id"])
            if row["compilation"]:
                queries.compilation_row(store, row["compilation"])
                queries.kernels(store, row["compilation"])
        search_texts(store, "x")
        queries.totals(store)


def assert_one_line(error, *words):
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("content", [b"hello", b"\x7fELF" * 1000, b"SQLite format 2\0" + bytes(4096), b"\0"])
def test_a_file_that_is_not_a_database_is_refused_untouched(tmp_path, content):
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as error:
        open_store(path)
    assert_one_line(error, "not a database", "x.db")
    assert path.read_bytes() == content and sorted(tmp_path.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_untouched(tmp_path):
    path = tmp_path / "x.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as error:
        open_store(path)
    assert_one_line(error, "another program")
    assert path.read_bytes() == before


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(StoreError, match="folder"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="no database"):
        open_store(tmp_path / "none.db", create=False)
    assert not list(tmp_path.iterdir())


def test_a_truncated_database_is_one_line_and_untouched(tmp_path):
    whole = filled(tmp_path / "whole.db").read_bytes()
    random.seed(1)
    refused = 0
    for number, size in enumerate([1, 16, 99, 100, 512, 4096, *(random.randrange(len(whole)) for _ in range(30))]):
        path = tmp_path / f"t{number}.db"
        path.write_bytes(whole[:size])
        try:
            use(path)
        except StoreError as error:
            refused += 1
            assert "\n" not in str(error)
        assert path.read_bytes() == whole[:size]
    assert refused >= 34


def test_flipped_bytes_never_crash_the_reader(tmp_path):
    whole = filled(tmp_path / "whole.db", 5).read_bytes()
    rng = random.Random(2)
    for number in range(60):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 8, 200))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path = tmp_path / f"f{number}.db"
        path.write_bytes(data)
        try:
            use(path)
        except StoreError as error:
            assert "\n" not in str(error)


def as_nobody(action):
    """What `action` returns in a process that is not root, for whom read-only means something."""
    reader, writer_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(writer_end, str(action()).encode())
        finally:
            os._exit(0)
    os.close(writer_end)
    with os.fdopen(reader) as stream:
        said = stream.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.parametrize("folder_mode", [0o755, 0o555])
def test_a_read_only_file_can_be_read_and_writing_it_is_one_line(folder_mode):
    with tempfile.TemporaryDirectory() as name:
        path = filled(Path(name) / "x.db")
        before = path.read_bytes()
        path.chmod(0o444)
        Path(name).chmod(folder_mode)

        def attempt():
            with open_store(path) as store:
                try:
                    a_run(store)
                except StoreError as error:
                    return f"{len(queries.list_runs(store))} runs; {error}"

        said = as_nobody(attempt)
        Path(name).chmod(0o755)
        assert said.startswith("30 runs; ") and "read-only; nothing was written" in said and "\n" not in said
        assert path.read_bytes() == before


def test_a_store_opened_to_read_refuses_to_write(tmp_path):
    path = filled(tmp_path / "x.db")
    with open_store(path, readonly=True) as store:
        assert len(queries.list_runs(store)) == 30
        with pytest.raises(StoreError) as error:
            a_run(store)
    assert_one_line(error, "read-only", "nothing was written")


def test_a_locked_file_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(connection_module, "BUSY_SECONDS", 0.1)
    path = filled(tmp_path / "x.db")
    blocker = sqlite3.connect(path, isolation_level=None)
    with open_store(path) as store:
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as error:
            a_run(store)
        assert_one_line(error, "locked by another program")
        blocker.execute("ROLLBACK")
        a_run(store)
    blocker.close()


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path):
    path = filled(tmp_path / "x.db")
    with open_store(path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError) as error:
            for _ in range(1000):
                a_run(store)
        assert_one_line(error, "disk is full", "intact")
    with open_store(path) as store:
        assert len(queries.list_runs(store, queries.RunFilter(status=FINISHED, limit=9999))) >= 30
        assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_a_file_that_may_not_grow_is_one_line_and_loses_nothing(tmp_path):
    path = filled(tmp_path / "x.db")
    code = (
        "import resource, signal; from profiler.store import open_store, writer, StoreError\n"
        "import records_for_tests as made\n"
        f"store = open_store({str(path)!r})\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size}, {path.stat().st_size}))\n"
        "try:\n"
        "    for _ in range(3000):\n"
        "        run = writer.begin_run(store, made.request(), made.MACHINE)\n"
        "        writer.finish_run(store, run, made.result())\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.count("\n") == 1 and "intact" in done.stdout, done.stderr
    assert resource.RLIMIT_FSIZE is not None
    with open_store(path) as store:
        assert len(queries.list_runs(store, queries.RunFilter(status=FINISHED, limit=9999))) >= 30
        assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


WRITER = (
    "import sys; from profiler.store import open_store, writer; import records_for_tests as made\n"
    "store = open_store(sys.argv[1])\n"
    "while True:\n"
    "    number = writer.add_compilation(store, made.compilation(), made.MACHINE)\n"
    "    run = writer.begin_run(store, made.request(), made.MACHINE)\n"
    "    print('began', run, flush=True)\n"
    "    writer.finish_run(store, run, made.result(tuple(range(1, 3000))), number)\n"
    "    print('finished', run, flush=True)\n"
)


def killed_while_writing(path, times, rng):
    """Kill a writer again and again at a random moment; after each, the file is whole and nothing finished is lost."""
    finished, interrupted = set(), 0
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], cwd=Path(__file__).parent, env={"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        out = process.stdout.readline()
        start = time.perf_counter()
        if rng.random() < 0.8:  # else it is killed in its first run
            out += process.stdout.readline()
        # A moment within the next few runs, however fast or busy the machine is.
        time.sleep(rng.random() * max(3 * (time.perf_counter() - start), 0.01))
        process.send_signal(signal.SIGKILL)
        out += process.stdout.read()
        process.wait()
        lines = [line.split() for line in out.splitlines() if line.count(" ") == 1]
        finished |= {int(run) for word, run in lines if word == "finished"}
        with open_store(path) as store:
            assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
            rows = {row["id"]: row["status"] for row in queries.list_runs(store, queries.RunFilter(limit=100_000))}
        assert all(rows[run] == FINISHED for run in finished)
        assert set(rows.values()) <= {FINISHED, INTERRUPTED}
        interrupted = sum(status == INTERRUPTED for status in rows.values())
    return len(finished), interrupted


def test_a_killed_writer_loses_only_the_run_in_progress(tmp_path):
    killed_while_writing(tmp_path / "x.db", 3, random.Random(3))


@pytest.mark.slow
def test_kill_9_a_hundred_times(tmp_path):
    finished, interrupted = killed_while_writing(tmp_path / "x.db", 100, random.Random(4))
    print(f"{finished} finished runs kept, {interrupted} marked as interrupted")
    assert finished > 100 and interrupted > 10


@pytest.mark.parametrize(("table", "column"), [("passes", "bytes_before"), ("runs", "median"), ("tags", "tag")])
def test_a_column_that_lost_its_name_is_one_line(tmp_path, table, column):
    """The text of a table is in the file as well, and a flipped byte there renames a column."""
    path = filled(tmp_path / "x.db")
    changed = sqlite3.connect(path)
    changed.execute("PRAGMA writable_schema = ON")
    sql = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?"
    changed.execute(sql, (f"{column} ", f"{column[:-1]}! ".replace("!", "q"), table))
    changed.commit()
    changed.close()
    with pytest.raises(StoreError) as error:
        open_store(path)
    assert_one_line(error, "damaged", table)


@pytest.mark.parametrize("table", ["passes", "tags"])
def test_a_table_whose_name_is_no_text_is_one_line(tmp_path, table):
    path = filled(tmp_path / "x.db")
    changed = sqlite3.connect(path)
    changed.execute("PRAGMA writable_schema = ON")
    changed.execute("UPDATE sqlite_master SET name = CAST(name AS BLOB) WHERE name = ?", (table,))
    changed.commit()
    changed.close()
    with pytest.raises(StoreError) as error:
        open_store(path)
    assert_one_line(error, "damaged")


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY])
def test_a_file_that_went_while_it_was_in_use_is_said_to_be_gone(tmp_path, code):
    path, error = tmp_path / "x.db", sqlite3.OperationalError("what SQLite says of it")
    error.sqlite_errorcode = code
    assert "any more: it was moved or deleted" in connection_module.error_words(path, error)
    path.touch()
    assert "moved or deleted" not in connection_module.error_words(path, error)
