"""Elementwise ops of one operand. A float function of integers gives the float dtype NumPy gives."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import GraphError
from compiler.graph.dtypes import dtype_info, float_result
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, emit, one_operand, scalar_value, tensors, to_dtype, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.opspec import free
from compiler.graph.rules import BITS, BOOL, FLOATS, NUMBERS, Attrs, unary
from compiler.graph.types import TensorType
from compiler.graph.value import Value

__all__ = [
    "abs", "absolute", "astype", "bitcast", "bitwise_not", "cast", "ceil", "cos", "erf", "exp", "exp2", "expm1",
    "floor", "invert", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "logical_not", "neg", "negative",
    "reciprocal", "rint", "round", "rsqrt", "sign", "sin", "sqrt", "square", "tanh", "trunc",
]  # fmt: skip


def _cast_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Any dtype to any dtype."""
    (x,) = types
    dtype_info(attrs["dtype"])
    return (TensorType.of(attrs["dtype"], x.shape),)


def _bitcast_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Numbers to numbers of as many bits."""
    (x,) = types
    here, there = dtype_info(x.dtype), dtype_info(attrs["dtype"])
    if here.bits != there.bits or "b" in (here.kind, there.kind):
        raise GraphError(f"mo.bitcast: the bits of {x.dtype} are no {attrs['dtype']}")
    return (TensorType.of(attrs["dtype"], x.shape),)


_OF_FLOATS = ("exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "exp2", "log2", "expm1",
              "reciprocal", "floor", "ceil", "round", "trunc")  # fmt: skip
for _short in _OF_FLOATS:
    define(_short, unary(f"mo.{_short}", FLOATS), elementwise=True)
for _short in ("abs", "neg", "square", "sign"):
    define(_short, unary(f"mo.{_short}", NUMBERS), elementwise=True)
for _short in ("isnan", "isinf"):
    define(_short, unary(f"mo.{_short}", FLOATS, "bool"), elementwise=True)
define("logical_not", unary("mo.logical_not", BOOL), elementwise=True)
define("bitwise_not", unary("mo.bitwise_not", BITS), elementwise=True)
define("cast", _cast_rule, attrs={"dtype": "dtype"}, elementwise=True, flops=free)
define("bitcast", _bitcast_rule, attrs={"dtype": "dtype"}, elementwise=True, flops=free)


def _kind(value: Value) -> str:
    return dtype_info(value.dtype).kind


def as_float(op: str, x: Operand, **attrs: object) -> Value:
    """Add an op of one operand that is defined on floats: any other number meets it in the float dtype NumPy gives."""
    (value,) = tensors(op, x)
    return emit(op, (to_dtype(value, float_result(value.dtype)),), attrs)


def _whole(op: str, x: Operand) -> Value:
    """Add an op that rounds floats; integers are whole already."""
    (value,) = tensors(op, x)
    return emit(op, (value,)) if _kind(value) == "f" else value


def _float_test(op: str, x: Operand) -> Value:
    (value,) = tensors(op, x)
    if _kind(value) == "f":
        return emit(op, (value,))
    return to_shape(scalar_value(op, value.graph, False, "bool"), value.shape)


@builder
def abs(x: Operand) -> Value:
    """The absolute value.

    >>> ops.abs(x)
    <abs_0: f32 (M, 4)>
    """
    (value,) = tensors("abs", x)
    return value if _kind(value) in "bu" else emit("abs", (value,))


@builder
def neg(x: Operand) -> Value:
    """The negative.

    >>> ops.neg(x)
    <neg_0: f32 (M, 4)>
    """
    (value,) = tensors("neg", x)
    if value.dtype == "bool":
        raise GraphError("neg: a bool has no negative; use ops.logical_not")
    return emit("neg", (value,))


@builder
def sign(x: Operand) -> Value:
    """-1, 0 or 1.

    >>> ops.sign(n)
    <sign_0: i32 (2, 3)>
    """
    (value,) = tensors("sign", x)
    if value.dtype == "bool":
        raise GraphError("sign: a bool has no sign")
    return emit("sign", (value,))


@builder
def square(x: Operand) -> Value:
    """x * x.

    >>> ops.square(n)
    <square_0: i32 (2, 3)>
    """
    (value,) = tensors("square", x)
    return emit("square", (to_dtype(value, "i8") if value.dtype == "bool" else value,))


@builder
def reciprocal(x: Operand) -> Value:
    """1 / x; of integers the whole part, as NumPy has it.

    >>> ops.reciprocal(x)
    <reciprocal_0: f32 (M, 4)>
    """
    (value,) = tensors("reciprocal", x)
    if _kind(value) == "f":
        return emit("reciprocal", (value,))
    value = to_dtype(value, "i8") if value.dtype == "bool" else value
    zero, one = (to_shape(scalar_value("reciprocal", value.graph, n, value.dtype), value.shape) for n in (0, 1))
    return emit("where", (emit("equal", (abs(value), one)), value, zero))


exp = one_operand(as_float, "exp", "e to the power of x.", "n", "exp_0: f64 (2, 3)")
exp2 = one_operand(as_float, "exp2", "2 to the power of x.", "x", "exp2_0: f32 (M, 4)")
expm1 = one_operand(as_float, "expm1", "exp(x) - 1, exact near 0.", "x", "expm1_0: f32 (M, 4)")
log = one_operand(as_float, "log", "The natural logarithm.", "x", "log_0: f32 (M, 4)")
log2 = one_operand(as_float, "log2", "The logarithm to base 2.", "x", "log2_0: f32 (M, 4)")
log1p = one_operand(as_float, "log1p", "log(1 + x), exact near 0.", "x", "log1p_0: f32 (M, 4)")
sqrt = one_operand(as_float, "sqrt", "The square root.", "x", "sqrt_0: f32 (M, 4)")
rsqrt = one_operand(as_float, "rsqrt", "1 / sqrt(x).", "x", "rsqrt_0: f32 (M, 4)")
sin = one_operand(as_float, "sin", "The sine.", "x", "sin_0: f32 (M, 4)")
cos = one_operand(as_float, "cos", "The cosine.", "x", "cos_0: f32 (M, 4)")
tanh = one_operand(as_float, "tanh", "The hyperbolic tangent.", "x", "tanh_0: f32 (M, 4)")
erf = one_operand(as_float, "erf", "The error function.", "x", "erf_0: f32 (M, 4)")
floor = one_operand(
    _whole, "floor", "The largest whole number not above x; integers stay as they are.", "x", "floor_0: f32 (M, 4)"
)
ceil = one_operand(
    _whole, "ceil", "The smallest whole number not below x; integers stay as they are.", "x", "ceil_0: f32 (M, 4)"
)
trunc = one_operand(_whole, "trunc", "The whole part; integers stay as they are.", "x", "trunc_0: f32 (M, 4)")


@builder
def round(x: Operand, decimals: int = 0) -> Value:
    """The nearest number with that many decimals, halves to even.

    >>> ops.round(x)
    <round_0: f32 (M, 4)>
    """
    (value,) = tensors("round", x)
    if not isinstance(decimals, int):
        raise GraphError(f"round: decimals is a whole number, not {decimals!r}")
    if decimals == 0 or _kind(value) != "f":
        if decimals < 0:
            raise GraphError("round: integers are rounded to whole numbers only")
        return _whole("round", value)
    scale = to_shape(
        scalar_value("round", value.graph, 10.0 ** (decimals if decimals > 0 else -decimals), value.dtype), value.shape
    )
    up, down = ("mul", "div") if decimals > 0 else ("div", "mul")
    return emit(down, (emit("round", (emit(up, (value, scale)),)), scale))


isnan = one_operand(_float_test, "isnan", "Whether each element is not a number.", "x", "isnan_0: bool (M, 4)")
isinf = one_operand(_float_test, "isinf", "Whether each element is infinite.", "x", "isinf_0: bool (M, 4)")


@builder
def isfinite(x: Operand) -> Value:
    """Whether each element is a finite number.

    >>> ops.isfinite(x)
    <logical_not_0: bool (M, 4)>
    """
    return emit("logical_not", (emit("or", (_float_test("isnan", x), _float_test("isinf", x))),))


@builder
def logical_not(x: Operand) -> Value:
    """Whether each element is zero.

    >>> ops.logical_not(x)
    <logical_not_0: bool (M, 4)>
    """
    (value,) = tensors("logical_not", x)
    return emit("logical_not", (to_dtype(value, "bool"),))


@builder
def bitwise_not(x: Operand) -> Value:
    """Every bit inverted; of bool the logical not.

    >>> ops.bitwise_not(n)
    <bitwise_not_0: i32 (2, 3)>
    """
    (value,) = tensors("bitwise_not", x)
    if value.dtype == "bool":
        return emit("logical_not", (value,))
    return emit("bitwise_not", (value,))


@builder
def cast(x: Operand, dtype: str) -> Value:
    """Converted to another dtype; to the same dtype nothing is added.

    >>> ops.cast(x, "f16")
    <cast_0: f16 (M, 4)>
    """
    dtype_info(dtype)
    (value,) = tensors("cast", x)
    return to_dtype(value, dtype)


@builder
def bitcast(x: Operand, dtype: str) -> Value:
    """The same bits read as another dtype of as many.

    >>> ops.bitcast(x, "i32")
    <bitcast_0: i32 (M, 4)>
    """
    (value,) = tensors("bitcast", x)
    return value if value.dtype == dtype else emit("bitcast", (value,), {"dtype": dtype})


negative = neg
absolute = abs
invert = bitwise_not
rint = round
astype = cast
