"""Elementwise arithmetic of two operands: NumPy broadcasting and promotion, bool arithmetic as logic."""

from __future__ import annotations

from compiler.errors import GraphError
from compiler.graph.dtypes import dtype_info
from compiler.graph.location import builder
from compiler.graph.ops.build import Meeting, Operand, emit, two_operands
from compiler.graph.ops.specs import define
from compiler.graph.rules import FLOATS, NUMBERS, binary
from compiler.graph.value import Value

__all__ = [
    "add", "clip", "div", "divide", "floor_divide", "floordiv", "maximum", "minimum", "mod", "mul", "multiply", "pow",
    "power", "remainder", "sub", "subtract", "true_divide",
]  # fmt: skip

for _short in ("add", "mul", "minimum", "maximum"):
    define(_short, binary(f"mo.{_short}", NUMBERS), 2, elementwise=True, commutative=True)
for _short in ("sub", "floordiv", "mod", "pow"):
    define(_short, binary(f"mo.{_short}", NUMBERS), 2, elementwise=True)
define("div", binary("mo.div", FLOATS), 2, elementwise=True)


# What an arithmetic op is on bool: another op, another dtype, or nothing at all.
_ON_BOOL = {"add": "or", "mul": "and", "minimum": "and", "maximum": "or", "floordiv": "i8", "mod": "i8", "pow": "i8"}


def _arithmetic(op: str, a: Operand, b: Operand) -> Value:
    meeting = Meeting(op, a, b)
    if meeting.dtype != "bool":
        return emit(op, meeting.values())
    instead = _ON_BOOL.get(op)
    if instead is None:
        raise GraphError(f"{op}: not defined on bool; use logical_xor or cast first")
    return emit(op, meeting.values("i8")) if instead == "i8" else emit(instead, meeting.values())


add = two_operands(_arithmetic, "add", "x1 + x2; of bool the logical or.", "x, 1", "add_0: f32 (M, 4)")
sub = two_operands(_arithmetic, "sub", "x1 - x2.", "x, n[0, :1]", "sub_0: f64 (M, 4)")
mul = two_operands(_arithmetic, "mul", "x1 * x2; of bool the logical and.", "x, 0.5", "mul_0: f32 (M, 4)")


@builder
def div(x1: Operand, x2: Operand) -> Value:
    """The true quotient; of integers f64.

    >>> ops.div(n, 2)
    <div_0: f64 (2, 3)>
    """
    meeting = Meeting("div", x1, x2)
    return emit("div", meeting.values(meeting.dtype if dtype_info(meeting.dtype).kind == "f" else "f64"))


floordiv = two_operands(
    _arithmetic,
    "floordiv",
    "The quotient rounded down; an integer divided by 0 is 0.",
    "n, 2",
    "floordiv_0: i32 (2, 3)",
)
mod = two_operands(
    _arithmetic,
    "mod",
    "The remainder, with the sign of the divisor; an integer modulo 0 is 0.",
    "n, 2",
    "mod_0: i32 (2, 3)",
)


@builder
def pow(x1: Operand, x2: Operand) -> Value:
    """x1 to the power of x2.

    >>> ops.pow(x, 2)
    <pow_0: f32 (M, 4)>
    """
    meeting = Meeting("pow", x1, x2)
    if dtype_info(meeting.dtype).kind != "f" and isinstance(x2, int) and x2 < 0:
        raise GraphError(f"pow: an integer to the negative power {x2}; cast to a float first")
    return _arithmetic("pow", x1, x2)


minimum = two_operands(_arithmetic, "minimum", "The smaller of each pair; NaN wins.", "x, 0", "minimum_0: f32 (M, 4)")
maximum = two_operands(_arithmetic, "maximum", "The larger of each pair; NaN wins.", "x, 0", "maximum_0: f32 (M, 4)")


@builder
def clip(x: Operand, a_min: Operand | None = None, a_max: Operand | None = None) -> Value:
    """Limited to [a_min, a_max]; None leaves a side open.

    >>> ops.clip(x, 0, 6)
    <minimum_0: f32 (M, 4)>
    """
    if a_min is None and a_max is None:
        raise GraphError("clip: give a_min, a_max or both")
    lower = x if a_min is None else _arithmetic("maximum", x, a_min)
    return lower if a_max is None else _arithmetic("minimum", lower, a_max)  # type: ignore[return-value]


subtract = sub
multiply = mul
divide = true_divide = div
floor_divide = floordiv
remainder = mod
power = pow
