"""What the tests of the command line share: sources, how it is called, what every answer has to keep to."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCALE = """
from compiler import Graph, TensorType, ops

DIMS = {"M": 8}

def build():
    graph = Graph("scale", inputs=[TensorType("f32", ("M", 64))])
    with graph:
        graph.output(ops.exp(graph.inputs[0]) * 2)
    return graph
"""
TWO = SCALE.replace("ops.exp(graph.inputs[0]) * 2", "ops.softmax(ops.softmax(graph.inputs[0], axis=0), axis=1)")


def assert_one_line(result, status, *words):
    """The exit status, nothing on stdout, and one line on stderr that holds the words."""
    got, out, err = result
    assert (got, out) == (status, ""), err
    assert err.startswith("kernelglass: ") and err.count("\n") == 1
    for word in words:
        assert word in err


def document(result):
    """The one JSON document on stdout of a command that went well and said nothing else."""
    status, out, err = result
    assert (status, err) == (0, ""), (status, err)
    return json.loads(out)


def in_a_process(*arguments, **options):
    """The command line in a process of its own, with both streams as text."""
    command = [sys.executable, "-m", "app", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, **options)
