"""Names that are orders, through samples, bisections, sweeps, clusters, packages, generated text, compiled models."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zlib

import pytest
from command_line import ROOT, SCALE
from hostile_words import FILE_NAME, HOSTILE, orders
from tiny_checkpoints import checkpoint

from app.cli.main import main

QUICK = ("--repeat", "2", "--processes", "1", "--threads", "1")
KERNELS = '@elementwise("twice")\ndef twice(x): return x + x\n'


def plain(text: str) -> bool:
    """Whether nothing in it is an order, and no line of it begins in the middle of a name."""
    return orders(text) == [] and not re.search(r"^\s*(\\x0b|\\u202e)", text, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder whose name, and what is in it, is hostile."""
    made = tmp_path_factory.mktemp("hostile") / FILE_NAME
    made.mkdir()
    (made / f"{FILE_NAME}.py").write_text(SCALE)
    (made / "kernels").mkdir()
    (made / "kernels" / f"{FILE_NAME}.py").write_text(KERNELS)
    return made


@pytest.fixture(scope="module")
def sampled(tmp_path_factory, folder):
    """Two runs, the first with samples, in all of which every name and line is hostile."""
    database = tmp_path_factory.mktemp("hostile") / "traces.db"
    source = str(folder / f"{FILE_NAME}.py")
    for more in (["--sample"], []):
        assert main(["run", source, "--db", str(database), *QUICK, *more]) == 0
    connection = sqlite3.connect(database)
    for kernel, data in connection.execute("SELECT kernel, data FROM sampled WHERE kernel <> ''").fetchall():
        found = json.loads(zlib.decompress(data))
        found["kernel"], found["nodes"] = HOSTILE, [[HOSTILE, 1.0]]
        for stage in found["stages"]:
            stage["lines"] = [line | {"text": HOSTILE, "file": HOSTILE, "nodes": [HOSTILE]} for line in stage["lines"]]
        text = json.dumps(found).encode()
        values = (HOSTILE, len(text), zlib.compress(text), kernel)
        connection.execute("UPDATE sampled SET kernel = ?, size = ?, data = ? WHERE kernel = ?", values)
    connection.execute("UPDATE launches SET kernel = ?, nodes = ?", (HOSTILE, json.dumps([HOSTILE])))
    connection.execute("UPDATE kernels SET name = ?, nodes = ?", (HOSTILE, json.dumps([HOSTILE])))
    connection.execute("UPDATE runs SET source = ?", (HOSTILE,))
    connection.commit()
    connection.close()
    return database


@pytest.mark.parametrize("command", [("hot", "1"), ("hot", "1", "--stage", "nodes"), ("hot", "1", "--listing"),
                                     ("hot", "1", "--stage", "asm"), ("hot", "1", "--json"), ("hot", "2"),
                                     ("hot", "1", "--kernel", "none"), ("hot", HOSTILE.replace("\x00", "")),
                                     ("compare", "1", "2"), ("export", "1", "--format", "md"),
                                     ("export", "1", "--format", "perfetto"), ("runs",),
                                     ("bisect", "1", "2", "--bound", "1e-30", "--kind", "wrong"),
                                     ("bisect", "1", HOSTILE.replace("\x00", ""))], ids=str)  # fmt: skip
def test_samples_and_bisections_of_hostile_names_are_plain(kernelglass, sampled, command):
    _, out, err = kernelglass(*command, "--db", sampled)
    assert "Traceback" not in err and (out or err)
    assert plain(out) and plain(err), (out, err)


def test_an_html_report_of_samples_has_no_markup_of_theirs(kernelglass, sampled, tmp_path):
    status, _, err = kernelglass("report", "1", "-o", tmp_path / "r.html", "--db", sampled)
    assert status == 0, err
    page = (tmp_path / "r.html").read_text()
    assert "<img" not in page and "<script>alert" not in page and orders(page) == [] and "alert(1)" in page


def test_a_sweep_of_hostile_files_is_plain(kernelglass, folder, tmp_path):
    spec = folder / f"{FILE_NAME}.toml"
    spec.write_text(
        "name = 'x'\nlevels = [0]\nsources = "
        + json.dumps([f"{FILE_NAME}.py", f"{FILE_NAME}-gone.py"])
        + "\nlibraries = ['', 'kernels']\n"
    )
    for more in ((), ("--json",), ("--csv",)):
        status, out, err = kernelglass("sweep", spec, "--db", tmp_path / "s.db", *more)
        assert "Traceback" not in err and (status == 2 or out)
        assert plain(err) and (plain(out) or more), (out, err)
    cells = [cell for row in csv.reader(io.StringIO(out, newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t")]
    quoted = json.dumps(HOSTILE)
    for broken in (
        "sources = [1]", "nonsense", f"sources = [{quoted}]", f"sources = ['sample:mlp']\nflows = [{quoted}]",
        f"name = {quoted}\nsources = ['sample:mlp']",
    ):  # fmt: skip
        spec.write_text(broken)
        status, out, err = kernelglass("sweep", spec, "--db", tmp_path / "s.db")
        assert status == 2 and err.count("\n") == 1 and plain(err), err


@pytest.mark.parametrize("command", [("kernels",), ("kernels", "twice"), ("kernels", HOSTILE), ("kernels", "--json")],
                         ids=["all", "one", "hostile", "json"])  # fmt: skip
def test_a_package_of_kernels_with_a_hostile_name_is_plain(kernelglass, folder, command):
    status, out, err = kernelglass(*command, "--library", folder / "kernels")
    assert status == 0 and plain(out) and plain(err), (out, err)
    status, out, err = kernelglass(*command, "--library", folder / "gone")
    assert status in (2, 3) and err.count("\n") == 1 and plain(err)


def test_a_mistake_in_a_hostile_package_is_told_plainly(kernelglass, folder, tmp_path):
    shutil.copytree(folder / "kernels", tmp_path / FILE_NAME)
    (tmp_path / FILE_NAME / f"{FILE_NAME}.py").write_text(f"@kernel({HOSTILE!r})\ndef \x1b(: pass\n")
    for command in (
        ("kernels",),
        ("compile", "sample:mlp"),
        ("run", "sample:mlp", *QUICK),
        ("cluster", "plan", "sample:mlp"),
    ):
        status, _, err = kernelglass(*command, "--library", tmp_path / FILE_NAME)
        assert status in (2, 3) and plain(err) and "Traceback" not in err, err


@pytest.mark.parametrize(
    "scheduler", [HOSTILE, f"tcp://{HOSTILE}", "tcp://127.0.0.1:1"], ids=["words", "host", "nobody"]
)
def test_a_scheduler_with_a_hostile_name_is_refused_plainly(kernelglass, scheduler, folder):
    source = folder / f"{FILE_NAME}.py"
    for command in (("cluster", "status", scheduler), ("run", source, "--device", f"{scheduler}/cpu")):
        status, out, err = kernelglass(*command)
        assert status != 0 and out == "" and plain(err) and "Traceback" not in err, err


def test_a_plan_for_a_hostile_file_is_plain(kernelglass, folder):
    status, out, err = kernelglass("cluster", "plan", folder / f"{FILE_NAME}.py")
    assert status == 0 and plain(out) and plain(err)


def test_a_compiled_model_with_a_hostile_name_is_plain(kernelglass, folder):
    place = folder / f"{FILE_NAME}.kgx"
    status, out, err = kernelglass("compile", folder / f"{FILE_NAME}.py", "-o", place)
    assert status == 0 and plain(out) and plain(err), err
    status, out, err = kernelglass("run", place, *QUICK, "--dim", "M=8")
    assert status == 0 and plain(out) and plain(err), err
    assert "read from the file in " in out  # and not from the cache, whose it is not
    content = place.read_bytes()
    for damaged in (b"", b"nonsense", content[: len(content) // 2], content.replace(b"scale", HOSTILE.encode()[:5])):
        place.write_bytes(damaged)
        for command in (("run", place, *QUICK), ("compile", place)):
            status, _, err = kernelglass(*command)
            assert status != 0 and err.count("\n") == 1 and plain(err) and "Traceback" not in err, err


def tokenizer(where):
    """Words of which each is an order to a terminal."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {f"\x1b]0;owned\x07\x1b[31m{number}": number for number in range(64)}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token=next(iter(words))))
    model.save(str(where / "tokenizer.json"))


def test_what_a_model_says_is_no_order_to_a_terminal(tmp_path, folder):
    """On a pseudo-terminal; a pipe gets the text as it is."""
    pty = pytest.importorskip("pty")
    model = checkpoint(tmp_path / "model", num_hidden_layers=1)
    tokenizer(model)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "app", "generate", str(model), "--prompt", "hi", "-n", "3", "--no-db"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert b"owned" in shown and orders(shown.decode().replace("\r\n", "\n")) == [], shown


def test_a_model_in_a_hostile_folder_is_told_of_plainly(kernelglass, folder, tmp_path):
    model = checkpoint(folder / "model", num_hidden_layers=1)
    status, out, err = kernelglass("generate", model, "--tokens", "1,2", "-n", "2", "--db", tmp_path / "g.db")
    assert status == 0 and plain(out) and plain(err), err
    status, out, err = kernelglass("runs", "--db", tmp_path / "g.db")
    assert status == 0 and plain(out)
    (model / "config.json").write_text("{")
    for place in (model, folder / "gone", folder):
        status, out, err = kernelglass("generate", place, "--tokens", "1,2", "--no-db")
        assert status != 0 and err.count("\n") == 1 and plain(err), err
