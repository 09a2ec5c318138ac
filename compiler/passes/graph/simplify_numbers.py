"""Rules on numbers: neutral elements, double negations, casts that lose nothing, choices already made."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import MoOp, attrs_of
from compiler.dialects.operations import put_before
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.passes.graph.rewrite import maker, splat_of

Rule = Callable[[MoOp], Any]


def _is_float(value: SSAValue) -> bool:
    return DTYPES[value.type.dtype].kind == "f"  # type: ignore[attr-defined]


def _equals(value: SSAValue, number: float) -> bool:
    """Whether a value is this number everywhere; zeros must have the same sign."""
    element = splat_of(value)
    if element is None:
        return False
    if _is_float(value):
        held = float(element)
        return held == number and math.copysign(1.0, held) == math.copysign(1.0, number)
    return int(element) == number


def _neutral(right: Callable[[SSAValue], bool], left: Callable[[SSAValue], bool] | None = None) -> Rule:
    """x op e is x when `right(e)`; e op x is x when `left(e)`."""

    def rule(op: MoOp) -> SSAValue | None:
        a, b = op.operands
        if right(b):
            return a
        return b if left is not None and left(a) else None

    return rule


def _zero_to_add(value: SSAValue) -> bool:
    # x + 0.0 turns -0.0 into 0.0; x + -0.0 changes nothing.
    return _equals(value, -0.0 if _is_float(value) else 0)


def _extreme(value: SSAValue, sign: int) -> bool:
    """Whether a value is the largest (sign > 0) or smallest one its dtype has."""
    info = DTYPES[value.type.dtype]  # type: ignore[attr-defined]
    if info.kind == "f":
        return _equals(value, sign * math.inf)
    if info.kind == "b":
        return _equals(value, int(sign > 0))
    limits = np.iinfo(numpy_dtype(info.name))
    return _equals(value, int(limits.max if sign > 0 else limits.min))


def _all_bits(value: SSAValue) -> bool:
    info = DTYPES[value.type.dtype]  # type: ignore[attr-defined]
    return _equals(value, 2**info.bits - 1 if info.kind in "bu" else -1)


def _no_bits(value: SSAValue) -> bool:
    return _equals(value, 0)


def _one(value: SSAValue) -> bool:
    return _equals(value, 1)


def _whole_one(value: SSAValue) -> bool:
    return not _is_float(value) and _equals(value, 1)


def _same(op: MoOp) -> SSAValue | None:
    a, b = op.operands
    return a if a is b else None


def _undoes(*names: str) -> Rule:
    """op(op(x)) is x."""

    def rule(op: MoOp) -> SSAValue | None:
        inner = maker(op.operands[0], *names)
        return inner.operands[0] if inner is not None else None

    return rule


def _settled(*names: str) -> Rule:
    """op(y) is y when y comes from one of these."""

    def rule(op: MoOp) -> SSAValue | None:
        return op.operands[0] if maker(op.operands[0], *names) is not None else None

    return rule


def _forgets(*names: str) -> Rule:
    """op(inner(x)) is op(x)."""

    def rule(op: MoOp) -> Any:
        inner = maker(op.operands[0], *names)
        return None if inner is None else (op.name, (inner.operands[0],), attrs_of(op), inner)

    return rule


def _negation(op: MoOp) -> Any:
    """x * -1 and -0.0 - x are -x."""
    a, b = op.operands
    if op.name == "mo.mul":
        x = a if _equals(b, -1) else b if _equals(a, -1) else None
    else:
        x = b if _zero_to_add(a) else None
    return None if x is None or DTYPES[x.type.dtype].kind == "u" else ("mo.neg", (x,), {})  # type: ignore[attr-defined]


def _times_zero(op: MoOp) -> SSAValue | None:
    """An integer times zero is zero; a float may be infinite or NaN."""
    a, b = op.operands
    if _is_float(a):
        return None
    return b if _equals(b, 0) else a if _equals(a, 0) else None


def _by_power_of_two(op: MoOp) -> Any:
    """x / 2**k is x * 2**-k: the same real number, rounded once."""
    x, divisor = op.operands
    element = splat_of(divisor)
    if element is None:
        return None
    held = float(element)
    if held == 0 or not math.isfinite(held) or abs(math.frexp(held)[0]) != 0.5:
        return None
    inverse = np.asarray(1.0 / held).astype(numpy_dtype(divisor.type.dtype))  # type: ignore[attr-defined]
    if float(inverse) != 1.0 / held or abs(held) > 2.0**14 or abs(held) < 2.0**-14:
        return None  # out there the inverse may be subnormal or infinite
    number = _number(op, inverse)
    return "mo.mul", (x, number), {}


def _number(op: MoOp, value: np.ndarray) -> SSAValue:
    """A new constant, broadcast to the op's shape."""
    from compiler.dialects.mo import make, nodes_of
    from compiler.graph.types import TensorType

    kind = op.results[0].type
    source = op.operands[1].owner
    nodes = nodes_of(source) if isinstance(source, Operation) else ()
    made = make("mo.constant", (), (TensorType.of(kind.dtype, ()),), {"value": np.array(value)}, nodes)  # type: ignore[attr-defined]
    put_before(made, op)
    if not kind.shape:  # type: ignore[attr-defined]
        return made.results[0]
    spread = make("mo.broadcast_to", (made.results[0],), (kind,), {"shape": kind.shape}, nodes)  # type: ignore[attr-defined]
    return put_before(spread, op).results[0]


def _square(op: MoOp) -> Any:
    """x ** 2 is x * x."""
    x, exponent = op.operands
    return ("mo.square", (x,), {}) if _equals(exponent, 2) else None


def _chosen(op: MoOp) -> Any:
    condition, a, b = op.operands
    if a is b:
        return a
    element = splat_of(condition)
    if element is not None:
        return a if bool(element) else b
    flipped = maker(condition, "mo.logical_not")
    return None if flipped is None else ("mo.where", (flipped.operands[0], b, a), {}, flipped)


@cache
def is_exact(source: str, target: str) -> bool:
    """Whether every value of one dtype is a value of the other."""
    if source == target:
        return True
    a, b = DTYPES[source], DTYPES[target]
    if a.kind == "b":
        return True
    if b.kind == "b" or (a.kind == "f" and b.kind != "f"):
        return False
    if a.kind == "f":
        return b.bits > a.bits
    if b.kind == "f":
        digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[target]
        return a.bits - (a.kind == "i") <= digits
    if a.kind == b.kind:
        return b.bits >= a.bits
    return a.kind == "u" and b.bits > a.bits


def _cast(op: MoOp) -> Any:
    x = op.operands[0]
    if x.type == op.results[0].type:
        return x
    inner = maker(x, "mo.cast")
    if inner is None:
        return None
    source = inner.operands[0]
    if not is_exact(source.type.dtype, x.type.dtype):  # type: ignore[attr-defined]
        return None
    if source.type == op.results[0].type:
        return source
    return "mo.cast", (source,), attrs_of(op), inner


_ROUNDINGS = ("mo.floor", "mo.ceil", "mo.round", "mo.trunc")
NUMBER_RULES: dict[str, tuple[Rule, ...]] = {
    "mo.add": (_neutral(_zero_to_add, _zero_to_add),),
    # x - 0.0 is x whatever the sign of x; x - -0.0 is not.
    "mo.sub": (_neutral(lambda v: _equals(v, 0.0)), _negation),
    "mo.mul": (_neutral(_one, _one), _negation, _times_zero),
    "mo.div": (_neutral(_one), _by_power_of_two),
    "mo.floordiv": (_neutral(_whole_one),),
    "mo.pow": (_neutral(_one), _square),
    "mo.minimum": (_same, _neutral(lambda v: _extreme(v, 1), lambda v: _extreme(v, 1))),
    "mo.maximum": (_same, _neutral(lambda v: _extreme(v, -1), lambda v: _extreme(v, -1))),
    "mo.and": (_same, _neutral(_all_bits, _all_bits)),
    "mo.or": (_same, _neutral(_no_bits, _no_bits)),
    "mo.xor": (_neutral(_no_bits, _no_bits),),
    "mo.where": (_chosen,),
    "mo.cast": (_cast,),
    "mo.neg": (_undoes("mo.neg"),),
    "mo.logical_not": (_undoes("mo.logical_not"),),
    "mo.bitwise_not": (_undoes("mo.bitwise_not"),),
    "mo.abs": (_settled("mo.abs", "mo.square"), _forgets("mo.neg")),
    "mo.relu": (_settled("mo.relu"),),
    "mo.square": (_forgets("mo.neg", "mo.abs"),),
    **{name: (_settled(*_ROUNDINGS),) for name in _ROUNDINGS},
}
