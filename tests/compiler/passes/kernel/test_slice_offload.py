"""Device code is marked in the program and sliced out of it."""

from __future__ import annotations

import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.errors import LoweringError
from compiler.passes.kernel.slice_offload import slice_offload


def relu_model(target: str):
    with Graph("g", inputs=[TensorType("f32", ("M",))]) as g:
        g.output(ops.relu(g.inputs[0]))
    return compile(g, target=target, cache=False)


def test_a_gpu_kernel_is_marked_for_its_device_in_kgen_and_sliced_out_before_llvm() -> None:
    (kernel,) = relu_model("sm_90").kernels
    assert 'kgen.compile_offload "sm_90", "asm"' in kernel.ir("kgen")
    assert "compile_offload" not in kernel.ir("kernel")
    assert ".visible .entry" in kernel.ir("ptx")


def test_a_cpu_kernel_is_not_offloaded() -> None:
    (kernel,) = relu_model("cpu").kernels
    assert "compile_offload" not in kernel.ir("kgen")


def test_code_for_another_device_is_refused() -> None:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Block, Region

    from compiler.dialects.kgen import make_offload

    marked = ModuleOp([make_offload(Region(Block()), "sm_90")])
    with pytest.raises(LoweringError, match="not device code for sm_80"):
        slice_offload(marked, "sm_80")
