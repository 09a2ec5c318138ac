"""Builtin functions for memory, threads, fused inputs and outputs, and raw instructions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith, llvm, memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, StringAttr, i32, i64
from xdsl.ir import SSAValue

from compiler.dialects import kgen
from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language import arithmetic as math
from compiler.language import limits, memory
from compiler.language.builtin_registry import BUILTINS, Builtin, builtin, runtime_value
from compiler.language.dtypes import INDEX, LANGUAGE_DTYPES, DType, element_type, one_object, register_type
from compiler.language.indexing import position_of
from compiler.language.loadables import FusedInput, FusedOutput, Tensor, element_count, row_major
from compiler.language.methods import to_dtype, to_shape, to_width
from compiler.language.values import Closure, Generator, Position, Simd

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter

_INTRINSIC = re.compile(r"llvm(\.\w+)+", re.ASCII)


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
def _stack(run: Interpreter, dtype: Any, shape: Any) -> Tensor:
    kind = to_dtype(dtype)
    sizes, count = _fixed_shape("stack", kind, shape)
    return Tensor(memory.allocate(run.b, kind, count), kind, sizes, row_major(sizes))


@builtin("strided")
def _strided(run: Interpreter, row: Any, shape: Any, strides: Any, offset: Any) -> Tensor:
    """Another look at a flat buffer; sizes, strides and the offset may be run-time values."""
    if not isinstance(row, Tensor) or row.strides != (1,) or row.offset != 0:
        raise KernelError("strided needs a whole flat buffer, as .flat gives it")
    if not isinstance(shape, (tuple, list)) or not isinstance(strides, (tuple, list)) or len(shape) != len(strides):
        raise KernelError("strided needs a size and a stride for each axis")
    position_of(2 * len(shape) + 1, (*shape, *strides, offset))  # whole numbers, known or not
    return Tensor(row.buffer, row.dtype, tuple(shape), tuple(strides), offset)


@builtin("shared")
def _shared(run: Interpreter, dtype: Any, shape: Any) -> Tensor:
    kind = to_dtype(dtype)
    sizes, count = _fixed_shape("shared", kind, shape)
    return Tensor(run.host.shared(run, kind, count), kind, sizes, row_major(sizes))


def _thread(name: str) -> None:
    properties = [{"what": StringAttr(name), "axis": IntegerAttr(axis, i64)} for axis in range(3)]

    def body(run: Interpreter, axis: Any = 0) -> Simd:
        if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis <= 2:
            raise KernelError(f"{name}: an axis is 0, 1 or 2, not {math.describe(axis)}")
        run.host.check_parallel(name, axis)
        ssa = run.b.pure(kgen.ThreadOp, (), element_type(INDEX), properties[axis], (name, axis))
        run.b.nonnegative.add(ssa)
        return Simd(ssa, INDEX, 1)

    BUILTINS[name] = Builtin(name, body)


for _name in ("thread_index", "thread_count", "block_index", "block_count"):
    _thread(_name)


@builtin("barrier")
def _barrier(run: Interpreter) -> None:
    run.host.check_parallel("barrier", 0)
    run.b.effects = True
    run.b.emit(kgen.BarrierOp, (), ())


@builtin("launch")
def _launch(run: Interpreter, *, blocks: Any, threads: Any) -> None:
    run.host.launch(blocks, threads)


@builtin("position")
def _position(run: Interpreter, index: Any, width: Any = 1, axis: Any = None) -> Position:
    if not isinstance(index, (tuple, list)):
        raise KernelError(f"a position is made from a tuple of indices, not {math.describe(index)}")
    return position_of(len(index), tuple(index), to_width(width), axis)


def _callable(what: str, function: Any) -> Any:
    if not isinstance(function, (Closure, Generator, Builtin)):
        raise KernelError(f"{what} needs a function, not {math.describe(function)}")
    return function


@builtin("FusedInput")
def _fused_input(run: Interpreter, function: Any, dtype: Any, shape: Any) -> FusedInput:
    fetch = _callable("FusedInput", function)
    return FusedInput(lambda inner, at: inner.call(fetch, [at]), to_dtype(dtype), to_shape(shape))


@builtin("FusedOutput")
def _fused_output(run: Interpreter, function: Any, dtype: Any, shape: Any) -> FusedOutput:
    sink = _callable("FusedOutput", function)

    def put(inner: Interpreter, at: Position, value: Simd) -> None:
        inner.call(sink, [at, value])

    return FusedOutput(put, to_dtype(dtype), to_shape(shape))


# Raw instructions: whatever the library cannot say otherwise. They are taken to have effects.


@builtin("intrinsic")
def _intrinsic(run: Interpreter, name: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    if not isinstance(name, str) or _INTRINSIC.fullmatch(name) is None:
        raise KernelError("intrinsic needs a name such as 'llvm.ctpop.i32'")
    operands = tuple(_raw(run, value) for value in args)
    properties = {
        "intrin": StringAttr(name),
        "op_bundle_sizes": DenseArrayBase.from_list(i32, ()),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, (len(operands), 0)),
    }
    return _raw_call(run, llvm.CallIntrinsicOp, operands, properties, dtype, width, results)


@builtin("asm")
def _asm(run: Interpreter, text: Any, constraints: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    if not isinstance(text, str) or not isinstance(constraints, str):
        raise KernelError("asm needs a text and its constraints")
    operands = tuple(_raw(run, value) for value in args)
    template = llvm.InlineAsmOp(text, constraints, [], [], has_side_effects=True)
    return _raw_call(run, llvm.InlineAsmOp, operands, dict(template.properties), dtype, width, results)


def _raw_call(
    run: Interpreter, kind: Any, operands: tuple[SSAValue, ...], properties: Any, dtype: Any, width: Any, results: Any
) -> Any:
    """Emit it; it gives nothing, one value, or several of one type. LLVM knows no index: that goes through i64."""
    if isinstance(results, bool) or not isinstance(results, int) or not 1 <= results <= 256:
        raise KernelError("results is a compile-time number from 1 to 256")
    b = run.b
    b.effects = True
    if dtype is None:
        b.emit(kind, operands, (), properties)
        return None
    asked, lanes = to_dtype(dtype), to_width(width)
    given = LANGUAGE_DTYPES["i64"] if asked is INDEX else asked
    element = register_type(given, lanes)
    if results == 1:
        (result,) = b.emit(kind, operands, (element,), properties).results
        return math.cast(b, Simd(result, given, lanes), asked)
    (struct,) = b.emit(kind, operands, (llvm.LLVMStructType.from_type_list([element] * results),), properties).results
    values: list[Simd] = []
    for number in range(results):
        position = {"position": DenseArrayBase.from_list(i64, [number])}
        (part,) = b.emit(llvm.ExtractValueOp, (struct,), (element,), position).results
        values.append(math.cast(b, Simd(part, given, lanes), asked))
    return tuple(values)


def _raw(run: Interpreter, value: Any) -> SSAValue:
    """An operand of a raw instruction; a tensor is the address of its first element."""
    if isinstance(value, Tensor):
        return _address(run, value)
    if isinstance(value, (int, Dim)) and not isinstance(value, bool):
        value = math.as_index(run.b, value)
    value = runtime_value("a raw instruction", value)
    return (math.cast(run.b, value, LANGUAGE_DTYPES["i64"]) if value.dtype is INDEX else value).ssa


def _address(run: Interpreter, tensor: Tensor) -> SSAValue:
    kind = tensor.buffer.type
    assert isinstance(kind, MemRefType)
    space = kind.memory_space
    pointer = llvm.LLVMPointerType(space.value) if isinstance(space, IntegerAttr) else llvm.LLVMPointerType()
    where = Simd(run.b.pure(memref.ExtractAlignedPointerAsIndexOp, (tensor.buffer,), element_type(INDEX)), INDEX, 1)
    where = math.binary(run.b, "+", where, math.binary(run.b, "*", tensor.offset, tensor.dtype.memory.bytes))
    number = run.b.pure(arith.IndexCastOp, (where.ssa,), element_type(LANGUAGE_DTYPES["i64"]))
    return run.b.pure(llvm.IntToPtrOp, (number,), one_object(pointer))
