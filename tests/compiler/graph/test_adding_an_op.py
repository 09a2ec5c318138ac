"""A new op takes four places, as CONTRIBUTING.md lists them: its family's file, its reference, its kernel, its test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# 1: the family's file has the spec and the builder.
FAMILY = """
from compiler.graph.location import builder
from compiler.graph.ops.build import Meeting, Operand, emit
from compiler.graph.ops.specs import define
from compiler.graph.opspec import per_element
from compiler.graph.rules import FLOATS, binary
from compiler.graph.value import Value

define("hypotenuse", binary("mo.hypotenuse", FLOATS), 2, elementwise=True, commutative=True, flops=per_element(4))


@builder
def hypotenuse(x1: Operand, x2: Operand) -> Value:
    return emit("hypotenuse", Meeting("hypotenuse", x1, x2).values())
"""
# 2: the family's table of references has its meaning in NumPy.
REFERENCE = """
import numpy as np
from compiler.reference import REFERENCES
from compiler.reference.precision import quiet, widely

REFERENCES["mo.hypotenuse"] = quiet(widely(np.hypot))
"""
# 3: a kernel library has its kernel.
KERNEL = '''"""A kernel of our own."""


@elementwise("mo.hypotenuse")
def hypotenuse(a, b):
    """The length of (a, b)."""
    return sqrt(a * a + b * b)
'''
# 4: its test compiles it against the reference. Nothing but the four places above knows of the op, and yet all works:
TEST = """
import sys
import numpy as np
from family import hypotenuse
import meaning
from compiler import Graph, TensorType, compile, load_library, ops, reference
from compiler.importers.mlir_text import parse_graph
from profiler.analysis.work import op_flops

kind = TensorType("f32", ("M", 8))
with Graph("triangle", inputs=[kind, kind]) as graph:
    x, y = graph.inputs
    again = hypotenuse(y, x)  # the same: the order of operands does not matter
    folded = hypotenuse(ops.full((8,), 3.0, "f32"), 4.0)  # known now
    graph.output(ops.relu(hypotenuse(x, y) + again) * folded)
graph.verify()
assert str(parse_graph(str(graph))) == str(graph) and "mo.hypotenuse(%x0, %x1)" in str(graph)

rng = np.random.default_rng(0)
arrays = [rng.standard_normal((5, 8)).astype(np.float32) for _ in range(2)]
model = compile(graph, library=load_library("library"), jobs=1, cache=False)
np.testing.assert_allclose(model.execute(*arrays)[0], reference(graph, *arrays)[0], rtol=1e-6)

text = model.ir("mo")
assert text.count("mo.hypotenuse") == 1, text
assert "#mo.array<[], f32, [5.0]>" in text, text
assert len(model.kernels) == 1 and "hypotenuse" in model.kernels[0].source  # it fuses as any elementwise op does
(op,) = [op for call in model.fusion.calls for op in call.ops if op.name == "mo.hypotenuse"]
assert op_flops(op, {"M": 5}) == 4 * 5 * 8
"""


def test_a_new_op_takes_four_places(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    places = {"family.py": FAMILY, "meaning.py": REFERENCE, "library/lengths.py": KERNEL, "test.py": TEST}
    for name, text in places.items():
        (tmp_path / name).write_text(text)
    assert len(places) <= 4
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run([sys.executable, "test.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
