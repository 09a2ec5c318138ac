"""Code for other machines: it is compiled and shown anywhere, and never loaded where it cannot run."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.errors import LoweringError, UnavailableError
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target, known_targets
from compiler.targets.cpu import assembles, runs_here

HERE = get_target("cpu").arch
ELSEWHERE = [name for name in known_targets() if get_target(name).kind == "cpu" and get_target(name).arch != HERE]
ASSEMBLY = 'func.func @k() { "llvm.inline_asm"() <{asm_string = "nop", constraints = ""}> : () -> ()\n func.return }'


def _graph() -> Graph:
    with Graph("g", inputs=[TensorType("f32", ("M", 8))]) as graph:
        graph.output(ops.softmax(graph.inputs[0]))
    return graph


@pytest.mark.parametrize("name", ELSEWHERE)
def test_another_architecture_is_compiled_and_shown(name):
    model = compile(_graph(), target=name, cache=False, jobs=1)
    text = model.ir("asm")
    assert ".globl" in text and model.kernels[0].name in text
    with pytest.raises(UnavailableError, match=f"a model for {name} cannot be launched"):
        model.execute(np.zeros((2, 8), np.float32))


def test_a_named_processor_like_this_one_runs():
    names = [name for name in known_targets() if name != "cpu" and runs_here(get_target(name))]
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    (expected,) = compile(_graph(), cache=False, jobs=1).execute(x)
    for name in names:
        (found,) = compile(_graph(), target=name, cache=False, jobs=1).execute(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_only_code_for_this_architecture_runs_here():
    assert runs_here(get_target("cpu"))
    assert not any(runs_here(get_target(name)) for name in [*ELSEWHERE, "sm_90", "gfx942"])


@pytest.mark.parametrize("name", ["sm_90", "gfx942", *ELSEWHERE[:1]])
def test_assembly_that_cannot_be_assembled_is_refused(name, parse):
    target = get_target(name)
    if assembles(target):
        assert "asm sideeffect" in emit_module(parse(ASSEMBLY), target).text
    else:
        with pytest.raises(LoweringError, match="cannot be assembled on this machine; use intrinsic"):
            emit_module(parse(ASSEMBLY), target)
