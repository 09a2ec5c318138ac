"""Kernels divide by no size that is zero, as some processors trap there: every division is preceded by a check."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.backend import workers
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

DIVISION = re.compile(r"^(  \S+ = (?:sdiv|udiv|srem|urem)(?: exact)? (i\d+) \S+, (%[^\s,]+).*)$", re.MULTILINE)
CHECK = """
define internal void @kg_check_{0}({0} %b) noinline {{
entry:
  %zero = icmp eq {0} %b, 0
  br i1 %zero, label %bad, label %good
bad:
  call void @llvm.trap()
  unreachable
good:
  ret void
}}
"""


def checked(text: str) -> str:
    """LLVM's text with a trap before every division by zero."""
    kinds = sorted({found[1] for found in DIVISION.findall(text)})
    text = DIVISION.sub(r"  call void @kg_check_\2(\2 \3)\n\1", text)
    return "".join([text, *(CHECK.format(kind) for kind in kinds), "\ndeclare void @llvm.trap()\n" if kinds else ""])


GRAPHS = {
    "matmul": ((("B", "M", 8), ("B", 8, 40)), lambda a, b: a @ b),
    "matmul-few-rows": ((("B", 4, 8), ("B", 8, 5)), lambda a, b: a @ b),
    "matmul-rows": ((("B", 8), (8, 40)), lambda a, b: a @ b),
    "matmul-inner": ((("M", "B"), ("B", 7)), lambda a, b: a @ b),
    "matmul-vector": ((("B", 8), (8,)), lambda a, b: a @ b),
    "reductions": ((("B", 8),), lambda a: (ops.sum(a, axis=0), ops.sum(a), ops.sum(a, axis=1), ops.mean(a, axis=0))),
    "softmax": ((("M", "B"),), lambda a: ops.softmax(a, axis=0)),
    "norm": ((("B", 8),), lambda a: ops.layer_norm(a, eps=1e-3)),
    "attention": ((("B", 2, "M", 8),), lambda a: ops.scaled_dot_product_attention(a, a, a)),
    "convolution": ((("B", 3, 6, 6), (4, 3, 3, 3)), lambda a, w: ops.conv2d(a, w)),
    "pool": ((("B", 3, 6, 6),), lambda a: ops.max_pool2d(a, 2)),
    "views": ((("B", 6),), lambda a: (ops.flip(ops.transpose(a), axis=1), ops.reshape(a, (2, "B", 3)) + 1, a[:, ::2])),
    "joins": ((("B", 6),), lambda a: (ops.concat([a, a], axis=0), ops.tile(a, (2, 1)), ops.repeat(a, 2, axis=0))),
    "scan": ((("B", 6), ("M", "B")), lambda a, b: (ops.cumsum(a, axis=0), ops.cumsum(b, axis=0))),
}


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "apart"])
@pytest.mark.parametrize("name", GRAPHS)
def test_empty_sizes_divide_nothing(name, fuse, monkeypatch):
    run_task = workers.run_task
    monkeypatch.setattr(
        workers, "run_task", lambda task, *more: run_task(replace(task, texts=tuple(map(checked, task.texts))), *more)
    )
    shapes, build = GRAPHS[name]
    with Graph("g", inputs=[TensorType("f32", shape) for shape in shapes]) as graph:
        made = build(*graph.inputs)
        graph.output(*(made if isinstance(made, tuple) else (made,)))
    model = compile_graph(graph, CompileOptions(cache=False, fuse=fuse, opt_level=1, jobs=1))
    arrays = [np.ones([{"B": 0, "M": 3}.get(s, s) for s in shape], np.float32) for shape in shapes]
    child = os.fork()
    if not child:
        try:
            model.execute(*arrays, threads=1)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "it traps"
