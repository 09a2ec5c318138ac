"""A database damaged at random places: an answer or one line and exit 2, and the file stays as it is.

Bytes are cut off, flipped, zeroed and replaced in the file; and values of every column are replaced by others that
SQLite would keep there, which is what a flipped bit in a record's header does.
"""

import os
import random
import shutil
import sqlite3

import pytest

from app.cli import main
from profiler.store import open_store, queries

SCALE = """
from compiler import Graph, TensorType, ops

DIMS = {"M": 8}

def build():
    graph = Graph("scale", inputs=[TensorType("f32", ("M", 64))])
    with graph:
        graph.output(ops.exp(graph.inputs[0]) * 2)
    return graph
"""
FORMATS = ("json", "csv", "md", "script", "perfetto", "html")
READERS = [
    ("runs",), ("runs", "--json", "--limit", "3"), ("runs", "--compilations"), ("runs", "search", "mo.exp"),
    ("compare", "1", "2"), ("compare", "c1", "c2"), *[("export", "1", "--format", kind) for kind in FORMATS],
    ("report", "2", "1", "-o", os.devnull),
]  # fmt: skip
WRITERS = [
    ("runs", "tag", "x", "1"), ("runs", "note", "2", "hi"), ("runs", "pin", "1"), ("runs", "delete", "1"),
    ("runs", "vacuum"),
]  # fmt: skip
VALUES = [
    None, "", "x", -1, 0, 1 << 40, -(1 << 62), 1e308, -1.5, float("inf"), b"\0\xff", b"", "{}", "[]", "[1, 2]",
    '{"a": 1}', "null", "é\0z", "9" * 400, '[[1], "x", null]', "finished", "running", "{" * 5000,
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a database with two real runs, IR and all."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "scale.py").write_text(SCALE)
    path = folder / "t.db"
    for repeat in ("48", "24"):
        assert main(["run", str(folder / "scale.py"), "--repeat", repeat, "--db", str(path)]) == 0
    with open_store(path) as store:
        assert queries.stages(store, 1)
        store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.fixture
def ask(tmp_path, capfd):
    """Puts the bytes in place, asks, and checks what every answer has to keep to; returns the exit status."""
    path = tmp_path / "t.db"

    def asked(data, command):
        for beside in tmp_path.glob("t.db*"):
            beside.unlink()
        path.write_bytes(data)
        capfd.readouterr()
        status = main([*command, "--db", str(path)])
        err = capfd.readouterr().err
        assert status in (0, 2), (command, err)
        if status == 2:
            assert err.startswith("kernelglass: ") and err.count("\n") == 1, (command, err)
        if status == 2 or command not in WRITERS:
            assert path.read_bytes() == data, (command, err)
        return status

    return asked


def damaged(whole, rng):
    """The bytes with one kind of damage at a random place."""
    data = bytearray(whole)
    kind = rng.choice(("cut", "flip", "flips", "many", "zero", "noise"))
    if kind == "cut":
        return bytes(data[: rng.randrange(1, len(data))])
    if kind in ("zero", "noise"):
        page = int.from_bytes(whole[16:18], "big")
        at = rng.randrange(len(data) // page) * page
        data[at : at + page] = bytes(page) if kind == "zero" else rng.randbytes(page)
        return bytes(data)
    for _ in range({"flip": 1, "flips": 8, "many": 200}[kind]):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def fuzz_bytes(whole, ask, rng, times):
    counted = {0: 0, 2: 0}
    for _ in range(times):
        data = damaged(whole, rng)
        for command in rng.sample(READERS, 2) + rng.sample(WRITERS, 1):
            counted[ask(data, command)] += 1
    return counted


def fuzz_values(whole, ask, rng, times, folder):
    counted = {0: 0, 2: 0}
    source = folder / "source.db"
    source.write_bytes(whole)
    for number in range(times):
        path = folder / f"v{number}.db"
        shutil.copy(source, path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA foreign_keys = 0")
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'texts_search%'"
        table = rng.choice([row[0] for row in connection.execute(tables)])
        column = rng.choice([row[1] for row in connection.execute(f"PRAGMA table_info({table})")])
        try:
            connection.execute(f"UPDATE {table} SET {column} = ?", (rng.choice(VALUES),))
            connection.commit()
        except sqlite3.Error:  # the table itself refuses this one
            continue
        finally:
            connection.close()
        data = path.read_bytes()
        path.unlink()
        for command in rng.sample(READERS, 3) + rng.sample(WRITERS, 1):
            counted[ask(data, command)] += 1
    return counted


def test_damaged_bytes_are_an_answer_or_one_line(whole, ask):
    counted = fuzz_bytes(whole, ask, random.Random(5), 50)
    assert counted[0] > 20 and counted[2] > 20  # neither all refused nor all overlooked


def test_values_of_a_wrong_kind_are_an_answer_or_one_line(whole, ask, tmp_path):
    assert fuzz_values(whole, ask, random.Random(6), 40, tmp_path)[2] > 10


@pytest.mark.slow
def test_hundreds_of_damaged_files(whole, ask, tmp_path):
    print(fuzz_bytes(whole, ask, random.Random(7), 800), fuzz_values(whole, ask, random.Random(8), 600, tmp_path))


def test_a_damaged_file_is_not_rewritten_by_vacuum(whole, ask):
    page = int.from_bytes(whole[16:18], "big")
    rng = random.Random(9)
    refused = 0
    for at in range(page, len(whole), page):
        data = bytearray(whole)
        data[at : at + page] = rng.randbytes(page)
        refused += ask(bytes(data), ("runs", "vacuum")) == 2
    assert refused >= 0.9 * (len(whole) // page - 1)


def test_a_locked_file_can_be_read_and_changing_it_is_one_line(whole, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("profiler.store.connection.BUSY_SECONDS", 0.1)
    path = tmp_path / "t.db"
    path.write_bytes(whole)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    for command in READERS[:-1]:
        assert main([*command, "--db", str(path)]) == 0, command
    for command in WRITERS:
        capfd.readouterr()
        assert main([*command, "--db", str(path)]) == 2
        out, err = capfd.readouterr()
        assert out == "" and err.count("\n") == 1 and "locked by another program" in err
    blocker.execute("ROLLBACK")
    blocker.close()
    for command in WRITERS:
        assert main([*command, "--db", str(path)]) == 0 or command == ("runs", "delete", "1")  # by then it is pinned
