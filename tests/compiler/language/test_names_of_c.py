"""Kernels and functions may be called like functions of C: neither the linker nor LLVM takes one for the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, load_library, ops

WHOLE = """
@kernel("raised")
def {name}(out: FusedOutput, x: FusedInput):
    for i in range(*split(x.shape[0])):
        out[i] = x[i] + 1
"""
OUTLINED = """
@outlined
def {name}():
    return f32(1)


@elementwise("raised")
def raised(x):
    return x + splat({name}(), x.width)
"""
ZEROED = """
@kernel("zeroed")
def zeroed(out: FusedOutput, x: FusedInput):
    for i in range(*split(x.shape[0])):
        out[i] = intrinsic("llvm.exp2.f32", f32, 1, x[i]) * 0
"""


@pytest.mark.parametrize("flow", ["per-kernel", "all-kernel"])
@pytest.mark.parametrize("text", [WHOLE, OUTLINED], ids=["kernel", "outlined"])
@pytest.mark.parametrize("name", ["expf", "exp2f", "malloc", "memcpy", "memset", "free"])
def test_a_name_of_c_is_a_name_as_any_other(name: str, text: str, flow: str, tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(text.format(name=name) + ZEROED)
    with Graph("named", inputs=[TensorType("f32", (100,))]) as graph:
        (x,) = graph.inputs
        graph.output(ops.custom("raised", [x], x.type), ops.custom("zeroed", [x], x.type), ops.exp(x), ops.tanh(x))
    x = np.linspace(-2, 2, 100, dtype=np.float32)
    for level in (0, 3):
        model = compile(graph, library=load_library(tmp_path), flow=flow, opt_level=level)
        raised, zeroed, exp, tanh = model.execute(x)
        np.testing.assert_array_equal(raised, x + 1)
        assert not zeroed.any()
        np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(tanh, np.tanh(x), rtol=1e-6)
