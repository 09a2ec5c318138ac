"""Operators on compile-time values: Python's own, on the types the language has and within its limits."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from compiler.errors import KernelError
from compiler.graph import dims as dimlib
from compiler.graph.dims import Dim
from compiler.language import limits
from compiler.language.values.dtypes import DType
from compiler.language.values.records import RuntimeRange, Simd, Unroll, describe

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
OPERATIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "@": operator.matmul, "**": limits.power, "<<": limits.shift_left, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBERS = frozenset({int, float, bool})
_SEQUENCES = (str, tuple, list)
_SIZE_SIGNS = frozenset({"+", "-", "*", "//", "%"})
_MAX_TERMS = 64
_MAX_FACTORS = 32
_MAX_NESTING = 400


def is_number(value: Any) -> bool:
    """Whether it is a weak literal."""
    return isinstance(value, (int, float))


def is_static(value: Any) -> bool:
    """Whether it is known while elaborating, wholly."""
    if isinstance(value, (tuple, list)):
        return all(is_static(item) for item in value)
    return type(value) is not Simd


def truth(value: Any) -> bool:
    """The truth of a compile-time value, as Python sees it."""
    if isinstance(value, Simd):
        raise KernelError("a run-time value stands where a compile-time one is needed")
    if isinstance(value, Dim):
        raise KernelError(f"whether the size {value} is zero is not known at compile time")
    return bool(value)


def binary(sign: str, left: Any, right: Any) -> Any:
    """`left sign right` of compile-time values, neither of them a size."""
    if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
        return _other(sign, left, right)
    try:
        result = OPERATIONS[sign](left, right)
    except (TypeError, ZeroDivisionError, ValueError, OverflowError) as problem:
        raise KernelError(f"{describe(left)} {sign} {describe(right)}: {problem.args[-1]}") from None
    return limits.whole(result) if type(result) is int else result


def _other(sign: str, left: Any, right: Any) -> Any:
    if sign == "==" or sign == "!=":
        return OPERATIONS[sign](left, right)
    if isinstance(left, _SEQUENCES) and type(left) is type(right):
        if sign == "+":
            return limits.text(left + right) if isinstance(left, str) else limits.sequence(left + right)
        if sign in COMPARISONS and _ordered(left) and _ordered(right):
            return OPERATIONS[sign](left, right)
    elif sign == "*" and isinstance(left, (*_SEQUENCES, int)) and isinstance(right, (*_SEQUENCES, int)):
        return limits.repeat(left, right)
    raise KernelError(f"{sign} does not apply to {describe(left)} and {describe(right)}")


def _ordered(value: Any) -> bool:
    return isinstance(value, str) or all(is_number(item) for item in value)


def sizes(sign: str, left: Any, right: Any) -> Any:
    """`left sign right` where one side is a symbolic size, and the other a size or a whole number."""
    if sign not in _SIZE_SIGNS or not isinstance(left, (int, Dim)) or not isinstance(right, (int, Dim)):
        raise KernelError(f"{sign} is not defined for {describe(left)} and {describe(right)}")
    if sign in ("//", "%") and right == 0:
        raise KernelError(f"{describe(left)} {sign} 0: division by zero")
    return bounded(OPERATIONS[sign](left, right))


def bounded(size: int | Dim) -> int | Dim:
    """A size, checked to be an expression that a person could have meant."""
    if isinstance(size, int):
        return limits.whole(size)
    if _weight(size, 0) > _MAX_NESTING:
        raise KernelError("the expression of a symbolic size is too large")
    return size


def _weight(size: int | Dim, total: int) -> int:
    """How many atoms an expression has; counting ends soon after the most that is allowed."""
    if isinstance(size, int) or total > _MAX_NESTING:
        return total
    if len(size.terms) > _MAX_TERMS:
        return _MAX_NESTING + 1
    for monomial, factor in size.terms:
        limits.whole(factor)
        if len(monomial) > _MAX_FACTORS:
            return _MAX_NESTING + 1
        total += 1
        for atom in monomial:
            total += 1
            if isinstance(atom, dimlib.Compound):
                total = _weight(atom.right, _weight(atom.left, total))
    return total


def never_negative(size: int | Dim) -> bool:
    """Whether a size is built so that it cannot be below zero: sums and products of sizes."""
    if isinstance(size, int):
        return size >= 0
    return all(
        factor >= 0
        and all(
            isinstance(atom, dimlib.Symbol) or (never_negative(atom.left) and never_negative(atom.right))
            for atom in monomial
        )
        for monomial, factor in size.terms
    )


def unary(sign: str, value: Any) -> Any:
    """`-x`, `+x`, `~x` and `not x` of a compile-time value."""
    if sign == "not":
        return not truth(value)
    if isinstance(value, (int, float, Dim)) and sign in "+-":
        return -value if sign == "-" else +value if not isinstance(value, Dim) else value
    if isinstance(value, int):
        return ~value
    raise KernelError(f"{sign} does not apply to {describe(value)}")


def extremum(name: str, left: Any, right: Any) -> Any:
    """min and max (NaN wins), fmin and fmax (NaN loses) of compile-time values."""
    low = name.endswith("min")
    if isinstance(left, Dim) or isinstance(right, Dim):
        if not isinstance(left, (int, Dim)) or not isinstance(right, (int, Dim)):
            raise KernelError(f"{name} is not defined for {describe(left)} and {describe(right)}")
        return bounded((dimlib.minimum if low else dimlib.maximum)(left, right))
    if not is_number(left) or not is_number(right):
        raise KernelError(f"{name} is not defined for {describe(left)} and {describe(right)}")
    if left != left or right != right:
        return left if (left != left) == (name in ("min", "max")) else right
    return min(left, right) if low else max(left, right)


def items(value: Any) -> Sequence[Any] | None:
    """The items of a compile-time sequence; None for what is no sequence."""
    if isinstance(value, (tuple, list)):
        return value
    if isinstance(value, Unroll):
        return value.values
    if isinstance(value, RuntimeRange):
        bounds = (value.start, value.stop, value.step)
        if all(isinstance(bound, int) for bound in bounds):
            return limits.counted(*bounds)
        raise KernelError("this range must be known at compile time")
    return None


def contains(sequence: Any, value: Any) -> bool:
    """`value in sequence`."""
    if isinstance(sequence, str) and isinstance(value, str):
        return value in sequence
    if isinstance(sequence, (tuple, list)) and is_static(value) and is_static(sequence):
        return value in sequence
    raise KernelError("`in` needs compile-time values")


def text_of(value: Any) -> str:
    """How a compile-time value reads in an f-string or message."""
    if isinstance(value, str):
        return value
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (tuple, list)):
        inner = limits.text(", ".join(repr(item) if isinstance(item, str) else text_of(item) for item in value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if value is None or is_number(value) or isinstance(value, Dim):
        return describe(value) if isinstance(value, int) and value.bit_length() > 512 else str(value)
    return describe(value)
