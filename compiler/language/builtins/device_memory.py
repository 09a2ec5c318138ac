"""Builtin functions for memory that a GPU kernel asks its launcher for: workspaces, shared memory, tensor maps."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64

from compiler.errors import KernelError
from compiler.graph.dims import mod
from compiler.language.builtins.registry import builtin
from compiler.language.context import Context, OpenKernel
from compiler.language.kernel import TensorMap
from compiler.language.values import memory
from compiler.language.values.arguments import to_shape
from compiler.language.values.dtypes import LANGUAGE_DTYPES, DType
from compiler.language.values.loadables import Tensor
from compiler.language.values.records import Simd, describe
from compiler.language.values.shapes import Shape, row_major
from compiler.language.values.workspaces import kernel_of, take_workspace

_ALIGNMENT = 1024  # what the widest swizzle of the copy engine counts from
_MAP_BYTES = 128
_MAP_AXES = 5
_MAP_UNIT = 16  # bytes that addresses and strides are multiples of
_MAP_BOX = 256


builtin("workspace")(take_workspace)


def launch_shared(run: Context, kind: DType, sizes: tuple[int, ...], count: int) -> Tensor:
    """An array in the shared memory that the launch sets aside, behind those taken before it."""
    kernel = kernel_of(run, "shared memory of the launch")
    host = run.host
    start = -(-kernel.shared_bytes // _ALIGNMENT) * _ALIGNMENT
    kernel.shared_bytes = start + count * kind.bytes
    most = host.target.limits.shared_memory_bytes
    if kernel.shared_bytes > most:
        raise KernelError(f"{kernel.shared_bytes} bytes of shared memory; {host.target.name} has {most} for a block")
    name, buffer = f"launch_{kind.name}_shared", memory.buffer_type(kind, 0, "shared")
    known = [op.properties["sym_name"].data for op in host.globals]  # pyright: ignore[reportAttributeAccessIssue]
    if name not in known:
        properties = {
            "sym_name": StringAttr(name), "sym_visibility": StringAttr("private"), "type": buffer,
            "initial_value": UnitAttr(), "alignment": IntegerAttr(_ALIGNMENT, i64),
        }  # fmt: skip
        host.globals.append(memref.GlobalOp.create(properties=properties))
    ssa = run.b.pure(memref.GetGlobalOp, (), buffer, {"name": SymbolRefAttr(name)}, name)
    return Tensor(ssa, kind, sizes, row_major(sizes), start // kind.bytes)


@builtin("can_map")
def _can_map(run: Context, x: Any) -> bool:
    """Whether the copy engine can be told of the matrices of `x`: a tensor in an argument's memory, contiguous along
    its last axis, whose rows are not one row repeated (nor without elements, as then no distance is between them)."""
    return not _refused(run, x) and (x.rank < 2 or x.strides[-2] != 0)


def _refused(run: Context, x: Any) -> str:
    """Why there can be no tensor map of it; empty if there can."""
    kernel = run.host.kernel
    if run.host.target.kind != "nvidia" or run.host.target.generation < 90 or kernel is None:
        return "the target has no copy engine"
    if not isinstance(x, Tensor) or _argument(kernel, x) is None:
        return "it is not a tensor in the memory of an argument"
    if not x.is_fixed or isinstance(x.offset, Simd) or x.rank < 1 or x.strides[-1] != 1:
        return "its last axis must be contiguous, and all sizes known before it runs"
    _, strides = _kept(x)
    if len(strides) > _MAP_AXES:
        return f"it has more than {_MAP_AXES} axes"
    unit = _MAP_UNIT // x.dtype.bytes if x.dtype.bytes < _MAP_UNIT else 1
    if any(mod(step, unit) != 0 for step in (x.offset, *strides[:-1])):
        return f"rows must begin at multiples of {_MAP_UNIT} bytes"
    return ""


def _argument(kernel: OpenKernel, x: Tensor) -> int | None:
    """Which argument of the kernel, workspaces included, a tensor lies in."""
    buffers = kernel.block.args[: kernel.buffers + len(kernel.workspaces)]
    return next((k for k, argument in enumerate(buffers) if argument is x.buffer), None)


@builtin("map_axes")
def _map_axes(run: Context, x: Any) -> tuple[int, ...]:
    """The axes of a tensor that its map has: those that are not repeated."""
    if not isinstance(x, Tensor):
        raise KernelError(f"map_axes is for tensors, not {describe(x)}")
    return tuple(k for k, step in enumerate(x.strides) if step != 0 or k == x.rank - 1)


def _kept(x: Tensor) -> tuple[Shape, Shape]:
    axes = [k for k, step in enumerate(x.strides) if step != 0 or k == x.rank - 1]
    return tuple(x.shape[k] for k in axes), tuple(x.strides[k] for k in axes)


@builtin("tensor_map")
def _tensor_map(run: Context, x: Any, box: Any) -> Tensor:
    """128 bytes that tell the copy engine where `x` lies, and that it is copied in boxes of this shape."""
    why = _refused(run, x)
    if why:
        raise KernelError(f"no tensor map of {describe(x)}: {why}")
    kernel = kernel_of(run, "a tensor map")
    shape, strides = _kept(x)
    sizes = to_shape(box)
    if len(sizes) != len(shape) or not all(isinstance(n, int) and 1 <= n <= _MAP_BOX for n in sizes):
        raise KernelError(f"a box has a size from 1 to {_MAP_BOX} for each axis of the tensor that is not repeated")
    argument = _argument(kernel, x)
    assert argument is not None
    kernel.maps.append(TensorMap(len(kernel.workspaces), argument, shape, strides, x.offset, tuple(map(int, sizes))))  # pyright: ignore[reportArgumentType]
    return take_workspace(run, LANGUAGE_DTYPES["u8"], _MAP_BYTES)
