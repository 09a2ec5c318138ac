"""Comparisons, logic and bits, and where."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.broadcasting import broadcast_shapes, fits
from compiler.graph.location import builder
from compiler.graph.ops.build import Meeting, Operand, as_tensor, emit, find_graph, to_dtype, to_shape, two_operands
from compiler.graph.ops.specs import define
from compiler.graph.rules import ANY, BITS, BOOL, Attrs, binary, check_dtype, check_same, refuse
from compiler.graph.types import TensorType, format_shape
from compiler.graph.value import Value

__all__ = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "greater", "greater_equal", "less", "less_equal",
    "logical_and", "logical_or", "logical_xor", "not_equal", "where",
]  # fmt: skip


def _where_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """A bool condition and two operands that agree, all of one shape."""
    condition, a, b = types
    check_dtype("mo.where", condition.dtype, BOOL, "condition")
    check_same("mo.where", (a, b))
    if condition.shape != a.shape:
        refuse("mo.where", f"shapes {format_shape(condition.shape)} and {format_shape(a.shape)} differ")
    return (a,)


for _short in ("equal", "not_equal"):
    define(_short, binary(f"mo.{_short}", ANY, "bool"), 2, elementwise=True, commutative=True)
for _short in ("less", "less_equal", "greater", "greater_equal"):
    define(_short, binary(f"mo.{_short}", ANY, "bool"), 2, elementwise=True)
for _short in ("and", "or", "xor"):
    define(_short, binary(f"mo.{_short}", BITS), 2, elementwise=True, commutative=True)
define("where", _where_rule, 3, elementwise=True)


def _compare(op: str, a: Operand, b: Operand) -> Value:
    meeting = Meeting(op, a, b)
    # NumPy compares a number that the dtype cannot hold by its value, so the operands meet in i64 then.
    dtype = meeting.dtype if all(fits(s, meeting.dtype) for s in meeting.scalars) else "i64"
    return emit(op, meeting.values(dtype))


equal = two_operands(_compare, "equal", "x1 == x2.", "x, 0", "equal_0: bool (M, 4)")
not_equal = two_operands(_compare, "not_equal", "x1 != x2.", "x, 0", "not_equal_0: bool (M, 4)")
less = two_operands(_compare, "less", "x1 < x2.", "x, 0", "less_0: bool (M, 4)")
less_equal = two_operands(_compare, "less_equal", "x1 <= x2.", "x, 0", "less_equal_0: bool (M, 4)")
greater = two_operands(_compare, "greater", "x1 > x2.", "x, 0", "greater_0: bool (M, 4)")
greater_equal = two_operands(_compare, "greater_equal", "x1 >= x2.", "x, 0", "greater_equal_0: bool (M, 4)")


def _logical(op: str, a: Operand, b: Operand) -> Value:
    graph = find_graph(op, (a, b))
    left, right = (to_dtype(as_tensor(op, v, graph), "bool") for v in (a, b))
    shape = broadcast_shapes(left.shape, right.shape, op=op)
    return emit(op.removeprefix("logical_"), (to_shape(left, shape), to_shape(right, shape)))


def _bitwise(op: str, a: Operand, b: Operand) -> Value:
    return emit(op.removeprefix("bitwise_"), Meeting(op, a, b).values())


logical_and = two_operands(
    _logical, "logical_and", "Whether both are true (not zero).", "x, flags", "and_0: bool (M, 4)"
)
logical_or = two_operands(_logical, "logical_or", "Whether either is true (not zero).", "x, flags", "or_0: bool (M, 4)")
logical_xor = two_operands(
    _logical, "logical_xor", "Whether exactly one is true (not zero).", "x, flags", "xor_0: bool (M, 4)"
)
bitwise_and = two_operands(
    _bitwise, "bitwise_and", "The bits in both; of bool the logical and.", "n, 1", "and_0: i32 (2, 3)"
)
bitwise_or = two_operands(
    _bitwise, "bitwise_or", "The bits in either; of bool the logical or.", "n, 1", "or_0: i32 (2, 3)"
)
bitwise_xor = two_operands(
    _bitwise, "bitwise_xor", "The bits in exactly one; of bool the logical xor.", "n, 1", "xor_0: i32 (2, 3)"
)


@builder
def where(condition: Operand, x: Operand, y: Operand) -> Value:
    """x where the condition is true (not zero), y elsewhere.

    >>> ops.where(flags, x, 0)
    <where_0: f32 (M, 4)>
    """
    graph = find_graph("where", (condition, x, y))
    test = to_dtype(as_tensor("where", condition, graph), "bool")
    meeting = Meeting("where", x, y, graph=graph)
    meeting.shape = broadcast_shapes(test.shape, meeting.shape, op="where")
    return emit("where", (to_shape(test, meeting.shape), *meeting.values()))
