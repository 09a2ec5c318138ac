"""Elementwise ops of two and three operands: arithmetic, comparison, logic and choice.

Operands of one op have one dtype: the graph has promoted them. `elementwise_unary` says how definitions are named.
"""

from kernels.language import *


@elementwise("mo.add")
def add(a, b):
    """a + b, wrapping; `or` for bool."""
    return a | b if a.dtype.is_bool else a + b


@elementwise("mo.sub")
def sub(a, b):
    """a - b, wrapping."""
    return a - b


@elementwise("mo.mul")
def mul(a, b):
    """a * b, wrapping; `and` for bool."""
    return a & b if a.dtype.is_bool else a * b


@elementwise("mo.div")
def div(a, b):
    """a / b of floats."""
    return a / b


@elementwise("mo.minimum")
def minimum(a, b):
    """The smaller; NaN if either is."""
    return min(a, b)


@elementwise("mo.maximum")
def maximum(a, b):
    """The larger; NaN if either is."""
    return max(a, b)


@elementwise("mo.equal")
def equal(a, b):
    """a == b."""
    return a == b


@elementwise("mo.not_equal")
def not_equal(a, b):
    """a != b; true if either is NaN."""
    return a != b


@elementwise("mo.less")
def less(a, b):
    """a < b."""
    return a < b


@elementwise("mo.less_equal")
def less_equal(a, b):
    """a <= b."""
    return a <= b


@elementwise("mo.greater")
def greater(a, b):
    """a > b."""
    return a > b


@elementwise("mo.greater_equal")
def greater_equal(a, b):
    """a >= b."""
    return a >= b


@elementwise("mo.and")
def bitwise_and(a, b):
    """Bits set in both; `and` for bool."""
    return a & b


@elementwise("mo.or")
def bitwise_or(a, b):
    """Bits set in either; `or` for bool."""
    return a | b


@elementwise("mo.xor")
def bitwise_xor(a, b):
    """Bits set in one of the two; `!=` for bool."""
    return a ^ b


@elementwise("mo.where")
def where(condition, a, b):
    """a where the condition holds, b elsewhere."""
    return select(condition, a, b)
