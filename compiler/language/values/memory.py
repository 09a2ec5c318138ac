"""Loads and stores over flat buffers. Booleans are bytes in memory and single bits in registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import gcd
from typing import Any

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, MemRefType, NoneAttr, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from compiler.errors import KernelError
from compiler.language.builder import Builder
from compiler.language.limits import MAX_STACK
from compiler.language.values import arithmetic as math
from compiler.language.values import lanes
from compiler.language.values.dtypes import BOOL, INDEX, DType, element_type, register_type
from compiler.language.values.records import Simd, describe
from compiler.targets.target import Target

_SPACES: dict[str, Attribute] = {"generic": NoneAttr(), "global": IntegerAttr(1, i64), "shared": IntegerAttr(3, i64)}
_ALLOCA = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0]), "alignment": IntegerAttr(64, i64)}


@lru_cache(maxsize=1024)
def buffer_type(dtype: DType, count: int | None = None, space: str = "generic") -> MemRefType:
    """The IR type of a flat buffer of `count` elements (unknown: None)."""
    return MemRefType(
        element_type(dtype.memory), [DYNAMIC_INDEX if count is None else count], memory_space=_SPACES[space]
    )


def argument_type(dtype: DType, target: Target) -> MemRefType:
    """The IR type of a kernel's buffer argument on a target."""
    return buffer_type(dtype, None, "global" if target.emission.grid is not None else "generic")


def space_of(buffer: SSAValue) -> str:
    """The memory a buffer lies in, as `buffer_type` names it."""
    space = buffer.type.memory_space  # pyright: ignore[reportAttributeAccessIssue]
    if type(space) is NoneAttr:
        return "generic"
    return "global" if space.value.data == 1 else "shared"


def load(b: Builder, buffer: SSAValue, dtype: DType, position: Any, width: int) -> Simd:
    """`width` consecutive elements."""
    where = math.as_index(b, position)
    stored = dtype.memory
    kind = (register_type(stored, width),)
    if width == 1:
        operation = b.emit(memref.LoadOp, (buffer, where.ssa), kind)
    else:
        operation = b.emit(vector.LoadOp, (buffer, where.ssa), kind, attributes=_alignment(b, where, dtype, width))
    (result,) = operation.results
    value = Simd(result, stored, width)
    return value if stored is dtype else math.cast(b, value, dtype)


def note_write(b: Builder, buffer: SSAValue) -> None:
    """Note that a buffer is stored to; an input's may not be."""
    buffer = b.sources.get(id(buffer), buffer)
    if id(buffer) in b.read_only:
        raise KernelError("this stores to an input; a kernel stores to its outputs, which come first among its tensors")
    b.written[id(buffer)] = True


def note_address(b: Builder, buffer: SSAValue) -> None:
    """Note that raw instructions have a buffer's address: nobody knows whether they store to it."""
    b.written.setdefault(id(b.sources.get(id(buffer), buffer)), False)


def store(b: Builder, buffer: SSAValue, dtype: DType, position: Any, value: Simd) -> None:
    """All lanes of a value, consecutively."""
    note_write(b, buffer)
    if value.dtype is not dtype:
        raise KernelError(f"a {value.type_name} cannot be stored to a {dtype.name} tensor; cast it")
    if dtype is BOOL:
        value = math.cast(b, value, dtype.memory)
    where = math.as_index(b, position)
    if value.width == 1:
        b.emit(memref.StoreOp, (value.ssa, buffer, where.ssa), ())
    else:
        alignment = _alignment(b, where, dtype, value.width)
        b.emit(vector.StoreOp, (value.ssa, buffer, where.ssa), (), attributes=alignment)


# What divides both of their last two operands divides their result.
_KEEP_DIVISORS = (
    arith.AddiOp, arith.SubiOp, arith.RemUIOp, arith.RemSIOp, arith.MinSIOp, arith.MaxSIOp, arith.SelectOp,
)  # fmt: skip


def multiple_of(b: Builder, ssa: SSAValue, depth: int = 0) -> int:
    """A number that a position is surely a multiple of; 0 for the position 0."""
    known = b.multiples.get(ssa)
    if known is None:
        owner = ssa.owner
        known = 1
        if id(ssa) in b.literals:
            number = b.literals[id(ssa)]
            known = abs(number) if isinstance(number, int) else 1
        elif isinstance(owner, (*_KEEP_DIVISORS, arith.MuliOp)) and depth < 16:
            one, two = (multiple_of(b, operand, depth + 1) for operand in owner.operands[-2:])
            known = one * two if isinstance(owner, arith.MuliOp) else gcd(one, two)
        b.multiples[ssa] = known
    return known


def _alignment(b: Builder, where: Simd, dtype: DType, width: int) -> dict[str, Attribute] | None:
    """How far a vector access is surely aligned, where that changes the code: a GPU takes 16 bytes at once or not."""
    if not b.state_alignment:
        return None
    elements = gcd(multiple_of(b, where.ssa), 16 // min(dtype.memory.bytes, 16), width & -width)
    return {"kg.align": IntegerAttr(elements * dtype.memory.bytes, i64)} if elements > 1 else None


def gather(b: Builder, buffer: SSAValue, dtype: DType, position: Any, stride: Any, width: int) -> Simd:
    """`width` elements a stride apart, one load each."""
    parts = []
    for lane in range(width):
        where = math.binary(b, "+", position, math.binary(b, "*", lane, stride))
        parts.append(load(b, buffer, dtype, where, 1))
    return lanes.pack(b, parts)


def scatter(b: Builder, buffer: SSAValue, dtype: DType, position: Any, stride: Any, value: Simd) -> None:
    """All lanes of a value, a stride apart."""
    for lane in range(value.width):
        where = math.binary(b, "+", position, math.binary(b, "*", lane, stride))
        store(b, buffer, dtype, where, lanes.extract(b, value, lane))


def allocate(b: Builder, dtype: DType, count: int) -> SSAValue:
    """A thread-local array, placed at the top of the function so that loops do not grow the stack."""
    b.stack_bytes += count * dtype.bytes
    if b.stack_bytes > MAX_STACK:
        raise KernelError(f"{b.stack_bytes} bytes of stack arrays in a function; {MAX_STACK >> 20} MiB at most")
    operation = memref.AllocaOp.create(
        result_types=(buffer_type(dtype, count),), properties=_ALLOCA, location=b.location()
    )
    block = b.scopes[0].block
    if block.first_op is None:
        block.add_op(operation)
    else:
        block.insert_op_before(operation, block.first_op)
    b.depths[id(operation.results[0])] = 0
    return operation.results[0]


def lane_loop(b: Builder, width: int, one: Callable[[Simd], Any]) -> Simd:
    """A value whose lanes come from a run-time loop through a scratch row."""
    block = Block(arg_types=[element_type(INDEX)])
    b.open(block)
    lane = Simd(block.args[0], INDEX, 1)
    b.nonnegative[id(lane.ssa)] = lane.ssa
    value = one(lane)
    if not isinstance(value, Simd) or value.width != 1:
        raise KernelError(f"lanes() needs a function that gives one run-time value, not {describe(value)}")
    scratch = allocate(b, value.dtype, width)
    store(b, scratch, value.dtype, lane, value)
    b.emit(scf.YieldOp, (), ())
    b.close()
    bounds = (b.index(0).ssa, b.index(width).ssa, b.index(1).ssa)
    b.emit(scf.ForOp, bounds, (), regions=(Region(block),))
    return load(b, scratch, value.dtype, 0, width)


def atomic_add(b: Builder, buffer: SSAValue, dtype: DType, position: Any, value: Any) -> Simd:
    """Add to one element at once with all other threads; gives the value before."""
    scalar = value if isinstance(value, Simd) else math.literal(b, value, dtype)
    if scalar.dtype is not dtype or scalar.width != 1 or dtype is BOOL:
        raise KernelError(f"atomic_add to {dtype.name} needs one number of that dtype, not {scalar.type_name}")
    kind = IntegerAttr(0 if dtype.is_float else 1, i64)  # upstream's numbering: addf, addi
    where = math.as_index(b, position)
    note_write(b, buffer)
    b.effects = True
    operation = b.emit(memref.AtomicRMWOp, (scalar.ssa, buffer, where.ssa), (element_type(dtype),), {"kind": kind})
    return Simd(operation.results[0], dtype, 1)
