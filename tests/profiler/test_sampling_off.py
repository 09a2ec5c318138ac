"""Without `--sample` nothing of sampling is there: no row, no byte in the database, no other object, nothing loaded."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import records_for_tests as made

from app.cli.main import main
from profiler.store import open_store, writer
from profiler.store.migrations import MIGRATIONS

ROOT = Path(__file__).parents[2]
QUICK = ("--repeat", "2", "--processes", "1", "--threads", "1")


def entries(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def grown(database: Path) -> int:
    """The bytes of a database without what was freed, after its journal is part of it."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages, size, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size", "freelist_count")
    )
    connection.close()
    return (pages - free) * size


def test_what_was_compiled_is_the_same_before_and_after_a_sampled_run(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    database = str(tmp_path / "t.db")
    assert main(["run", "sample:softmax", "--db", database, *QUICK]) == 0
    before = entries(tmp_path / "cache")
    assert main(["run", "sample:softmax", "--db", database, *QUICK, "--sample"]) == 0
    after = entries(tmp_path / "cache")
    assert before and {name: after.get(name) for name in before} == before
    assert not [name for name in after.keys() - before.keys() if name.startswith(("object", "model"))]


def test_an_unsampled_run_takes_as_many_bytes_as_where_there_is_no_table_of_samples(tmp_path):
    """The table itself takes two pages of the file, once: its own, which is empty, and one more of names."""
    taken, whole = [], []
    for without in ((), ("sampled_lines",)):
        path = tmp_path / f"{len(without)}.db"
        migrations = tuple(each for each in MIGRATIONS if each.name not in without)
        with open_store(path, migrations=migrations) as store:
            empty = grown(path)
            compilation = writer.add_compilation(store, made.compilation("s"), made.MACHINE)
            for number in range(20):
                run = writer.begin_run(store, made.request("s"), made.MACHINE)
                times = tuple(1000 + (number * 7 + k * 13) % 50 for k in range(60))
                writer.finish_run(store, run, made.result(times, blocks=(6,) * 10), compilation)
        whole.append(grown(path))
        taken.append(whole[-1] - empty)
    assert taken[0] == taken[1] > 0
    assert whole[0] - whole[1] <= 2 * 4096


def test_a_child_that_does_not_sample_loads_nothing_of_it():
    code = """
import sys
import profiler.measure.cpu.child
loaded = [name for name in sys.modules if "sampling" in name or "perf" in name.rpartition(".")[2]]
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
