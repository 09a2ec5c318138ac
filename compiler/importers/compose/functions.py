"""Elementwise functions made of those that have a kernel: the other trigonometric and hyperbolic ones, and integers."""

from __future__ import annotations

import math
from typing import Any

from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.dtypes import dtype_info
from compiler.graph.value import Value

_TERMS = 12  # of atan's series, whose argument is below 0.199 here: enough for f64


def kind(x: Value) -> str:
    """'f', 'i', 'u' or 'b'."""
    return dtype_info(x.dtype).kind


def tan(x: Value) -> Value:
    """The tangent."""
    return ops.div(ops.sin(x), ops.cos(x))


def atan(x: Value) -> Value:
    """The arc tangent: of 1/x where x is large, then halved twice, then the series."""
    large = ops.greater(ops.abs(x), 1)
    inner = ops.where(large, ops.reciprocal(x), x)
    for _ in range(2):
        inner = ops.div(inner, ops.add(ops.sqrt(ops.add(ops.mul(inner, inner), 1)), 1))
    square = ops.mul(inner, inner)
    total: Any = (-1.0) ** _TERMS / (2 * _TERMS + 1)
    for at in reversed(range(_TERMS)):
        total = ops.add(ops.mul(square, total), (-1.0) ** at / (2 * at + 1))
    angle = ops.mul(ops.mul(inner, total), 4)
    return ops.where(large, ops.sub(ops.mul(ops.sign(x), math.pi / 2), angle), angle)


def asin(x: Value) -> Value:
    """The arc sine."""
    return ops.mul(atan(ops.div(x, ops.add(ops.sqrt(ops.sub(1, ops.mul(x, x))), 1))), 2)


def acos(x: Value) -> Value:
    """The arc cosine."""
    return ops.mul(atan(ops.sqrt(ops.div(ops.sub(1, x), ops.add(x, 1)))), 2)


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y)."""
    angle = atan(ops.div(y, x))
    behind = ops.add(angle, ops.where(ops.less(y, 0), -math.pi, ops.full_like(y, math.pi)))
    turned = ops.where(ops.less(x, 0), behind, angle)
    return ops.where(ops.logical_and(ops.equal(x, 0), ops.equal(y, 0)), ops.zeros_like(turned), turned)


def sinh(x: Value) -> Value:
    """The hyperbolic sine, exact near 0."""
    grown = ops.expm1(ops.abs(x))
    return ops.mul(ops.mul(ops.add(grown, ops.div(grown, ops.add(grown, 1))), 0.5), ops.sign(x))


def cosh(x: Value) -> Value:
    """The hyperbolic cosine."""
    return ops.mul(ops.add(ops.exp(x), ops.exp(ops.neg(x))), 0.5)


def asinh(x: Value) -> Value:
    """The inverse of sinh."""
    size, square = ops.abs(x), ops.mul(x, x)
    inner = ops.add(size, ops.div(square, ops.add(ops.sqrt(ops.add(square, 1)), 1)))
    return ops.mul(ops.log1p(inner), ops.sign(x))


def acosh(x: Value) -> Value:
    """The inverse of cosh."""
    past = ops.sub(x, 1)
    return ops.log1p(ops.add(past, ops.sqrt(ops.add(ops.mul(past, 2), ops.mul(past, past)))))


def atanh(x: Value) -> Value:
    """The inverse of tanh."""
    return ops.mul(ops.log1p(ops.div(ops.mul(x, 2), ops.sub(1, x))), 0.5)


def softplus(x: Value) -> Value:
    """log(1 + exp(x)) without overflow."""
    return ops.add(ops.relu(x), ops.log1p(ops.exp(ops.neg(ops.abs(x)))))


def truncated_quotient(x: Value, y: Value) -> Value:
    """Integers divided towards zero."""
    if kind(x) in "ub":
        return ops.floordiv(x, y)
    quotient = ops.floordiv(x, y)
    rest = ops.sub(x, ops.mul(quotient, y))
    mixed = ops.not_equal(ops.less(x, 0), ops.less(y, 0))
    return ops.where(ops.logical_and(ops.not_equal(rest, 0), mixed), ops.add(quotient, 1), quotient)


def truncated_remainder(x: Value, y: Value) -> Value:
    """The remainder with the sign of x, as C has it."""
    if kind(x) in "ub":
        return ops.mod(x, y)
    size = ops.mod(ops.abs(x), ops.abs(y))
    return ops.where(ops.less(x, 0), ops.neg(size), size)


def size_value(size: int | Dim) -> Value:
    """A size as an i64 value: a symbolic one is read off an index range, which no kernel stores."""
    if isinstance(size, Dim):
        return ops.iota((size + 1,))[size]
    return ops.constant(size, "i64")


def mish(x: Value) -> Value:
    """x * tanh(softplus(x))."""
    return ops.mul(x, ops.tanh(softplus(x)))


def hard_sigmoid(x: Value) -> Value:
    """A line from 0 to 1 in place of the sigmoid's curve."""
    return ops.clip(ops.add(ops.mul(x, 1 / 6), 0.5), 0, 1)


def log_sum_exp(x: Value, axes: Any) -> Value:
    """The logarithm of the sum of powers of e along axes, which stay; the largest is taken out, so that none is
    infinite."""
    most = ops.max(x, axes, True)
    most = ops.where(ops.isinf(most), ops.zeros_like(most), most)
    return ops.add(ops.log(ops.sum(ops.exp(ops.sub(x, most)), axes, keepdims=True)), most)
