"""What a run says of its model: found out once, and of a model from the cache not again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TELL = """
import sys
import numpy as np
from compiler import Graph, TensorType, compile, ops
from profiler.model_records import compilation_record, launch_records
from profiler.records import MeasureRequest
with Graph("block", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 64))]) as graph:
    x, w = graph.inputs
    graph.output(ops.softmax(ops.relu(x @ w + 0.5) * np.arange(64, dtype=np.float32)))
model = compile(graph, jobs=1)
for rows in map(int, sys.argv[1:]):
    request = MeasureRequest("block", dims={"M": rows})
    print(compilation_record(model, "block", 0.0).kernels, launch_records(model, request, np.ones((3, 9), np.int64)))
print("xdsl" in sys.modules)
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
