"""Rules of elementwise ops: operands agree in dtype and shape, so these only check dtypes."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.dtypes import dtype_info
from compiler.graph.infer.rules import BOOL, Attrs, Infer, check_dtype, check_same, refuse
from compiler.graph.types import TensorType, format_shape


def unary(op: str, allowed: frozenset[str], result: str | None = None) -> Infer:
    """One operand of an allowed dtype; the result has its shape, and its dtype unless `result` says otherwise."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_dtype(op, x.dtype, allowed)
        return (x if result is None else TensorType.of(result, x.shape),)

    return infer


def gelu(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """gelu also has a formula to choose."""
    (x,) = types
    check_dtype("mo.gelu", x.dtype, frozenset({"f64", "f32", "f16", "bf16"}))
    if attrs["approximate"] not in ("none", "tanh"):
        refuse("mo.gelu", f"approximate must be 'none' or 'tanh', not {attrs['approximate']!r}")
    return (x,)


def cast(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Any dtype to any dtype."""
    (x,) = types
    dtype_info(attrs["dtype"])
    return (TensorType.of(attrs["dtype"], x.shape),)


def binary(op: str, allowed: frozenset[str], result: str | None = None) -> Infer:
    """Two operands of the same allowed dtype and the same shape."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        a, b = types
        if a is not b and a != b:
            check_same(op, types)
        if a.dtype not in allowed:
            check_dtype(op, a.dtype, allowed)
        return (a if result is None else TensorType.of(result, a.shape),)

    return infer


def where(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """A bool condition and two operands that agree, all of one shape."""
    condition, a, b = types
    check_dtype("mo.where", condition.dtype, BOOL, "condition")
    check_same("mo.where", (a, b))
    if condition.shape != a.shape:
        refuse("mo.where", f"shapes {format_shape(condition.shape)} and {format_shape(a.shape)} differ")
    return (a,)
