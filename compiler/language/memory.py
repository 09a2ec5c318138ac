"""Loads, stores and lane shuffling over flat buffers. Booleans are bytes in memory and single bits in registers."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Any

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, MemRefType, NoneAttr, i32, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Block, Region, SSAValue

from compiler.errors import KernelError
from compiler.language import arithmetic as math
from compiler.language.builder import Builder
from compiler.language.dtypes import BOOL, INDEX, DType, element_type, register_type
from compiler.language.values import Simd

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter

_SPACES = {"generic": NoneAttr(), "global": IntegerAttr(1, i64), "shared": IntegerAttr(3, i64)}


def buffer_type(dtype: DType, count: int | None = None, space: str = "generic") -> MemRefType:
    """The IR type of a flat buffer of `count` elements (unknown: None)."""
    return MemRefType(
        element_type(dtype.memory), [DYNAMIC_INDEX if count is None else count], memory_space=_SPACES[space]
    )


def load(b: Builder, buffer: SSAValue, dtype: DType, position: Any, width: int) -> Simd:
    """`width` consecutive elements."""
    where = math.as_index(b, position)
    kind = register_type(dtype.memory, width)
    if width == 1:
        operation = b.emit(memref.LoadOp, (buffer, where.ssa), (kind,))
    else:
        operation = b.emit(vector.LoadOp, (buffer, where.ssa), (kind,), **_alignment(b, where, dtype, width))
    value = Simd(operation.results[0], dtype.memory, width)
    return math.cast(b, value, dtype) if dtype is BOOL else value


def store(b: Builder, buffer: SSAValue, dtype: DType, position: Any, value: Simd) -> None:
    """All lanes of a value, consecutively."""
    if value.dtype is not dtype:
        raise KernelError(f"a {value.type_name} cannot be stored to a {dtype.name} tensor; cast it")
    if dtype is BOOL:
        value = math.cast(b, value, dtype.memory)
    where = math.as_index(b, position)
    if value.width == 1:
        b.emit(memref.StoreOp, (value.ssa, buffer, where.ssa), ())
    else:
        alignment = _alignment(b, where, dtype, value.width)
        b.emit(vector.StoreOp, (value.ssa, buffer, where.ssa), (), **alignment)


def _alignment(b: Builder, where: Simd, dtype: DType, width: int) -> dict[str, Any]:
    """How far a vector access is surely aligned, where that changes the code: a GPU takes 16 bytes at once or not."""
    if not b.state_alignment:
        return {}
    elements = gcd(math.multiple_of(b, where.ssa), 16 // min(dtype.memory.bytes, 16), width & -width)
    if elements <= 1:
        return {}
    return {"attributes": {"kg.align": IntegerAttr(elements * dtype.memory.bytes, i64)}}


def gather(b: Builder, buffer: SSAValue, dtype: DType, position: Any, stride: Any, width: int) -> Simd:
    """`width` elements a stride apart, one load each."""
    parts = []
    for lane in range(width):
        where = math.binary(b, "+", position, math.binary(b, "*", lane, stride))
        parts.append(load(b, buffer, dtype, where, 1))
    return pack(b, parts)


def scatter(b: Builder, buffer: SSAValue, dtype: DType, position: Any, stride: Any, value: Simd) -> None:
    """All lanes of a value, a stride apart."""
    for lane in range(value.width):
        where = math.binary(b, "+", position, math.binary(b, "*", lane, stride))
        store(b, buffer, dtype, where, extract(b, value, lane))


def _position(lane: Any) -> tuple[DenseArrayBase, Any]:
    if isinstance(lane, int):
        return DenseArrayBase.from_list(i64, [lane]), lane
    return DenseArrayBase.from_list(i64, [DYNAMIC_INDEX]), "dynamic"


def extract(b: Builder, value: Simd, lane: Any) -> Simd:
    """One lane as a scalar."""
    if value.width == 1:
        return value
    if isinstance(lane, int) and not 0 <= lane < value.width:
        raise KernelError(f"lane {lane} of a value of {value.width} lanes")
    position, key = _position(lane)
    operands = (value.ssa,) if isinstance(lane, int) else (value.ssa, math.as_index(b, lane).ssa)
    ssa = b.pure(vector.ExtractOp, operands, element_type(value.dtype), {"static_position": position}, key=key)
    return Simd(ssa, value.dtype, 1)


def insert(b: Builder, value: Simd, lane: Any, scalar: Simd) -> Simd:
    """The value with one lane replaced."""
    if value.width == 1:
        return scalar
    position, key = _position(lane)
    operands = (scalar.ssa, value.ssa)
    if not isinstance(lane, int):
        operands = (*operands, math.as_index(b, lane).ssa)
    ssa = b.pure(vector.InsertOp, operands, value.ssa.type, {"static_position": position}, key=key)
    return Simd(ssa, value.dtype, value.width)


def pack(b: Builder, scalars: list[Simd]) -> Simd:
    """Scalars as the lanes of one value."""
    if len(scalars) == 1:
        return scalars[0]
    value = math.splat(b, scalars[0], len(scalars))
    for lane, scalar in enumerate(scalars[1:], start=1):
        value = insert(b, value, lane, scalar)
    return value


def shuffle(b: Builder, one: Simd, two: Simd, order: tuple[int, ...]) -> Simd:
    """Lanes picked from two values laid end to end."""
    if one.width == 1:
        one = math.splat(b, one, 2)
        order = tuple(lane if lane < 1 else lane + 1 for lane in order)
    if two.width == 1:
        two = math.splat(b, two, 2)
    if any(not 0 <= lane < one.width + two.width for lane in order):
        raise KernelError(f"shuffle picks lanes {order} of {one.width} + {two.width}")
    if len(order) == 1:
        return extract(b, one, order[0]) if order[0] < one.width else extract(b, two, order[0] - one.width)
    ssa = b.pure(
        vector.ShuffleOp, (one.ssa, two.ssa), register_type(one.dtype, len(order)),
        {"mask": DenseArrayBase.from_list(i64, list(order))}, key=order,
    )  # fmt: skip
    return Simd(ssa, one.dtype, len(order))


_KINDS = {
    ("sum", "f"): "ADD", ("sum", "i"): "ADD", ("sum", "u"): "ADD", ("sum", "x"): "ADD",
    ("prod", "f"): "MUL", ("prod", "i"): "MUL", ("prod", "u"): "MUL", ("prod", "x"): "MUL",
    ("max", "f"): "MAXIMUMF", ("max", "i"): "MAXSI", ("max", "x"): "MAXSI", ("max", "u"): "MAXUI", ("max", "b"): "OR",
    ("min", "f"): "MINIMUMF", ("min", "i"): "MINSI", ("min", "x"): "MINSI", ("min", "u"): "MINUI", ("min", "b"): "AND",
    ("any", "b"): "OR", ("all", "b"): "AND",
}  # fmt: skip


def horizontal(b: Builder, value: Simd, name: str) -> Simd:
    """All lanes combined into one."""
    kind = _KINDS.get((name, value.dtype.kind))
    if kind is None:
        raise KernelError(f".{name}() is not defined for {value.type_name}")
    if value.width == 1:
        return value
    attribute = CombiningKindAttr(CombiningKindFlag[kind])
    ssa = b.pure(vector.ReductionOp, (value.ssa,), element_type(value.dtype), {"kind": attribute}, key=kind)
    return Simd(ssa, value.dtype, 1)


def allocate(b: Builder, dtype: DType, count: int) -> SSAValue:
    """A thread-local array, placed at the top of the function so that loops do not grow the stack."""
    operation = memref.AllocaOp.create(
        result_types=(buffer_type(dtype, count),),
        properties={
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0]),
            "alignment": IntegerAttr(64, i64),
        },
        location=b.location(),
    )
    block = b.scopes[0].block
    if block.first_op is None:
        block.add_op(operation)
    else:
        block.insert_op_before(operation, block.first_op)
    b.depths[operation.results[0]] = 0
    return operation.results[0]


def lane_loop(run: Interpreter, width: int, one: Callable[[Simd], Any]) -> Simd:
    """A value whose lanes come from a run-time loop through a scratch row."""
    b = run.b
    block = Block(arg_types=[element_type(INDEX)])
    b.open(block)
    lane = Simd(block.args[0], INDEX, 1)
    b.nonnegative.add(lane.ssa)
    value = one(lane)
    if not isinstance(value, Simd) or value.width != 1:
        raise KernelError("lanes() needs a function that gives one run-time value")
    scratch = allocate(b, value.dtype, width)
    store(b, scratch, value.dtype, lane, value)
    b.emit(scf.YieldOp, (), ())
    b.close()
    bounds = (b.index(0).ssa, b.index(width).ssa, b.index(1).ssa)
    b.emit(scf.ForOp, bounds, (), regions=[Region(block)])
    return load(b, scratch, value.dtype, 0, width)





def atomic_add(b: Builder, buffer: SSAValue, dtype: DType, position: Any, value: Any) -> Simd:
    """Add to one element at once with all other threads; gives the value before."""
    scalar = value if isinstance(value, Simd) else math.literal(b, value, dtype)
    if scalar.dtype is not dtype or scalar.width != 1:
        raise KernelError(f"atomic_add needs one {dtype.name}, not {scalar.type_name}")
    kind = IntegerAttr(0 if dtype.is_float else 1, i64)  # upstream's numbering: addf, addi
    where = math.as_index(b, position)
    operation = b.emit(
        memref.AtomicRMWOp, (scalar.ssa, buffer, where.ssa), (element_type(dtype),), {"kind": kind}
    )
    return Simd(operation.results[0], dtype, 1)
