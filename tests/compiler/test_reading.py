"""A model that is only read gives the texts of a compiled one, and compiles nothing that nobody looks at."""

from __future__ import annotations

import pytest

from app.sources import load_source
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.reading import read_graph

KERNEL = "matmul_add_relu"


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_texts_are_those_of_a_compilation(target):
    graph, options = load_source("sample:mlp").graph, CompileOptions(target, debug="line-tables")
    made, read = compile_graph(graph, options), read_graph(graph, options)
    for stage in ("mo", "mogg"):
        assert read.stage(stage) == made.stage(stage)
    for stage in ("kgen", "kernel", "llvm", "llvm-opt", "asm"):
        assert read.kernel(KERNEL).stage(stage) == made.kernel(KERNEL).stage(stage), stage


def test_one_kernel_of_many_costs_one_kernel():
    seen = []
    graph = load_source("sample:many-kernels:64").graph
    model = read_graph(graph, CompileOptions("sm_90a"), watch=lambda stage, name, kernel: seen.append(stage))
    assert len(model.kernels) == 64
    assert model.kernels[63].name in model.kernels[63].ir("asm")
    assert set(seen) == {"mo", "mogg"}, "nothing is elaborated or compiled but what is asked for"


def test_what_needs_a_compilation_says_so():
    model = read_graph(load_source("sample:mlp").graph, CompileOptions("sm_90a"))
    with pytest.raises(CompilerError, match="needs a compilation"):
        model.ir("mgp")
