"""Memory shared by the threads of a GPU block: a module-level array in the target's shared address space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64

from compiler.errors import KernelError
from compiler.language.values import memory
from compiler.language.values.dtypes import DType

if TYPE_CHECKING:
    from compiler.language.elaborate import Elaborator
    from compiler.language.interpreter import Interpreter


def declare(host: Elaborator, run: Interpreter, dtype: DType, count: int) -> Any:
    """A new shared array and the value that names it."""
    if not host.language_target.is_gpu:
        raise KernelError("shared memory is for GPUs; use stack on the CPU")
    kind = memory.buffer_type(dtype, count, "shared")
    name = f"shared_{len(host.globals)}"
    host.globals.append(
        memref.GlobalOp.create(
            properties={
                "sym_name": StringAttr(name),
                "sym_visibility": StringAttr("private"),
                "type": kind,
                "initial_value": UnitAttr(),
                "alignment": IntegerAttr(16, i64),
            }
        )
    )
    return run.b.pure(memref.GetGlobalOp, (), kind, {"name": SymbolRefAttr(name)}, name)
