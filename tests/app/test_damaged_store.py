"""A database damaged at random places: an answer or one line and exit 2, and the file stays as it is.

Bytes are cut off, flipped, zeroed and replaced in the file; and values of every column are replaced by others that
SQLite would keep there, which is what a flipped bit in a record's header does.
"""

import json
import os
import random
import shutil
import sqlite3

import pytest
from command_line import SCALE

from app.cli.main import main
from profiler.store import open_store, queries

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
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
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


JSON_COLUMNS = [
    ("runs", "dims"), ("runs", "conditions"), ("runs", "memory"), ("runs", "request"), ("compilations", "options"),
    ("compilations", "versions"), ("compilations", "stats"), ("machines", "description"), ("kernels", "nodes"),
    ("kernels", "slots"), ("launches", "nodes"), ("launches", "thread_seconds"),
]  # fmt: skip
INSIDE = [None, "", "x", -1, 0, 1 << 40, 1 << 70, -1.5, 1e308, float("nan"), True, [], {}, [1], ["x"], {"a": 1}]


def changed(value, rng):
    """A document with one place in it, at any depth, replaced, dropped or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        rest = {key: item for key, item in value.items() if key != name}
        return rest if rng.random() < 0.2 else value | {name: changed(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        middle = rng.choice(([], [value[at], value[at]], [changed(value[at], rng)], [changed(value[at], rng)]))
        return [*value[:at], *middle, *value[at + 1 :]]
    return rng.choice(INSIDE)


def fuzz_json(whole, ask, rng, times, folder):
    counted = {0: 0, 2: 0}
    path = folder / "j.db"
    for _ in range(times):
        path.write_bytes(whole)
        table, column = rng.choice(JSON_COLUMNS)
        connection = sqlite3.connect(path)
        with connection:
            for number, text in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                damage = json.dumps(changed(json.loads(text), rng))
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (damage, number))
        connection.close()
        for command in rng.sample(READERS, 4):
            counted[ask(path.read_bytes(), command)] += 1
    return counted


def test_json_that_does_not_fit_is_an_answer_or_one_line(whole, ask, tmp_path):
    counted = fuzz_json(whole, ask, random.Random(10), 60, tmp_path)
    assert counted[0] > 20 and counted[2] > 20


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_none(whole, tmp_path, kernelglass, number):
    path = tmp_path / "traces.db"
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    connection.execute(
        "UPDATE compilations SET stats = substr(stats, 1, length(stats) - 1) || ?", (f', "odd": {number}}}',)
    )
    connection.commit()
    connection.close()
    for kind in FORMATS:
        status, out, err = kernelglass("export", "1", "--format", kind, "--db", path)
        assert status == 0, (kind, err)
        if kind == "json":
            assert json.loads(out)["compilation"]["stats"]["odd"] is None


@pytest.mark.parametrize(
    "statement, words",
    [("DELETE FROM samples WHERE position = 0 AND run = 1", "run 1 has times of 48 calls and of 0 of launch 0"),
     ("DELETE FROM samples WHERE run = 1", "run 1 is finished and has no times"),
     ("UPDATE runs SET conditions = json_set(conditions, '$.blocks[0]', 1)", "has blocks of"),
     ("UPDATE runs SET conditions = json_set(conditions, '$.notes', 3)", "conditions.notes is not a list"),
     ("UPDATE runs SET memory = json_set(memory, '$.blocks', json('[{}]'))", "memory.blocks[0] has no first"),
     ("UPDATE launches SET nodes = '[\"a\", 1]'", "nodes[1] is not a text")],
)  # fmt: skip
def test_damage_is_named_by_its_place(whole, tmp_path, capfd, statement, words):
    path = tmp_path / "t.db"
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()
    for command in (("export", "1", "--format", "html"), ("export", "1", "--format", "json")):
        assert main([*command, "--db", str(path)]) == 2
        err = capfd.readouterr().err
        assert "is damaged" in err and words in err and err.count("\n") == 1


def test_a_mistake_of_the_program_is_not_called_damage(whole, tmp_path, monkeypatch):
    def wrong(document):
        raise KeyError("nonesuch")

    path = tmp_path / "t.db"
    path.write_bytes(whole)
    monkeypatch.setattr("profiler.report.exports.csv_table.run_csv", wrong)
    with pytest.raises(KeyError, match="nonesuch"):
        main(["export", "1", "--format", "csv", "--db", str(path)])


def test_damaged_bytes_are_an_answer_or_one_line(whole, ask):
    counted = fuzz_bytes(whole, ask, random.Random(5), 50)
    assert counted[0] > 20 and counted[2] > 20  # neither all refused nor all overlooked


def test_values_of_a_wrong_kind_are_an_answer_or_one_line(whole, ask, tmp_path):
    assert fuzz_values(whole, ask, random.Random(6), 40, tmp_path)[2] > 10


@pytest.mark.slow
def test_hundreds_of_damaged_files(whole, ask, tmp_path):
    print(fuzz_bytes(whole, ask, random.Random(7), 800), fuzz_values(whole, ask, random.Random(8), 600, tmp_path))
    print(fuzz_json(whole, ask, random.Random(11), 600, tmp_path))


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
