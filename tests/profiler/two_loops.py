"""A model with one kernel of two loops, the second of which makes three turns for each of the first; to be sampled."""

from pathlib import Path

import numpy as np

from compiler import Graph, TensorType, load_library, ops
from compiler.options import CompileOptions
from profiler.measure.measuring import measure
from profiler.records import MeasureRequest

KERNEL = '''"""Two loops."""

from kernels.language import *


@elementwise("two_loops")
def two_loops(x, *, steps):
    """The same turn `steps` times, then three times as often."""
    y = x
    step = index(0)
    while step < steps:
        y, step = y * 0.999 + x, step + 1
    step = index(0)
    while step < 3 * steps:
        y, step = y * 0.999 + x, step + 1
    return y
'''
FIRST, SECOND = (11, 12), (14, 15)
"""The lines of the loops in the kernel."""


def library(folder: Path) -> Path:
    """The kernel in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "two_loops.py").write_text(KERNEL)
    load_library(folder)
    return folder


def _meaning(x, *, steps):
    y = x
    for _ in range(4 * steps):
        y = y * np.float32(0.999) + x
    return y


def graph(steps: int = 1000) -> Graph:
    """The model."""
    made = Graph("two_loops", inputs=[TensorType("f32", (4096,))])
    with made:
        (x,) = made.inputs
        made.output(ops.custom("two_loops", [x], TensorType("f32", (4096,)), reference=_meaning, steps=steps))
    return made


def measured(folder: Path, **asked):
    """A run of it in a child process, sampled unless asked otherwise."""
    request = MeasureRequest(
        "two_loops", options=CompileOptions(cache=False), libraries=(str(library(folder)),),
        **({"sample": True, "threads": 1, "budget": 0.3} | asked),
    )  # fmt: skip
    outcome = measure(request, graph(), [np.ones(4096, np.float32)])
    assert outcome.error is None and not outcome.result.error
    return outcome
