"""`kernelglass tune`: what it prints and keeps, what others use of it, and what it says when it cannot keep it."""

import json
import os
import subprocess
import sys

import pytest
from command_line import ROOT, assert_one_line, document

from profiler.store import open_store
from profiler.store.tuned import tuned_rows

KERNEL = """
from kernels.language import *
from kernels.parallel import split


@kernel("magnitude")
def magnitude(out: FusedOutput, x: FusedInput):
    begin, end = split(out.shape[0])
    for i in range(begin, end):
        v = abs(x[i])
        for _ in range(choice("times", 400, (0,))):
            v = sqrt(v * v)
        out[i] = v
"""
SOURCE = """
from compiler import Graph, TensorType, ops

LIBRARY = "kernels"

def build():
    with Graph("magnitude", inputs=[TensorType("f32", (2048,))]) as graph:
        graph.output(ops.custom("magnitude", [graph.inputs[0]], [TensorType("f32", (2048,))]))
    return graph
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "magnitude.py").write_text(KERNEL)
    (tmp_path / "magnitude.py").write_text(SOURCE)
    return tmp_path / "magnitude.py"


@pytest.mark.slow
def test_what_is_tuned_is_kept_listed_used_and_forgotten(kernelglass, source, tmp_path):
    found = document(kernelglass("tune", source, "--threads", "1", "--json"))
    (row,) = found["kernels"]
    assert row["faster"] and row["best"] == {"times": 0} and row["default"] == {"times": 400}
    assert row["ratio"]["low"] <= row["ratio"]["value"] <= row["ratio"]["high"] < 0.5
    (kept,) = json.loads(kernelglass("tune", "--list", "--json")[1])
    assert kept["kernel"] == "magnitude_kernel" and kept["ratio"] == row["ratio"]["value"]
    assert "times 0" in kernelglass("tune", source, "--list")[1]

    status, out, _ = kernelglass("compile", source)
    assert status == 0 and "tuned        magnitude_kernel (times 0)" in out
    assert "tuned " not in kernelglass("compile", source, "--no-tuned")[1]
    run = document(kernelglass("run", source, "--repeat", "5", "--json"))
    assert run["tuned"] == {"magnitude_kernel": {"times": 0}}
    assert (
        "tuned      magnitude_kernel (times 0); --no-tuned does without"
        in kernelglass("run", source, "--repeat", "5")[1]
    )
    assert document(kernelglass("run", source, "--repeat", "5", "--no-tuned", "--json"))["tuned"] == {}
    shown = kernelglass("compile", source, "--emit", "source")[1]
    assert shown.startswith("@kernel(\"magnitude_kernel\", choices={'times': 0})")

    library = source.parent / "kernels" / "magnitude.py"
    library.write_text(KERNEL.replace("abs(x[i])", "abs(x[i]) + f32(0)"))
    assert "tuned " not in kernelglass("compile", source)[1]  # the kernel is another one by now

    assert kernelglass("tune", "--forget")[1] == "1 tuned kernel forgotten\n"
    assert kernelglass("tune", "--list")[1].startswith("nothing is tuned")


@pytest.mark.slow
def test_a_database_that_cannot_be_written_is_said_and_the_table_printed(kernelglass, source, tmp_path, monkeypatch):
    open_store(tmp_path / "traces.db").close()
    monkeypatch.setenv("KERNELGLASS_DB_READONLY", "1")
    status, out, err = kernelglass("tune", source, "--threads", "1")
    assert status == 0 and "times 400" in out and "times 0" in out and "faster" in out
    assert "note: what was tuned is not kept: " in err and err.count("\n") == 1
    with open_store(tmp_path / "traces.db", readonly=True) as store:
        assert tuned_rows(store) == []


def test_stopping_prints_what_is_known_and_leaves_with_130(source, tmp_path):
    command = [sys.executable, "-c", _STOPPED, str(source)]
    environment = {**os.environ, "KERNELGLASS_DB": str(tmp_path / "traces.db")}
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment)
    assert made.returncode == 130, made.stderr
    assert "stopped: magnitude on cpu: 0 of 1 kernels" in made.stdout
    assert made.stderr.strip().splitlines()[-1] == "kernelglass: interrupted"


_STOPPED = """
import os, signal, sys
from app.cli.main import main
from profiler.tuning import search

told = search.Tuning._told

def stopping(self, words):
    if words.startswith("round 1"):
        os.kill(os.getpid(), signal.SIGINT)
    return told(self, words)

search.Tuning._told = stopping
sys.exit(main(["tune", sys.argv[1], "--threads", "1"]))
"""


def test_bad_usage_is_one_line(kernelglass, source, tmp_path):
    assert_one_line(kernelglass("tune"), 2, "Missing argument 'SRC'")
    assert_one_line(kernelglass("tune", source, "--kernel", "nope"), 2, "no kernel is called 'nope'")
    assert_one_line(kernelglass("tune", source, "--device", "cuda:7"), 4)
    assert_one_line(kernelglass("tune", source, "--budget", "nan"), 2)


def test_nothing_is_tuned_at_first(kernelglass):
    assert kernelglass("tune", "--list") == (0, "nothing is tuned; `kernelglass tune SRC` does that\n", "")
    assert document(kernelglass("tune", "--list", "--json")) == []
