"""Every library kernel, elaborated and bound to each kind of target, is valid IR with a place on every operation."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FileLineColLoc

from compiler.errors import KernelError
from compiler.language.library import default_library
from tests.compiler.language.drive import elaborate, lower, text
from tests.compiler.language.library_kernels import FEWER, SOURCES

TARGETS = ("cpu", "x86-64-v4", "sm_90", "gfx942")


@pytest.mark.parametrize(
    "name, target", [(name, target) for target in TARGETS for name in sorted(SOURCES if target == "cpu" else FEWER)]
)
def test_library_kernels_are_valid(name, target):
    try:
        module, record = elaborate(SOURCES[name], target=target, library=default_library())
    except KernelError as problem:
        if target in ("cpu", "x86-64-v4"):
            raise
        pytest.skip(f"the library has no such kernel for {target}: {problem}")
    module.verify()
    lowered = lower(module, target=target)
    lowered.verify()
    (kernel,) = [op for op in lowered.ops if isinstance(op, func.FuncOp) and "kg.kernel" in op.attributes]
    assert kernel.sym_name.data == record.name
    for operation in lowered.walk():
        if not isinstance(operation, (func.FuncOp, arith.ConstantOp)) and operation.parent_op() is not lowered:
            assert operation is lowered or isinstance(operation.location, FileLineColLoc), operation


def test_elaboration_gives_the_same_text_each_time():
    for name in ("matmul", "softmax", "attention", "sin"):
        one, two = (elaborate(SOURCES[name], library=default_library())[0] for _ in range(2))
        assert text(one, locations=True) == text(two, locations=True)
