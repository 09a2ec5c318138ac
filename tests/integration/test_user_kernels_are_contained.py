"""A user's kernel cannot take the program down: whatever it does, `run` ends with a line and an exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAD = "from kernels.language import *\n\n\n"
FAR_STORE = """@kernel("bad")
def bad(out: FusedOutput, x: FusedInput):
    for i in range(*split(out.shape[0])):
        place = x[i].cast(index) + (1 << 44)
        out[place] = x[i]
"""
ENDLESS = """@elementwise("bad")
def bad(x):
    while (x == x).any():
        x = x * 1
    return x
"""
DIVISION = """@kernel("bad")
def bad(out: FusedOutput, x: FusedInput):
    for i in range(*split(out.shape[0])):
        nothing = (x[i] * 0).cast(index)
        out[i] = ((i + 7) // nothing).cast(f32) + ((i + 7) % nothing).cast(f32)
"""
RECURSION = """@inline
def deeper(x):
    return deeper(x + 1)


@elementwise("bad")
def bad(x):
    return deeper(x)
"""
UNROLL = """@elementwise("bad")
def bad(x):
    for i in unroll(1000000):
        x = x * x + i
    return x
"""
SOURCE = """from compiler import Graph, TensorType, ops

LIBRARY = "kernels"


def build():
    graph = Graph("bad", [TensorType("f32", (64,))])
    with graph:
        graph.output(ops.custom("bad", [graph.inputs[0]], TensorType("f32", (64,))))
    return graph
"""


@pytest.mark.parametrize(
    ("kernel", "statuses", "words"),
    [
        pytest.param(FAR_STORE, (5,), "bad", id="out-of-range-store"),
        pytest.param(ENDLESS, (5,), "", id="endless-loop"),
        pytest.param(DIVISION, (0, 5), "", id="division-by-zero"),
        pytest.param(RECURSION, (3,), "k.py", id="recursion"),
        pytest.param(UNROLL, (3,), "k.py", id="unroll"),
    ],
)
def test_a_bad_kernel_ends_with_a_line(kernel: str, statuses: tuple[int, ...], words: str, tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "k.py").write_text(HEAD + kernel)
    source = tmp_path / "bad.py"
    source.write_text(SOURCE)
    limit = "2" if kernel is ENDLESS else "60"
    command = [sys.executable, "-m", "app", "run", str(source), "--no-db", "--time-limit", limit, "--processes", "1"]
    command += ["--repeat", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode in statuses, ended.stderr
    assert "Traceback" not in ended.stderr
    if ended.returncode:
        assert ended.stderr.strip() and words in ended.stderr
