"""Builtin functions for memory, threads, fused inputs and outputs, and raw instructions."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64

from compiler.dialects import kgen
from compiler.errors import KernelError
from compiler.language import limits
from compiler.language.builtins.device_memory import launch_shared
from compiler.language.builtins.registry import BUILTINS, builtin
from compiler.language.context import Context
from compiler.language.kernel import Launch
from compiler.language.values import memory
from compiler.language.values.arguments import to_dtype, to_shape, to_width
from compiler.language.values.arithmetic import as_index
from compiler.language.values.dtypes import INDEX, DType, element_type
from compiler.language.values.loadables import FusedInput, FusedOutput, Loadable, Tensor
from compiler.language.values.positions import position_of
from compiler.language.values.records import Function, Position, Simd, describe
from compiler.language.values.shapes import element_count, row_major


def _fixed_shape(what: str, dtype: DType, shape: Any) -> tuple[tuple[int, ...], int]:
    """A shape of known sizes and its number of elements, at least one."""
    sizes = to_shape(shape)
    count = element_count(sizes)
    if not isinstance(count, int):
        raise KernelError(f"{what} needs compile-time sizes")
    if count * dtype.bytes > limits.MAX_STACK:
        raise KernelError(f"a {what} array of {count * dtype.bytes} bytes; {limits.MAX_STACK >> 20} MiB at most")
    return sizes, max(count, 1)  # pyright: ignore[reportReturnType]


@builtin("stack")
def _stack(run: Context, dtype: Any, shape: Any) -> Tensor:
    kind = to_dtype(dtype)
    sizes, count = _fixed_shape("stack", kind, shape)
    return Tensor(memory.allocate(run.b, kind, count), kind, sizes, row_major(sizes))


@builtin("strided")
def _strided(run: Context, row: Any, shape: Any, strides: Any, offset: Any) -> Tensor:
    """Another look at a flat buffer; sizes, strides and the offset may be run-time values."""
    if not isinstance(row, Tensor) or row.strides != (1,) or row.offset != 0:
        raise KernelError("strided needs a whole flat buffer, as .flat gives it")
    if not isinstance(shape, (tuple, list)) or not isinstance(strides, (tuple, list)) or len(shape) != len(strides):
        raise KernelError("strided needs a size and a stride for each axis")
    position_of(2 * len(shape) + 1, (*shape, *strides, offset))  # whole numbers, known or not
    return Tensor(row.buffer, row.dtype, tuple(shape), tuple(strides), offset)


@builtin("shared")
def _shared(run: Context, dtype: Any, shape: Any, *, of_launch: Any = False) -> Tensor:
    kind = to_dtype(dtype)
    sizes, count = _fixed_shape("shared", kind, shape)
    host = run.host
    if host.target.emission.grid is None:
        raise KernelError("shared memory is for GPUs; use stack on the CPU")
    if of_launch:
        return launch_shared(run, kind, sizes, count)
    name, buffer = f"shared_{len(host.globals)}", memory.buffer_type(kind, count, "shared")
    properties = {
        "sym_name": StringAttr(name), "sym_visibility": StringAttr("private"), "type": buffer,
        "initial_value": UnitAttr(), "alignment": IntegerAttr(16, i64),
    }  # fmt: skip
    host.globals.append(memref.GlobalOp.create(properties=properties))
    ssa = run.b.pure(memref.GetGlobalOp, (), buffer, {"name": SymbolRefAttr(name)}, name)
    return Tensor(ssa, kind, sizes, row_major(sizes))


def _check_parallel(run: Context, name: str, axis: int = 0) -> None:
    """Whether a kernel may ask for this of the threads around it, here."""
    if run.host.target.emission.grid is not None:
        return
    if name.startswith("block") or axis:
        raise KernelError(f"{name}() is for GPU kernels; on the CPU there are threads only")
    if run.host.kernel is None:
        raise KernelError(f"{name}() belongs in a kernel, not in a @function")


def _thread(name: str) -> None:
    properties = [{"what": StringAttr(name), "axis": IntegerAttr(axis, i64)} for axis in range(3)]

    @builtin(name)
    def body(run: Context, axis: Any = 0) -> Simd:
        if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis <= 2:
            raise KernelError(f"{name}: an axis is 0, 1 or 2, not {describe(axis)}")
        _check_parallel(run, name, axis)
        ssa = run.b.pure(kgen.ThreadOp, (), element_type(INDEX), properties[axis], (name, axis))
        run.b.nonnegative[id(ssa)] = ssa
        return Simd(ssa, INDEX, 1)


for _name in ("thread_index", "thread_count", "block_index", "block_count"):
    _thread(_name)


@builtin("barrier")
def _barrier(run: Context) -> None:
    _check_parallel(run, "barrier")
    run.b.effects = True
    run.b.emit(kgen.BarrierOp, (), ())


@builtin("takes_parts")
def _takes_parts(run: Context) -> bool:
    """Whether this loop may use take_part. A kernel has one that does, as it is made again only when all have met."""
    kernel = run.host.kernel
    if run.host.target.emission.grid is not None or kernel is None or kernel.takes_parts or len(run.b.scopes) > 1:
        return False
    kernel.takes_parts = True
    return True


@builtin("take_part")
def _take_part(run: Context, items: Any, item_bytes: Any, before: Any) -> tuple[Simd, Simd]:
    kernel = run.host.kernel
    if kernel is None or not kernel.takes_parts:
        raise KernelError("take_part belongs in a kernel of the CPU, in a loop for which takes_parts() was true")
    run.b.effects = True
    operands = tuple([as_index(run.b, number).ssa for number in (items, item_bytes, before)])
    found = run.b.emit(kgen.TakePartOp, operands, (element_type(INDEX),) * 2).results
    run.b.nonnegative.update({id(ssa): ssa for ssa in found})
    return Simd(found[0], INDEX, 1), Simd(found[1], INDEX, 1)


@builtin("launch")
def _launch(
    run: Context,
    *,
    blocks: Any,
    threads: Any,
    resident: Any = False,
    together: Any = False,
    per_processor: Any = 0,
    cluster: Any = 1,
) -> None:
    kernel = run.host.kernel
    if kernel is None or isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise KernelError("launch states the blocks and a compile-time number of threads (1 to 1024), in a kernel")
    grid = to_shape(blocks)
    if not 1 <= len(grid) <= 3:
        raise KernelError("the blocks of a launch are one to three compile-time sizes")
    if kernel.launch is not None:
        raise KernelError("a kernel states its launch once")
    if not isinstance(per_processor, int) or not 0 <= per_processor <= 32:
        raise KernelError("per_processor is a compile-time number of blocks, 0 to 32")
    where, most = run.host.target.name, run.host.target.limits.blocks_per_cluster
    if not isinstance(cluster, int) or not 1 <= cluster <= most:
        raise KernelError(f"cluster is a compile-time number of blocks; {where} has clusters of 1 to {most}")
    kernel.launch = Launch(grid, threads, 0, bool(resident), bool(together), per_processor, int(cluster))


@builtin("position")
def _position(run: Context, index: Any, width: Any = 1, axis: Any = None) -> Position:
    if not isinstance(index, (tuple, list)):
        raise KernelError(f"a position is made from a tuple of indices, not {describe(index)}")
    return position_of(len(index), tuple(index), to_width(width), axis)


def _callable(what: str, function: Any) -> Any:
    if not isinstance(function, Function):
        raise KernelError(f"{what} needs a function, not {describe(function)}")
    return function


@builtin("FusedInput")
def _fused_input(run: Context, function: Any, dtype: Any, shape: Any) -> FusedInput:
    fetch = _callable("FusedInput", function)

    def unit_stride(axis: int) -> bool:
        """As contiguous as all that it reads at its position; what else it may read, nobody knows."""
        read = fetch.read_at_position()
        return bool(read) and all(isinstance(x, Loadable) and axis < x.rank and x.contiguity(axis) for x in read)

    def unit_step(axis: int) -> bool:
        """The same, forwards or backwards."""
        read = fetch.read_at_position()
        return bool(read) and all(isinstance(x, Loadable) and axis < x.rank and x.adjacency(axis) for x in read)

    def library_function(name: str) -> Any:
        return None if name in BUILTINS else run.host.lookup(name)

    sources = fetch.captured  # looked for when somebody asks what it reads
    return FusedInput(
        lambda inner, at: inner.call(fetch, [at]), to_dtype(dtype), to_shape(shape), unit_stride, unit_step,
        sources=sources, loops=lambda: fetch.iterates(library_function, set()),
    )  # fmt: skip


@builtin("FusedOutput")
def _fused_output(run: Context, function: Any, dtype: Any, shape: Any) -> FusedOutput:
    sink = _callable("FusedOutput", function)

    def put(inner: Context, at: Position, value: Simd) -> None:
        inner.call(sink, [at, value])

    return FusedOutput(put, to_dtype(dtype), to_shape(shape))


# Raw instructions: whatever the library cannot say otherwise. Few kernels do, and xDSL's llvm dialect takes as long to
# load as everything else that a kernel's operations need, so it is loaded by the first of them.


@builtin("intrinsic")
def _intrinsic(run: Context, name: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    from compiler.language.builtins import raw_instructions

    return raw_instructions.intrinsic(run, name, dtype, width, *args, results=results)


@builtin("asm")
def _asm(run: Context, text: Any, constraints: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    from compiler.language.builtins import raw_instructions

    return raw_instructions.asm(run, text, constraints, dtype, width, *args, results=results)
