"""slice-offload: takes the device code out of a program, so that it is compiled alone for its device.

Elaboration for a GPU puts kernels and what they call into one `kgen.compile_offload`, which names the target and what
is to be made for it; the text that comes of it is what the host program loads.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Region

from compiler.dialects import kgen
from compiler.errors import LoweringError


def offload(module: ModuleOp, target: str, emission: str = "asm") -> ModuleOp:
    """The module with all of its code marked as device code for `target`; the old module is used up."""
    block = Block()
    for operation in list(module.body.block.ops):
        operation.detach()
        block.add_op(operation)
    properties = {"target": StringAttr(target), "emission": StringAttr(emission)}
    return ModuleOp([kgen.CompileOffloadOp.create(properties=properties, regions=[Region(block)])])


def slice_offload(module: ModuleOp, target: str) -> ModuleOp:
    """The device code for `target` as a module of its own; the old module is used up."""
    operations = []
    for marked in list(module.body.block.ops):
        if not isinstance(marked, kgen.CompileOffloadOp) or marked.target.data != target:
            raise LoweringError(f"{marked.name} is not device code for {target}")
        for operation in list(marked.body.block.ops):
            operation.detach()
            operations.append(operation)
    return ModuleOp(operations)
