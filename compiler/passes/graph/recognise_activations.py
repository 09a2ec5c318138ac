"""GELU in its spellings, and SiLU."""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import MoOp
from compiler.passes.graph.pattern import (
    Found,
    commuted,
    factors,
    insert,
    is_near,
    is_used_once,
    made_by,
    number_of,
    scaled,
    with_number,
)

_CUBIC = 0.044715


def gelu(op: MoOp) -> Found | None:
    """0.5 * x * (1 + erf(x / sqrt(2))), or 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)), in any order."""
    if _continues(op):
        return None
    values, number = factors(op)
    if len(values) != 2 or not is_near(number, 0.5):
        return None
    for x, other in (values, values[::-1]):
        if not is_used_once(other):
            continue
        curve = with_number(made_by(other, "add"), 1.0)
        bent = made_by(curve, "erf", "tanh") if curve is not None else None
        if bent is None:
            continue
        exact = bent.name == "mo.erf" and _is_scaled(bent.operands[0], x, math.sqrt(0.5))
        if exact or (bent.name == "mo.tanh" and _is_cubic(bent.operands[0], x)):
            way = "none" if exact else "tanh"
            return Found("gelu", insert(op, "gelu", (x,), op.results[0].type, approximate=way), (x,))  # type: ignore[arg-type]
    return None


def _continues(op: Operation) -> bool:
    """Whether a product is only a part of a larger one, which will be looked at."""
    return is_used_once(op.results[0]) and any(use.operation.name == "mo.mul" for use in op.results[0].uses)


def _is_scaled(value: SSAValue, x: SSAValue, factor: float) -> bool:
    base, by = scaled(value)
    return base is x and is_near(by, factor)


def _is_cubic(value: SSAValue, x: SSAValue) -> bool:
    """sqrt(2 / pi) * (x + 0.044715 * x ** 3), or sqrt(2 / pi) * x * (1 + 0.044715 * x ** 2)."""
    base, by = scaled(value)
    total = made_by(base, "add")
    if total is not None and is_near(by, math.sqrt(2 / math.pi)):
        return any(one is x and _is_power(other, x, 3) for one, other in commuted(total))
    op = made_by(value, "mul")
    if op is None:
        return False
    values, number = factors(op)
    if len(values) != 2 or not is_near(number, math.sqrt(2 / math.pi)):
        return False
    for one, other in (values, values[::-1]):
        rest = with_number(made_by(other, "add"), 1.0)
        if one is x and rest is not None and _is_power(rest, x, 2):
            return True
    return False


def _is_power(value: SSAValue, x: SSAValue, power: int) -> bool:
    """Whether a value is 0.044715 times a power of x."""
    base, by = scaled(value)
    if is_near(by, _CUBIC):
        return _power_of(base, x) == power
    op = made_by(value, "mul")
    if op is None:
        return False
    values, number = factors(op)
    return is_near(number, _CUBIC) and sum(_power_of(v, x) for v in values) == power


def _power_of(value: SSAValue, x: SSAValue) -> int:
    """Which whole power of x a value is; a number that fits none when it is not one."""
    if value is x:
        return 1
    op = made_by(value, "mul", "square", "pow")
    if op is None:
        return -100
    if op.name == "mo.pow":
        power = number_of(op.operands[1])
        return int(power) if power is not None and power == int(power) and op.operands[0] is x else -100
    if op.name == "mo.square":
        return 2 * _power_of(op.operands[0], x)
    return sum(_power_of(operand, x) for operand in op.operands)


def silu(op: MoOp) -> Found | None:
    """x * sigmoid(x) or x / (1 + exp(-x))."""
    if op.name == "mo.div":
        x, below_line = op.operands
        return _silu(op, x) if is_used_once(below_line) and _is_one_plus_exp(below_line, x) else None
    for x, gate in commuted(op):
        if not is_used_once(gate):
            continue
        sigmoid = made_by(gate, "sigmoid")
        if sigmoid is not None and sigmoid.operands[0] is x:
            return _silu(op, x)
        inverse = made_by(gate, "div", "reciprocal")
        if inverse is not None and (inverse.name == "mo.reciprocal" or is_near(number_of(inverse.operands[0]), 1.0)):
            bottom = inverse.operands[-1]
            if _is_one_plus_exp(bottom, x):
                return _silu(op, x)
    return None


def _silu(op: MoOp, x: SSAValue) -> Found:
    return Found("silu", insert(op, "silu", (x,), op.results[0].type), (x,))  # type: ignore[arg-type]


def _is_one_plus_exp(value: SSAValue, x: SSAValue) -> bool:
    power = with_number(made_by(value, "add"), 1.0)
    raised = made_by(power, "exp") if power is not None else None
    if raised is None:
        return False
    base, by = scaled(raised.operands[0])
    return base is x and by == -1.0
