"""Lanes of run-time values: taken out, put in, packed, shuffled and combined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Attribute, SSAValue

from compiler.errors import KernelError
from compiler.language.builder import Builder
from compiler.language.limits import MAX_WIDTH
from compiler.language.values import arithmetic as math
from compiler.language.values.arguments import lane_number
from compiler.language.values.dtypes import BF16, F32, element_type, register_type
from compiler.language.values.opcodes import REDUCTIONS
from compiler.language.values.records import Simd, describe


@lru_cache(maxsize=4096)
def _lane_property(lane: int) -> dict[str, Attribute]:
    return {"static_position": DenseArrayBase.from_list(i64, [lane])}


def _lane(b: Builder, value: Simd, lane: Any) -> tuple[dict[str, Attribute], Any, tuple[SSAValue, ...]]:
    """The properties, identity and extra operands that name a lane."""
    if isinstance(lane, Simd):
        return _lane_property(DYNAMIC_INDEX), "dynamic", (math.as_index(b, lane).ssa,)
    number = lane_number(lane, value.width)
    return _lane_property(number), number, ()


def extract(b: Builder, value: Simd, lane: Any) -> Simd:
    """One lane as a scalar."""
    properties, key, operands = _lane(b, value, lane)
    if value.width == 1:
        return value
    ssa = b.pure(vector.ExtractOp, (value.ssa, *operands), element_type(value.dtype), properties, key)
    if not operands:
        b.lanes[id(ssa)] = (value.ssa, key, ssa)
    return Simd(ssa, value.dtype, 1)


def insert(b: Builder, value: Simd, lane: Any, scalar: Any) -> Simd:
    """The value with one lane replaced."""
    if not isinstance(scalar, Simd):
        scalar = math.literal(b, scalar, value.dtype)
    if scalar.dtype is not value.dtype or scalar.width != 1:
        raise KernelError(f"a lane of {value.type_name} is one {value.dtype.name}, not {scalar.type_name}")
    properties, key, operands = _lane(b, value, lane)
    if value.width == 1:
        return scalar
    ssa = b.pure(vector.InsertOp, (scalar.ssa, value.ssa, *operands), value.ssa.type, properties, key)
    return Simd(ssa, value.dtype, value.width)


def pack(b: Builder, scalars: Sequence[Simd]) -> Simd:
    """Scalars as the lanes of one value."""
    if len(scalars) > MAX_WIDTH:
        raise KernelError(f"a value of {len(scalars)} lanes; {MAX_WIDTH} at most")
    value = math.splat(b, scalars[0], len(scalars))
    for lane, scalar in enumerate(scalars[1:], start=1):
        value = insert(b, value, lane, scalar)
    return value


def shuffle(b: Builder, one: Simd, two: Simd, order: tuple[Any, ...]) -> Simd:
    """Lanes picked from two values laid end to end."""
    if one.dtype is not two.dtype:
        raise KernelError(f"shuffle: {one.type_name} and {two.type_name} do not mix; cast one of them")
    if not 1 <= len(order) <= MAX_WIDTH:
        raise KernelError(f"a value of {len(order)} lanes; there are 1 to {MAX_WIDTH}")
    count = one.width + two.width
    for lane in order:
        if type(lane) is not int or not 0 <= lane < count:
            raise KernelError(f"shuffle of {one.width} + {two.width} lanes has no lane {describe(lane)}")
    if len(order) == 1:
        return extract(b, one, order[0]) if order[0] < one.width else extract(b, two, order[0] - one.width)
    if one.width == 1:  # scalars are no vectors: they become two equal lanes
        one = math.splat(b, one, 2)
        order = tuple(lane if lane < 1 else lane + 1 for lane in order)
    if two.width == 1:
        two = math.splat(b, two, 2)
    ssa = b.pure(
        vector.ShuffleOp, (one.ssa, two.ssa), register_type(one.dtype, len(order)),
        math.shuffle_mask(order), order,
    )  # fmt: skip
    return Simd(ssa, one.dtype, len(order))


def horizontal(b: Builder, value: Simd, name: str) -> Simd:
    """All lanes combined into one."""
    flag = REDUCTIONS.get((name, value.dtype.kind))
    if flag is None:
        raise KernelError(f".{name}() is not defined for {value.type_name}")
    if value.width == 1:
        return value
    if value.dtype is BF16 and name in ("sum", "prod"):
        return math.cast(b, horizontal(b, math.cast(b, value, F32), name), BF16)
    properties = {"kind": CombiningKindAttr(flag)}
    ssa = b.pure(vector.ReductionOp, (value.ssa,), element_type(value.dtype), properties, flag)
    return Simd(ssa, value.dtype, 1)
