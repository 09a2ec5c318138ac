"""Graphs that take opaque values run from the command line: such a value begins as zeros, and that is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.sources import load_source
from compiler import compile, load_library

PACKAGE = Path(__file__).parents[1] / "compiler" / "language" / "opaque_kernels"
QUICK = ("--repeat", "2", "--processes", "1", "--threads", "1")
DRAWING = """
import numpy as np
from compiler import Graph, OpaqueType, TensorType, ops

LIBRARY = "kernels"
MASK = (1 << 64) - 1


def numbers(state):
    seed, drawn, found = int(state["seed"]), int(state["drawn"]), []
    for number in range(drawn + 1, drawn + 6):
        z = (seed + number * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(((z ^ (z >> 31)) >> 40) / (1 << 24))
    return np.array(found, np.float32), {"seed": state["seed"], "drawn": np.int64(drawn + 5)}


def build():
    with Graph("drawing", {"state": OpaqueType("rng")}) as graph:
        kinds = [TensorType("f32", (5,)), OpaqueType("rng")]
        one, between = ops.custom("rng_uniform", [graph.inputs[0]], kinds, reference=numbers)
        two, after = ops.custom("rng_uniform", [between], kinds, reference=numbers)
        graph.output(one + 1, two, after)
    return graph
"""
READING = """
from compiler import Graph, OpaqueBufferType, TensorType, dim, ops

LIBRARY, DIMS = "kernels", {"P": 3}


def build():
    with Graph("reading", {"cache": OpaqueBufferType("paged_cache", pages=dim("P"), width=3)}) as graph:
        rows = TensorType("f32", (4 * dim("P"), 3))
        graph.output(ops.exp(ops.custom("cache_read", [ops.buffer_load(graph.inputs[0])], rows)))
    return graph
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("opaque")
    shutil.copytree(PACKAGE, made / "kernels")
    (made / "drawing.py").write_text(DRAWING)
    (made / "reading.py").write_text(READING)
    return made


def test_a_state_begins_as_zeros_and_is_checked_against_its_reference(kernelglass, folder):
    status, out, err = kernelglass("run", folder / "drawing.py", "--check", *QUICK)
    assert status == 0, err
    assert err == 'kernelglass: note: state (!mo.opaque<"rng">): all zeros, as only kernels make such values\n'
    assert "output 0: relative error" in out and "output 2: equal" in out


def test_a_buffer_of_a_symbolic_size_takes_the_bytes_of_its_layout(kernelglass, folder):
    for more in ((), ("--dim", "P=5")):
        status, out, err = kernelglass("run", folder / "reading.py", *QUICK, *more)
        assert status == 0, err
        assert ("P=5" if more else "P=3") in out and "cache (" in err


def test_what_is_stored_of_it_runs_again(kernelglass, folder, tmp_path):
    database = tmp_path / "t.db"
    assert kernelglass("run", folder / "reading.py", *QUICK, "--db", database)[0] == 0
    script = tmp_path / "again.py"
    assert kernelglass("export", "1", "--format", "script", "-o", script, "--db", database)[0] == 0
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("median "), done.stderr
    spec = tmp_path / "s.toml"
    spec.write_text(f"sources = ['{folder / 'reading.py'}']\ndevices = ['cpu']\nrepeat = 2\nprocesses = 1\n")
    status, out, err = kernelglass("sweep", spec, "--db", database)
    assert status == 0 and "failed" not in out, out + err


def test_stages_of_such_a_graph_are_refused_in_a_line(kernelglass, folder):
    status, out, err = kernelglass("run", folder / "drawing.py", "--stages", *QUICK)
    assert status == 2 and out == "" and "use --check" in err and err.count("\n") == 1


def test_a_type_that_no_library_declares_is_named(kernelglass, folder, tmp_path):
    (tmp_path / "alone.py").write_text(DRAWING.replace('LIBRARY = "kernels"', ""))
    status, _, err = kernelglass("run", tmp_path / "alone.py", *QUICK)
    assert status in (2, 3) and "no opaque type 'rng'" in err and err.count("\n") == 1


def test_the_ledger_calls_an_opaque_value_what_it_is(folder):
    source = load_source(str(folder / "drawing.py"))
    ledger = compile(source.graph, library=load_library(*source.library_paths)).ledger
    reasons = {(decision.producer, decision.consumer): decision.reason for decision in ledger if not decision.accepted}
    assert "input is declared Opaque" in reasons.values() and "one of several results" in reasons.values()
    assert not [reason for reason in reasons.values() if "Tensor" in reason]
