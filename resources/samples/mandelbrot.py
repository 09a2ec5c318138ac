"""The Mandelbrot set by a hand-written kernel that stops early; the views that spread its axes fuse into it.

The kernel is kernels/mandelbrot.py beside this file. The inputs are the real part of each column and the imaginary
part of each row, the output how many steps each point stays.
"""

import numpy as np

from compiler import Graph, TensorType, ops

DIMS = {"H": 256, "W": 256}
LIBRARY = "kernels"
STEPS = 200


def build() -> Graph:
    graph = Graph("mandelbrot", inputs=[TensorType("f32", ("W",)), TensorType("f32", ("H",))])
    with graph:
        columns, rows = graph.inputs
        re = ops.broadcast_to(columns, ("H", "W"))
        im = ops.broadcast_to(ops.reshape(rows, ("H", 1)), ("H", "W"))
        picture = TensorType("i32", ("H", "W"))
        graph.output(ops.custom("mandelbrot", [re, im], picture, reference=counts, steps=STEPS))
    return graph


def counts(re, im, *, steps):
    """The same arithmetic in the same order, so that the counts agree exactly."""
    x, y, count = np.zeros_like(re), np.zeros_like(im), np.zeros(re.shape, np.int32)
    inside = np.ones(re.shape, bool)
    with np.errstate(all="ignore"):  # points outside run off to infinity
        for _ in range(steps):
            x, y = x * x - y * y + re, 2 * x * y + im
            inside &= x * x + y * y <= 4
            count += inside
    return count
