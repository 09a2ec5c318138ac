"""Names that are orders to a terminal, a browser or a spreadsheet are shown as what they are, on every way out."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from html.parser import HTMLParser

import pytest
from command_line import SCALE
from hostile_words import FILE_NAME, HOSTILE, orders

from app.cli.main import main

QUICK = ("--repeat", "2", "--processes", "1", "--threads", "1")


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / f"{FILE_NAME}.py"
    path.write_text(SCALE)
    return path


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory, hostile_file):
    """Two runs whose names, notes, tags and kernels are all hostile."""
    database = tmp_path_factory.mktemp("hostile") / "traces.db"
    for _ in range(2):
        assert main(["run", str(hostile_file), "--db", str(database), *QUICK]) == 0
    with sqlite3.connect(database) as connection:
        for table, columns in {
            "runs": ("source", "note", "device"), "compilations": ("source", "flow", "debug"), "graphs": ("name",),
            "kernels": ("name",), "launches": ("kernel",), "stages": (), "machines": ("name",), "passes": ("kernel",),
            "decisions": ("producer", "consumer", "rule", "reason"),
        }.items():  # fmt: skip
            for column in columns:
                connection.execute(f"UPDATE {table} SET {column} = ?", (HOSTILE,))
        connection.execute("UPDATE compilations SET target = 'cpu'")
        connection.execute("INSERT INTO tags VALUES (1, ?)", (HOSTILE.replace("\x20", "_"),))
        nodes = json.dumps([HOSTILE])
        connection.execute("UPDATE kernels SET nodes = ?", (nodes,))
        connection.execute("UPDATE launches SET nodes = ?", (nodes,))
    connection.close()
    return database


def said(result):
    status, out, err = result
    assert "Traceback" not in err
    return status, out, err


@pytest.mark.parametrize("command", [("run", *QUICK), ("run", "--check", *QUICK), ("compile",), ("compile", "--json"),
                                     ("compile", "--emit", "mo"), ("run", "--json", *QUICK)])  # fmt: skip
def test_a_hostile_file_name_gives_the_terminal_no_orders(kernelglass, hostile_file, command):
    status, out, err = said(kernelglass(command[0], hostile_file, *command[1:]))
    assert status == 0, err
    assert orders(out) == [] and orders(err) == []
    assert not re.search(r"^\s*\\u202e", out + err, re.MULTILINE) or "--emit" in command  # no line begins in a name


@pytest.mark.parametrize("suffix", [".py", ".mlir", ".onnx", ".txt", ""])
def test_errors_about_hostile_names_are_one_plain_line(kernelglass, tmp_path, suffix):
    for command in (("run",), ("compile",), ("flows",), ("report", "-o", "x.html"), ("runs", "pin"), ("runs", "tag")):
        status, out, err = said(kernelglass(*command, f"{tmp_path}/{FILE_NAME}{suffix}"))
        assert status == 2 and out == ""
        assert err.startswith("kernelglass: ") and err.count("\n") == 1 and orders(err) == []


def test_an_error_in_a_graph_file_quotes_it_plainly(kernelglass, tmp_path):
    path = tmp_path / "g.mlir"
    path.write_text('mo.graph @"\x1b[2J\x07" () { \x1b]0;owned\x07 }')
    status, _, err = said(kernelglass("compile", path))
    assert status == 2 and orders(err) == []


@pytest.mark.parametrize("command", [("runs",), ("runs", "--compilations"), ("compare", "1", "2"),
                                     ("compare", "1", "2", "--format", "md"), ("export", "1", "--format", "md"),
                                     ("compare", "1", "2", "--json"), ("export", "1", "--format", "json"),
                                     ("export", "1", "--format", "perfetto"), ("runs", "--json"),
                                     ("compare", "c1", "c2"), ("export", "1", "--format", "script")])  # fmt: skip
def test_a_hostile_database_is_shown_plainly(kernelglass, hostile_store, command):
    status, out, err = said(kernelglass(*command, "--db", hostile_store))
    assert status == 0, err
    assert orders(out) == [] and orders(err) == []
    assert "DROP TABLE runs" in out or "export" in command  # it is shown, not left out


@pytest.mark.parametrize("command", [("compare", "1", "2"), ("export", "1")])
def test_no_markdown_in_a_name_is_markup(kernelglass, hostile_store, command):
    _, out, _ = kernelglass(*command, "--format", "md", "--db", hostile_store)
    words = out.partition("Test: ")[0]  # our own words on the test hold a sign that is no markup
    assert not re.search(r"(?<!\\)<|(?<!\\)\[x\]|(?<!\\)~~|(?<!\\)\$", words)
    rows = [line for line in out.splitlines() if line.startswith("| ")]
    assert rows and len({len(re.findall(r"(?<!\\)\|", row)) for row in rows if "DROP" in row}) == 1


@pytest.mark.parametrize("command", [("compare", "1", "2"), ("export", "1"), ("flows",)])
def test_no_cell_of_a_spreadsheet_is_a_formula_or_an_order(kernelglass, hostile_store, hostile_file, command):
    if command == ("flows",):
        options = ("-O", "0", "--debug", "none", "--repeat", "1", "--no-start-up", "--format", "csv")
        status, out, err = kernelglass("flows", hostile_file, *options)
        assert orders(err) == []
    else:
        status, out, _ = kernelglass(*command, "--format", "csv", "--db", hostile_store)
    assert status == 0 and set(orders(out)) <= {"0xd"}  # a line end within quotes; on a terminal it is escaped
    cells = [cell for row in csv.reader(io.StringIO(out, newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t")]


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_comment(self, data):
        assert "script" not in data


@pytest.mark.parametrize("command", [("export", "1"), ("compare", "1", "2")])
def test_no_html_in_a_name_is_markup(kernelglass, hostile_store, command):
    _, out, _ = kernelglass(*command, "--format", "html", "--db", hostile_store)
    page = _Tags()
    page.feed(out)
    assert "img" not in page.found and out.count("<script") <= 2 and orders(out) == [] and "alert(1)" in out
