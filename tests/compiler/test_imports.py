"""What is loaded and what is not: a start pays for what it uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = """
import numpy as np
from compiler import Graph, TensorType, compile, ops
with Graph("block", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 64))]) as graph:
    x, w = graph.inputs
    graph.output(ops.softmax(ops.relu(x @ w + 0.5)[-3:] * np.arange(64, dtype=np.float32)))
arrays = [np.ones((5, 64), np.float32), np.ones((64, 64), np.float32)]
"""
RUN = BUILD + "model = compile(graph, jobs=1)\nprint(float(model.execute(*arrays)[0].sum()))\n"
LOADED = "\nimport sys; print(' '.join(sys.modules))\n"


def fresh(code: str, cache: Path) -> list[str]:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def loaded(code: str, cache: Path) -> set[str]:
    """The modules that are there when a fresh interpreter has run some code."""
    return set(fresh(code + LOADED, cache)[-1].split())


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_building_a_graph_takes_neither_xdsl_nor_llvm(tmp_path):
    modules = loaded(BUILD + "graph.verify(); repr(graph), graph.output_types, repr(graph.outputs)", tmp_path)
    assert not packages(modules) & {"xdsl", "llvmlite"}


def test_a_cached_model_runs_without_xdsl_or_any_part_of_the_compiler_that_makes_kernels(tmp_path):
    first = fresh(RUN, tmp_path)
    modules = loaded(RUN, tmp_path)
    assert fresh(RUN, tmp_path) == first
    assert not packages(modules) & {"xdsl", "ml_dtypes", "psutil", "sqlite3", "jinja2", "pygments", "igraph", "PySide6"}
    unwanted = ("compiler.dialects", "compiler.lowering", "compiler.passes.kernel", "compiler.passes.fusion.fuse")
    unwanted += ("compiler.flows", "compiler.backend.llvm", "compiler.language.elaborate", "compiler.reference")
    assert not [name for name in modules if name.startswith(unwanted)]


def test_a_restored_model_still_shows_every_stage(tmp_path):
    code = BUILD + "print(compile(graph, jobs=1).ir('mo')); print(str(graph)); print(compile(graph, jobs=1).ir('mogg'))"
    assert fresh(code, tmp_path) == fresh(code, tmp_path)


def test_a_kernel_for_the_cpu_loads_no_dialect_for_gpus_or_raw_instructions(tmp_path):
    assert "ops.softmax" in RUN
    modules = loaded(RUN.replace("ops.softmax", ""), tmp_path)  # an exponential has raw instructions on some processors
    assert "xdsl.dialects.arith" in modules
    assert not modules & {"xdsl.dialects.llvm", "xdsl.dialects.gpu", "compiler.lowering.emit_llvm"}


def test_a_gpu_kernel_loads_them_when_it_needs_them(tmp_path):
    modules = loaded(BUILD + "compile(graph, target='sm_90', jobs=1)", tmp_path)
    assert "xdsl.dialects.gpu" in modules


@pytest.mark.parametrize("name", ["Graph", "TensorType", "BufferType", "ops"])
def test_the_names_of_the_package_come_without_xdsl(name, tmp_path):
    assert "xdsl" not in loaded(f"from compiler import {name}", tmp_path)
