"""Builtin functions on run-time values: arithmetic that has no operator, and building and taking apart vectors."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects import math as mlir_math
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import Operation

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language import limits
from compiler.language.builtins.registry import builtin
from compiler.language.context import Context
from compiler.language.values import arithmetic as math
from compiler.language.values import static
from compiler.language.values.arguments import runtime_value, to_dtype, to_width
from compiler.language.values.dtypes import BF16, BOOL, F32, element_type, one_object
from compiler.language.values.lanes import pack, shuffle
from compiler.language.values.records import Simd, describe


def _one_operand(name: str, operation: type[Operation], kinds: str, what: str) -> None:
    @builtin(name)
    def body(run: Context, x: Any) -> Simd:
        value = runtime_value(name, x)
        if value.dtype.kind not in kinds:
            raise KernelError(f"{name} is for {what}, not {value.type_name}")
        if value.dtype is BF16:
            return math.cast(run.b, body(run, math.cast(run.b, value, F32)), BF16)
        return Simd(run.b.pure(operation, (value.ssa,), value.ssa.type), value.dtype, value.width)


for _name, _operation in (
    ("sqrt", mlir_math.SqrtOp), ("floor", mlir_math.FloorOp), ("ceil", mlir_math.CeilOp),
    ("trunc", mlir_math.TruncOp), ("roundeven", mlir_math.RoundEvenOp),
):  # fmt: skip
    _one_operand(_name, _operation, "f", "floats")
for _name, _operation in (
    ("ctlz", mlir_math.CountLeadingZerosOp), ("cttz", mlir_math.CountTrailingZerosOp), ("popcount", mlir_math.CtPopOp),
):  # fmt: skip
    _one_operand(_name, _operation, "iu", "integers of fixed size")


def _two_operands(name: str, operation: type[Operation], kinds: str, what: str) -> None:
    @builtin(name)
    def body(run: Context, a: Any, b: Any) -> Simd:
        one, two = math.unify(run.b, a, b, name)
        if one.dtype.kind not in kinds:
            raise KernelError(f"{name} is for {what}, not {one.type_name}")
        return Simd(run.b.pure(operation, (one.ssa, two.ssa), one.ssa.type), one.dtype, one.width)


_two_operands("copysign", mlir_math.CopySignOp, "f", "floats")
_two_operands("lshr", arith.ShRUIOp, "iux", "integers")


def _fold(name: str) -> None:
    @builtin(name)
    def body(run: Context, *values: Any) -> Any:
        items = list(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else list(values)
        if not items:
            raise KernelError(f"{name} of nothing")
        if len(items) == 1 and not isinstance(items[0], (int, float, Dim, Simd)):
            raise KernelError(f"{name} is not defined for {describe(items[0])}")
        result = items[0]
        for item in items[1:]:
            result = math.extremum(run.b, name, result, item)
        return result


for _name in ("min", "max", "fmin", "fmax"):
    _fold(_name)


@builtin("abs")
def _abs(run: Context, x: Any) -> Any:
    if not isinstance(x, Simd):
        if isinstance(x, (int, float)):
            return abs(x)
        if isinstance(x, Dim) and static.never_negative(x):
            return x
        raise KernelError(f"abs is not defined for {describe(x)}")
    if x.dtype.is_float:
        return Simd(run.b.pure(mlir_math.AbsFOp, (x.ssa,), x.ssa.type), x.dtype, x.width)
    if x.dtype.kind in "ub":
        return x
    negative = math.binary(run.b, "<", x, 0)
    return math.select(run.b, negative, math.unary(run.b, "-", x), x)


@builtin("fma", "muladd")  # every target we have fuses it
def _fma(run: Context, a: Any, b: Any, c: Any) -> Any:
    values = (a, b, c)
    known = [v for v in values if isinstance(v, Simd)]
    if not known:
        raise KernelError("fma needs a run-time value")
    width = max(v.width for v in known)
    ready: list[Simd] = []
    for value in values:
        part = value if isinstance(value, Simd) else math.unify(run.b, value, known[0], "fma")[0]
        if part.dtype is not known[0].dtype:
            raise KernelError(f"fma: {part.type_name} and {known[0].type_name} do not mix; cast one of them")
        ready.append(math.splat(run.b, part, width))
    one, two, three = ready
    if one.dtype is BF16:
        return math.cast(run.b, _fma(run, *(math.cast(run.b, part, F32) for part in ready)), BF16)
    if not one.dtype.is_float:
        return math.binary(run.b, "+", math.binary(run.b, "*", one, two), three)
    return Simd(run.b.pure(mlir_math.FmaOp, (one.ssa, two.ssa, three.ssa), one.ssa.type), one.dtype, width)


@builtin("select")
def _select(run: Context, condition: Any, a: Any, b: Any) -> Any:
    return math.select(run.b, condition, a, b)


@builtin("umulh")
def _umulh(run: Context, a: Any, b: Any) -> Simd:
    one, two = math.unify(run.b, a, b, "umulh")
    if one.dtype.kind not in "iu":
        raise KernelError(f"umulh is for integers of fixed size, not {one.type_name}")
    return _high_half(run, one, two)


def _high_half(run: Context, one: Simd, two: Simd) -> Simd:
    """The upper half of an unsigned product, from four half-width products: no target lacks those."""
    b, half = run.b, one.dtype.bits // 2

    def low(value: Simd) -> Simd:
        return math.binary(b, "&", value, (1 << half) - 1)

    def high(value: Simd) -> Simd:
        distance = math.literal(b, half, value.dtype, value.width)
        return Simd(b.pure(arith.ShRUIOp, (value.ssa, distance.ssa), value.ssa.type), value.dtype, value.width)

    a0, a1, b0, b1 = low(one), high(one), low(two), high(two)
    middle = math.binary(b, "+", math.binary(b, "*", a1, b0), high(math.binary(b, "*", a0, b0)))
    other = math.binary(b, "+", math.binary(b, "*", a0, b1), low(middle))
    upper = math.binary(b, "+", math.binary(b, "*", a1, b1), high(middle))
    return math.binary(b, "+", upper, high(other))


# Vectors


@builtin("splat")
def _splat(run: Context, x: Any, width: Any) -> Simd:
    return math.splat(run.b, runtime_value("splat", x), to_width(width))


@builtin("zeros")
def _zeros(run: Context, dtype: Any, width: Any = 1) -> Simd:
    return math.literal(run.b, 0, to_dtype(dtype), to_width(width))


@builtin("full")
def _full(run: Context, dtype: Any, value: Any, width: Any = 1) -> Simd:
    return math.literal(run.b, value, to_dtype(dtype), to_width(width))


@builtin("iota")
def _iota(run: Context, dtype: Any, width: Any) -> Simd:
    kind, count = to_dtype(dtype), to_width(width)
    if kind is BOOL:
        raise KernelError("iota is for numbers, not bool")
    lanes = tuple(float(k) if kind.is_float else k for k in range(count))
    return run.b.constant(kind, count, lanes if count > 1 else lanes[0])


@builtin("vector")
def _vector(run: Context, *lanes: Any) -> Simd:
    items = lanes[0] if len(lanes) == 1 and isinstance(lanes[0], (tuple, list)) else lanes
    like = next((v for v in items if isinstance(v, Simd)), None)
    if like is None:
        raise KernelError("vector needs at least one run-time value")
    if like.width != 1 or len(items) > limits.MAX_WIDTH:
        raise KernelError(f"vector takes up to {limits.MAX_WIDTH} scalars; concat joins vectors")
    scalars = [v if isinstance(v, Simd) else math.literal(run.b, v, like.dtype) for v in items]
    return pack(run.b, scalars)


@builtin("concat")
def _concat(run: Context, a: Any, b: Any) -> Simd:
    one, two = runtime_value("concat", a), runtime_value("concat", b)
    return shuffle(run.b, one, two, tuple(range(one.width + two.width)))


@builtin("shuffle")
def _shuffle(run: Context, a: Any, b: Any, lanes: Any) -> Simd:
    if not isinstance(lanes, (tuple, list)):
        raise KernelError(f"shuffle takes a tuple of lanes, not {describe(lanes)}")
    return shuffle(run.b, runtime_value("shuffle", a), runtime_value("shuffle", b), tuple(lanes))


@builtin("word")
def _word(run: Context, x: Any, dtype: Any) -> Simd:
    """All lanes of a value as the bits of one number of `dtype`."""
    value, kind = runtime_value("word", x), to_dtype(dtype)
    if value.dtype.bits * value.width != kind.bits or value.width == 1 or kind.kind == "x":
        raise KernelError(f"word: {value.type_name} does not fill one {kind.name}")
    whole = one_object(VectorType(element_type(kind), [1]))
    ssa = run.b.pure(vector.BitcastOp, (value.ssa,), whole)
    position = {"static_position": DenseArrayBase.from_list(i64, [0])}
    return Simd(run.b.pure(vector.ExtractOp, (ssa,), element_type(kind), position, 0), kind, 1)
