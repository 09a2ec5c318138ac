"""Workspaces: buffers in global memory that a kernel asks for, as arguments of its own behind those it is given."""

from __future__ import annotations

from typing import Any

from compiler.errors import KernelError
from compiler.language.context import Context, OpenKernel
from compiler.language.kernel import BufferArgument
from compiler.language.values.arguments import to_dtype, to_shape
from compiler.language.values.dtypes import INDEX
from compiler.language.values.loadables import Tensor
from compiler.language.values.memory import argument_type


def kernel_of(run: Context, what: str) -> OpenKernel:
    """The kernel being elaborated."""
    if run.host.kernel is None:
        raise KernelError(f"{what} belongs to a kernel, not to a @function")
    return run.host.kernel


def take_workspace(run: Context, dtype: Any, count: Any) -> Tensor:
    """A buffer that all threads of the kernel share, in global memory: zeroed when it is made, kept between calls."""
    kernel = kernel_of(run, "a workspace")
    kind, shape = to_dtype(dtype), to_shape(count)
    if kind is INDEX or len(shape) != 1:
        raise KernelError("a workspace has a dtype other than index and one size")
    place = kernel.buffers + len(kernel.workspaces)
    argument = kernel.block.insert_arg(argument_type(kind, run.host.target), place)
    name = argument.name_hint = f"ws{len(kernel.workspaces)}"
    kernel.builder.depths[id(argument)] = 0
    kernel.workspaces.append(BufferArgument(name, kind.name, shape))
    return Tensor(argument, kind, shape, (1,))
