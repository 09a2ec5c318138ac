"""What a run says of its model: found out once, and of a model from the cache not again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, TensorType, compile
from compiler.errors import CompilerError
from compiler.model import Kernel
from profiler.model_records import stage_records

ROOT = Path(__file__).resolve().parents[2]
TELL = """
import sys
import numpy as np
from compiler import Graph, TensorType, compile, ops
from profiler.model_records import compilation_record, launch_records, stage_records
from profiler.records import MeasureRequest
with Graph("block", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 64))]) as graph:
    x, w = graph.inputs
    graph.output(ops.softmax(ops.relu(x @ w + 0.5) * np.arange(64, dtype=np.float32)))
model = compile(graph, jobs=1)
for rows in map(int, sys.argv[1:]):
    request = MeasureRequest("block", dims={"M": rows})
    print(compilation_record(model, "block", 0.0).kernels, launch_records(model, request, np.ones((3, 9), np.int64)))
if not sys.argv[1:]:
    print(stage_records(model))
print("xdsl" in sys.modules)
"""
FIND_OUT = """
from profiler.model_records import find_out
find_out(model, MeasureRequest("block", dims={"M": 6}))
"""


@pytest.fixture
def told(tmp_path):
    """What a fresh interpreter tells of a model, and whether it had to load what makes one."""

    def run(*rows):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(tmp_path)}
        command = [sys.executable, "-c", TELL, *map(str, rows)]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        *lines, loaded = done.stdout.splitlines()
        return lines, loaded == "True"

    return run


def test_a_model_from_the_cache_is_told_of_without_being_made_again(told):
    cold, made = told(5, 8)
    assert made and "flops=" in cold[0] and "loads=None" not in cold[0]
    assert cold[0] != cold[1], "what a launch does depends on its sizes"
    assert told(8, 5) == (cold[::-1], False)
    assert told(7)[1], "nobody has counted for these sizes"


def test_what_is_found_out_beforehand_is_known_to_whoever_measures(told, tmp_path):
    once = TELL.split("for rows in")[0] + FIND_OUT
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", once], env=environment, cwd=ROOT, check=True)
    (line,), made = told(6)
    assert "flops=" in line and "loads=None" not in line and not made


def test_the_ir_of_a_model_from_the_cache_is_not_made_again(told):
    (cold,), made = told()
    assert made and all(f"stage='{stage}'" in cold for stage in ("mo", "mogg", "mgp", "kgen", "llvm", "asm"))
    assert told() == ([cold], False)


@pytest.fixture
def cold_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))


def scaled(by):
    with Graph("scaled", inputs=[TensorType("f32", (4, 64))]) as graph:
        graph.output(graph.inputs[0] * by)
    return compile(graph, jobs=1)


def test_ir_that_could_not_be_had_is_asked_for_again(cold_cache, monkeypatch):
    whole = {record.stage for record in stage_records(scaled(2.0))}
    show = Kernel.stage

    def without_memory(kernel, stage):
        if stage == "asm":
            raise CompilerError("no memory")
        return show(kernel, stage)

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "stage", without_memory)
        assert {record.stage for record in stage_records(scaled(3.0))} == whole - {"asm"}
    assert {record.stage for record in stage_records(scaled(3.0))} == whole


def test_ir_names_the_large_constant_that_is_in_it(cold_cache):
    def weighted(value):
        with Graph("weighted", inputs=[TensorType("f32", (4, 512))]) as graph:
            graph.output(graph.inputs[0] @ np.full((512, 1024), value, np.float32))
        return [record.text for record in stage_records(compile(graph, jobs=1)) if record.stage == "mo"]

    assert weighted(1) == weighted(1) != weighted(2)
