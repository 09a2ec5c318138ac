"""Raw instructions: intrinsics and assembly, for whatever the library cannot say otherwise. They may have effects."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith, llvm, memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, StringAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language.context import Context
from compiler.language.values import arithmetic as math
from compiler.language.values import memory
from compiler.language.values.arguments import runtime_value, to_dtype, to_width
from compiler.language.values.dtypes import INDEX, LANGUAGE_DTYPES, element_type, one_object, register_type
from compiler.language.values.loadables import Tensor
from compiler.language.values.records import Simd

_CONSTRAINT = re.compile(r"~\{[^{}]+\}|=?[&*%]?(?:\{[^{}]+\}|\d+|\^\w\w|[a-zA-Z]|U\w{1,2}|Y\w)", re.ASCII)
_INTRINSIC = re.compile(r"llvm(\.\w+)+", re.ASCII)


def intrinsic(run: Context, name: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    """A call of one of LLVM's intrinsics."""
    if not isinstance(name, str):
        raise _no_intrinsic()
    properties = _intrinsic_properties(name, len(args))
    operands = tuple([_raw(run, value) for value in args])
    return _raw_call(run, llvm.CallIntrinsicOp, operands, properties, dtype, width, results)


# The same few instructions recur all over a kernel, and xDSL checks each attribute that is made.


@lru_cache(maxsize=1024)
def _intrinsic_properties(name: str, operands: int) -> dict[str, Attribute]:
    if _INTRINSIC.fullmatch(name) is None:
        raise _no_intrinsic()
    return {
        "intrin": StringAttr(name),
        "op_bundle_sizes": DenseArrayBase.from_list(i32, ()),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, (operands, 0)),
    }


def _no_intrinsic() -> KernelError:
    return KernelError("intrinsic needs a name such as 'llvm.ctpop.i32'")


def asm(run: Context, text: Any, constraints: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    """A piece of the target's assembly."""
    if not isinstance(text, str) or not isinstance(constraints, str):
        raise KernelError("asm needs a text and its constraints")
    properties = _asm_properties(text, constraints, len(args), 0 if dtype is None else _result_count(results))
    operands = tuple([_raw(run, value) for value in args])
    return _raw_call(run, llvm.InlineAsmOp, operands, properties, dtype, width, results)


@lru_cache(maxsize=1024)
def _asm_properties(text: str, constraints: str, inputs: int, results: int) -> dict[str, Attribute]:
    _check_constraints(constraints, inputs, results)
    return dict(llvm.InlineAsmOp(text, constraints, [], [], has_side_effects=True).properties)


def _check_constraints(constraints: str, inputs: int, results: int) -> None:
    """What can be said of constraints before LLVM sees them: how each is written, and how many there are."""
    parts = [part.strip() for part in constraints.split(",") if part.strip()]
    for part in parts:
        if _CONSTRAINT.fullmatch(part) is None:
            raise KernelError(
                f"{part!r} is no constraint; one is written as in '=r', 'w', '0', '{{x1}}' or '~{{memory}}'"
            )
    outputs = sum(part.startswith("=") and not part.startswith("=*") for part in parts)  # =*m is given an address
    given = sum(not part.startswith("~") for part in parts) - outputs
    if given != inputs:
        raise KernelError(f"{constraints!r} has {given} inputs, and {inputs} are given to the assembly")
    if outputs != results:
        raise KernelError(f"{constraints!r} has {outputs} outputs, and {results} results are asked for")


def _raw_call(
    run: Context, kind: Any, operands: tuple[SSAValue, ...], properties: Any, dtype: Any, width: Any, results: Any
) -> Any:
    """Emit it; it gives nothing, one value, or several of one type. LLVM knows no index: that goes through i64."""
    count = _result_count(results)
    b = run.b
    b.effects = True
    if dtype is None:
        b.emit(kind, operands, (), properties)
        return None
    asked, lanes = to_dtype(dtype), to_width(width)
    given = LANGUAGE_DTYPES["i64"] if asked is INDEX else asked
    element = register_type(given, lanes)
    if count == 1:
        (result,) = b.emit(kind, operands, (element,), properties).results
        return math.cast(b, Simd(result, given, lanes), asked)
    (struct,) = b.emit(kind, operands, (_struct(element, count),), properties).results
    values: list[Simd] = []
    for number in range(count):
        (part,) = b.emit(llvm.ExtractValueOp, (struct,), (element,), _field(number)).results
        values.append(math.cast(b, Simd(part, given, lanes), asked))
    return tuple(values)


def _result_count(results: Any) -> int:
    if isinstance(results, bool) or not isinstance(results, int) or not 1 <= results <= 256:
        raise KernelError("results is a compile-time number from 1 to 256")
    return results


@lru_cache(maxsize=256)
def _struct(element: Attribute, fields: int) -> Attribute:
    return llvm.LLVMStructType.from_type_list([element] * fields)


@lru_cache(maxsize=256)
def _field(number: int) -> dict[str, Attribute]:
    return {"position": DenseArrayBase.from_list(i64, [number])}


def _raw(run: Context, value: Any) -> SSAValue:
    """An operand of a raw instruction; a tensor is the address of its first element."""
    if isinstance(value, Tensor):
        return _address(run, value)
    if isinstance(value, (int, Dim)) and not isinstance(value, bool):
        value = math.as_index(run.b, value)
    value = runtime_value("a raw instruction", value)
    return (math.cast(run.b, value, LANGUAGE_DTYPES["i64"]) if value.dtype is INDEX else value).ssa


def _address(run: Context, tensor: Tensor) -> SSAValue:
    memory.note_address(run.b, tensor.buffer)
    kind = tensor.buffer.type
    assert isinstance(kind, MemRefType)
    space = kind.memory_space
    pointer = llvm.LLVMPointerType(space.value) if isinstance(space, IntegerAttr) else llvm.LLVMPointerType()
    where = Simd(run.b.pure(memref.ExtractAlignedPointerAsIndexOp, (tensor.buffer,), element_type(INDEX)), INDEX, 1)
    where = math.binary(run.b, "+", where, math.binary(run.b, "*", tensor.offset, tensor.dtype.memory.bytes))
    number = run.b.pure(arith.IndexCastOp, (where.ssa,), element_type(LANGUAGE_DTYPES["i64"]))
    return run.b.pure(llvm.IntToPtrOp, (number,), one_object(pointer))
