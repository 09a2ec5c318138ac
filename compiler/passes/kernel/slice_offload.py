"""slice-offload: takes the device code out of a program, so that it is compiled alone for its device.

Elaboration for a GPU puts kernels and what they call into one `kgen.compile_offload`, which names the target and what
is to be made for it; the text that comes of it is what the host program loads.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from compiler.dialects import kgen
from compiler.errors import LoweringError


def slice_offload(module: ModuleOp, target: str) -> ModuleOp:
    """The device code for `target` as a module of its own; the old module is used up."""
    marked = module.body.block.first_op
    if not isinstance(marked, kgen.CompileOffloadOp) or marked.next_op is not None or marked.target.data != target:
        raise LoweringError(f"{module.name if marked is None else marked.name} is not device code for {target}")
    return ModuleOp(marked.detach_region(0))
