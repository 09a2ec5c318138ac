"""Operators of the kernel language: decided in Python when both sides are known, emitted otherwise.

Literals are weak (they take the other side's dtype), scalars widen to vectors, and dtypes never mix silently.
"""

from __future__ import annotations

import operator
from math import gcd
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from compiler.dialects import std
from compiler.errors import KernelError
from compiler.graph import dims as dimlib
from compiler.graph.dims import Dim
from compiler.language.builder import Builder
from compiler.language.dtypes import BOOL, INDEX, LANGUAGE_DTYPES, DType, register_type
from compiler.language.values import Simd

_STATIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FLOAT = {"+": arith.AddfOp, "-": arith.SubfOp, "*": arith.MulfOp, "/": arith.DivfOp}
_SIGNED = {"+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp, "//": arith.FloorDivSIOp, "&": arith.AndIOp,
           "|": arith.OrIOp, "^": arith.XOrIOp, "<<": arith.ShLIOp, ">>": arith.ShRSIOp}  # fmt: skip
_UNSIGNED = {**_SIGNED, "//": arith.DivUIOp, "%": arith.RemUIOp, ">>": arith.ShRUIOp}
_BOOLEAN = {"&": arith.AndIOp, "|": arith.OrIOp, "^": arith.XOrIOp}
_COMPARE_FLOAT = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_COMPARE_SIGNED = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_COMPARE_UNSIGNED = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}
_PREDICATES = {number: IntegerAttr(number, i64) for number in range(16)}
_NO_OVERFLOW = arith.IntegerOverflowAttr("none")
_OVERFLOW_OPS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)
_TRAPPING = (arith.FloorDivSIOp, arith.DivUIOp, arith.RemUIOp, arith.DivSIOp, arith.RemSIOp)
COMPARISONS = frozenset(_COMPARE_FLOAT)


def is_number(value: Any) -> bool:
    """Whether it is a weak literal."""
    return isinstance(value, (int, float))


def is_static(value: Any) -> bool:
    """Whether it is known while elaborating, wholly."""
    if isinstance(value, (tuple, list)):
        return all(is_static(item) for item in value)
    return not isinstance(value, Simd)


def describe(value: Any) -> str:
    """How messages name a value's kind."""
    if isinstance(value, Simd):
        return value.type_name
    if isinstance(value, Dim):
        return f"the size {value}"
    return f"{type(value).__name__} {value!r}" if is_number(value) or isinstance(value, str) else type(value).__name__


def splat(b: Builder, value: Simd, width: int) -> Simd:
    """A scalar in every lane."""
    if value.width == width:
        return value
    if value.width != 1:
        raise KernelError(f"a value of {value.width} lanes cannot become {width} lanes")
    if value.ssa in b.literals:  # a splat of a constant is a constant: no instruction, and it folds further
        return b.constant(value.dtype, width, b.literals[value.ssa])
    kind = register_type(value.dtype, width)
    source = value.ssa.owner
    if isinstance(source, vector.ExtractOp) and len(source.operands) == 1:
        # A lane in every lane is one shuffle; taken apart and put together it is three operations.
        lane = source.static_position.get_values()[0]
        mask = DenseArrayBase.from_list(i64, [lane] * width)
        whole = source.operands[0]
        return Simd(b.pure(vector.ShuffleOp, (whole, whole), kind, {"mask": mask}, key=lane), value.dtype, width)
    return Simd(b.pure(vector.BroadcastOp, (value.ssa,), kind), value.dtype, width)


def multiple_of(b: Builder, ssa: SSAValue) -> int:
    """A number that a position is surely a multiple of; 0 for the position 0."""
    known = b.multiples.get(ssa)
    if known is None:
        owner = ssa.owner
        if ssa in b.literals:
            known = abs(b.literals[ssa]) if isinstance(b.literals[ssa], int) else 1
        elif isinstance(owner, arith.MuliOp):
            known = multiple_of(b, owner.operands[0]) * multiple_of(b, owner.operands[1])
        elif isinstance(owner, (arith.AddiOp, arith.SubiOp)):
            known = gcd(multiple_of(b, owner.operands[0]), multiple_of(b, owner.operands[1]))
        else:
            known = 1
        b.multiples[ssa] = known
    return known


def as_index(b: Builder, value: Any) -> Simd:
    """A run-time position from a number, a size or a position."""
    if isinstance(value, Simd):
        if value.dtype is not INDEX:
            raise KernelError(f"a position must be index, not {value.type_name}; convert with index(x)")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, Dim)):
        raise KernelError(f"a position must be a whole number, not {describe(value)}")
    return b.index(value) if isinstance(value, int) else dim_value(b, value)


def dim_value(b: Builder, size: int | Dim) -> Simd:
    """A symbolic size as a run-time value, computed from the sizes the kernel is given."""
    if isinstance(size, int):
        return b.index(size)
    found = b.dims.get(size)
    if found is None:
        # Sizes belong at the top of the function: computed there, they are in sight of every branch.
        scopes, b.scopes = b.scopes, b.scopes[:1]
        try:
            found = b.dims[size] = _dim_sum(b, size)
        finally:
            b.scopes = scopes
        if never_negative(size):
            b.nonnegative.add(found.ssa)
    return found


def _dim_sum(b: Builder, size: Dim) -> Simd:
    total: Any = 0
    for monomial, factor in size.terms:
        term: Any = factor
        for atom in monomial:
            term = binary(b, "*", term, _dim_atom(b, atom))
        total = binary(b, "+", total, term)
    return total


def _dim_atom(b: Builder, atom: dimlib.Atom) -> Any:
    if isinstance(atom, dimlib.Symbol):
        known = b.symbols.get(atom.name)
        if known is None:
            raise KernelError(f"the size {atom.name} is not known in this function")
        return known
    left, right = dim_value(b, atom.left), dim_value(b, atom.right)
    if atom.op in ("min", "max"):
        return extremum(b, atom.op, left, right)
    if isinstance(atom.right, Dim):  # computed whether needed or not, so it must not trap on an empty size
        right = extremum(b, "max", right, 1)
    return binary(b, "//" if atom.op == "floordiv" else "%", left, right)


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


def literal(b: Builder, value: Any, dtype: DType, width: int = 1) -> Simd:
    """A compile-time number as a run-time value of `dtype`."""
    if isinstance(value, Dim):
        return cast(b, dim_value(b, value), dtype)
    if isinstance(value, float) and not dtype.is_float:
        if not value.is_integer():
            raise KernelError(f"{value!r} does not fit {dtype.name}")
        value = int(value)
    if not is_number(value):
        raise KernelError(f"{describe(value)} cannot become {dtype.name}")
    return b.constant(dtype, width, float(value) if dtype.is_float else value)


def unify(b: Builder, left: Any, right: Any, what: str) -> tuple[Simd, Simd]:
    """Both sides as run-time values of one dtype and width."""
    if not isinstance(left, Simd) and not isinstance(right, Simd):
        raise KernelError(f"{what} needs run-time values, not {describe(left)} and {describe(right)}")
    if not isinstance(left, Simd):
        left = _weak(b, left, right, what)  # pyright: ignore[reportArgumentType]
    elif not isinstance(right, Simd):
        right = _weak(b, right, left, what)
    if left.dtype is not right.dtype:
        raise KernelError(f"{what}: {left.type_name} and {right.type_name} do not mix; cast one of them")
    if left.width != right.width:
        if left.width != 1 and right.width != 1:
            raise KernelError(f"{what}: {left.type_name} and {right.type_name} have different widths")
        width = max(left.width, right.width)
        left, right = splat(b, left, width), splat(b, right, width)
    return left, right


def _weak(b: Builder, value: Any, other: Simd, what: str) -> Simd:
    if isinstance(value, Dim):
        if other.dtype is not INDEX:
            raise KernelError(f"{what}: the size {value} and {other.type_name} do not mix; cast one of them")
        return splat(b, dim_value(b, value), other.width)
    if not is_number(value):
        raise KernelError(f"{what}: {describe(value)} and {other.type_name} do not mix")
    return literal(b, value, other.dtype, other.width)


def binary(b: Builder, sign: str, left: Any, right: Any) -> Any:
    """`left sign right`."""
    if not isinstance(left, Simd) and not isinstance(right, Simd):
        return _static_binary(b, sign, left, right)
    if sign in COMPARISONS:
        return _compare(b, sign, left, right)
    if isinstance(left, (tuple, list)) or isinstance(right, (tuple, list)):
        raise KernelError(f"{sign} does not apply to {describe(left)} and {describe(right)}")
    left, right = _known_index(b, left), _known_index(b, right)
    if not isinstance(left, Simd) and not isinstance(right, Simd):
        return as_index(b, _static_binary(b, sign, left, right))
    quick = _shortcut(sign, left, right)
    if quick is not None:
        return quick
    one, two = unify(b, left, right, sign)
    dtype, width = one.dtype, one.width
    if dtype.is_float:
        kind = _FLOAT.get(sign)
    elif dtype is BOOL:
        kind = _BOOLEAN.get(sign)
    elif dtype.kind == "u":
        kind = _UNSIGNED.get(sign)
    else:
        if sign in ("//", "%") and dtype is INDEX and one.ssa in b.nonnegative and _positive(b, two):
            kind = arith.DivUIOp if sign == "//" else arith.RemUIOp
        elif sign == "%":
            quotient = binary(b, "//", one, two)
            return binary(b, "-", one, binary(b, "*", quotient, two))
        else:
            kind = _SIGNED.get(sign)
    if kind is None:
        hint = "; use fma, exp or fmod from the library" if dtype.is_float else ""
        raise KernelError(f"{sign} is not defined for {one.type_name}{hint}")
    ssa = _emit(b, kind, one, two, right)
    if dtype is INDEX and sign in ("+", "*", "//", "%") and one.ssa in b.nonnegative and two.ssa in b.nonnegative:
        b.nonnegative.add(ssa)
    return Simd(ssa, dtype, width)


def _known_index(b: Builder, value: Any) -> Any:
    """A position that is a constant, as the number it is; anything else as it is."""
    if isinstance(value, Simd) and value.dtype is INDEX and value.width == 1:
        return b.literals.get(value.ssa, value)
    return value


def _emit(b: Builder, kind: type[Operation], one: Simd, two: Simd, right: Any) -> Any:
    # A division may be moved out of its loop only when the divisor is a number: it could trap there.
    speculate = kind not in _TRAPPING or is_number(right)
    properties = {"overflowFlags": _NO_OVERFLOW} if kind in _OVERFLOW_OPS else None
    return b.pure(kind, (one.ssa, two.ssa), one.ssa.type, properties, speculate=speculate)


def _positive(b: Builder, value: Simd) -> bool:
    return value.ssa in b.nonnegative


def _shortcut(sign: str, left: Any, right: Any) -> Any:
    """Identities that are exact for every value of the type: integers only, since floats have signed zeros and NaN."""
    if isinstance(left, Simd) and not isinstance(right, Simd) and left.dtype.is_int and type(right) is int:
        if (right == 0 and sign in "+-|^") or (right == 1 and sign in ("*", "//")):
            return left
        if right == 0 and sign == "*":
            return 0 if left.dtype is INDEX and left.width == 1 else None
        if right == 1 and sign == "%" and left.dtype is INDEX and left.width == 1:
            return 0
    if isinstance(right, Simd) and not isinstance(left, Simd) and right.dtype.is_int and type(left) is int:
        if (left == 0 and sign == "+") or (left == 1 and sign == "*"):
            return right
        if left == 0 and sign == "*" and right.dtype is INDEX and right.width == 1:
            return 0
    return None


def _static_binary(b: Builder, sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, Dim) or isinstance(right, Dim):
        if sign in COMPARISONS:
            return _compare_sizes(b, sign, left, right)
        if sign in ("+", "-", "*", "//", "%") and not isinstance(left, float) and not isinstance(right, float):
            return _STATIC[sign](left, right)
        raise KernelError(f"{sign} is not defined for sizes ({describe(left)}, {describe(right)})")
    if sign == "**" and isinstance(right, int) and abs(right) > 4096:
        raise KernelError("the exponent of a compile-time power is too large")
    if sign == "<<" and isinstance(right, int) and right > 4096:
        raise KernelError("the distance of a compile-time shift is too large")
    if sign == "*" and (isinstance(left, (str, tuple, list)) or isinstance(right, (str, tuple, list))):
        count = right if isinstance(right, int) else left
        if not isinstance(count, int) or count > 65536:
            raise KernelError("a compile-time repetition needs a count of at most 65536")
    try:
        return _STATIC[sign](left, right)
    except (TypeError, ZeroDivisionError, ValueError, OverflowError) as problem:
        raise KernelError(f"{describe(left)} {sign} {describe(right)}: {problem}") from None


def _compare_sizes(b: Builder, sign: str, left: Any, right: Any) -> Any:
    if not isinstance(left, (int, Dim)) or not isinstance(right, (int, Dim)):
        return {"==": False, "!=": True}.get(sign, False)
    difference = left - right
    if isinstance(difference, int):
        return _STATIC[sign](difference, 0)
    return _compare(b, sign, dim_value(b, left), dim_value(b, right))


def _compare(b: Builder, sign: str, left: Any, right: Any) -> Any:
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return sign == "!="
    one, two = unify(b, left, right, sign)
    kind = register_type(BOOL, one.width)
    if one.dtype.is_float:
        code = _COMPARE_FLOAT[sign]
        ssa = b.pure(arith.CmpfOp, (one.ssa, two.ssa), kind, {"predicate": _PREDICATES[code]}, key=code)
    else:
        table = _COMPARE_SIGNED if one.dtype.kind in "ix" else _COMPARE_UNSIGNED
        code = table[sign]
        ssa = b.pure(arith.CmpiOp, (one.ssa, two.ssa), kind, {"predicate": _PREDICATES[code]}, key=code)
    return Simd(ssa, BOOL, one.width)


def unary(b: Builder, sign: str, value: Any) -> Any:
    """`-x`, `+x`, `~x` and `not x`."""
    if not isinstance(value, Simd):
        if sign == "not":
            return not truth(value)
        if isinstance(value, (int, float, Dim)) and sign in "+-":
            return -value if sign == "-" else value
        if isinstance(value, int):
            return ~value
        raise KernelError(f"{sign} does not apply to {describe(value)}")
    if sign == "+":
        return value
    if sign == "-":
        if value.dtype.is_float:
            return Simd(b.pure(arith.NegfOp, (value.ssa,), value.ssa.type), value.dtype, value.width)
        if value.dtype is BOOL:
            raise KernelError("a bool has no negative; use `not`")
        return binary(b, "-", 0, value)
    if sign == "not" and value.dtype is not BOOL:
        raise KernelError(f"`not` needs a bool, not {value.type_name}; compare with 0")
    if value.dtype.is_float:
        raise KernelError(f"~ is not defined for {value.type_name}")
    return binary(b, "^", value, True if value.dtype is BOOL else -1)


def truth(value: Any) -> bool:
    """The truth of a compile-time value, as Python sees it."""
    if isinstance(value, Simd):
        raise KernelError("a run-time value stands where a compile-time one is needed")
    if isinstance(value, Dim):
        raise KernelError(f"whether the size {value} is zero is not known at compile time")
    return bool(value)


_EXTREMA = {
    ("min", "f"): arith.MinimumfOp, ("max", "f"): arith.MaximumfOp, ("min", "i"): arith.MinSIOp,
    ("max", "i"): arith.MaxSIOp, ("min", "x"): arith.MinSIOp, ("max", "x"): arith.MaxSIOp,
    ("min", "u"): arith.MinUIOp, ("max", "u"): arith.MaxUIOp, ("min", "b"): arith.AndIOp, ("max", "b"): arith.OrIOp,
    ("fmin", "f"): arith.MinnumfOp, ("fmax", "f"): arith.MaxnumfOp,
}  # fmt: skip


def extremum(b: Builder, name: str, left: Any, right: Any) -> Any:
    """min, max (NaN wins) and fmin, fmax (NaN loses), lane by lane."""
    if not isinstance(left, Simd) and not isinstance(right, Simd):
        if isinstance(left, Dim) or isinstance(right, Dim):
            return (dimlib.minimum if name == "min" else dimlib.maximum)(left, right)
        return (min if name.endswith("min") else max)(left, right)
    known_left, known_right = _known_index(b, left), _known_index(b, right)
    if type(known_left) is int and type(known_right) is int:
        return b.index((min if name == "min" else max)(known_left, known_right))
    one, two = unify(b, left, right, name)
    kind = _EXTREMA.get((name, one.dtype.kind))
    if kind is None:
        raise KernelError(f"{name} is not defined for {one.type_name}")
    ssa = b.pure(kind, (one.ssa, two.ssa), one.ssa.type)
    both = one.ssa in b.nonnegative and two.ssa in b.nonnegative
    if both or (name == "max" and (one.ssa in b.nonnegative or two.ssa in b.nonnegative)):
        b.nonnegative.add(ssa)
    return Simd(ssa, one.dtype, one.width)


def select(b: Builder, condition: Any, left: Any, right: Any) -> Any:
    """`left` where the condition holds, `right` elsewhere; both are evaluated."""
    if not isinstance(condition, Simd):
        return left if truth(condition) else right
    if condition.dtype is not BOOL:
        raise KernelError(f"the condition of select must be bool, not {condition.type_name}")
    if left is right:
        return left
    if not isinstance(left, Simd) and not isinstance(right, Simd):
        if isinstance(left, (int, Dim)) and isinstance(right, (int, Dim)) and not isinstance(left, bool):
            left, right = as_index(b, left), as_index(b, right)
        elif isinstance(left, bool) and isinstance(right, bool):
            left, right = b.constant(BOOL, 1, left), b.constant(BOOL, 1, right)
        else:
            raise KernelError("select between two literals: give one of them a dtype, e.g. f32(0)")
    one, two = unify(b, left, right, "select")
    if condition.width > 1 and one.width == 1:
        one, two = splat(b, one, condition.width), splat(b, two, condition.width)
    if condition.width not in (1, one.width):
        raise KernelError(f"select: the condition has {condition.width} lanes, the values {one.width}")
    ssa = b.pure(std.SelectOp, (condition.ssa, one.ssa, two.ssa), one.ssa.type)
    if one.ssa in b.nonnegative and two.ssa in b.nonnegative:
        b.nonnegative.add(ssa)
    return Simd(ssa, one.dtype, one.width)


def cast(b: Builder, value: Any, dtype: DType) -> Simd:
    """The value converted: toward zero and saturating from float to integer, wrapping between integers."""
    if not isinstance(value, Simd):
        return literal(b, value, dtype)
    source, width = value.dtype, value.width
    if source is dtype:
        return value
    if dtype is BOOL:
        return _compare(b, "!=", value, 0.0 if source.is_float else 0)
    if source is BOOL and dtype is INDEX:
        return cast(b, cast(b, value, LANGUAGE_DTYPES["i64"]), INDEX)
    if dtype is INDEX and (source.is_float or source.kind == "u"):
        return cast(b, cast(b, value, LANGUAGE_DTYPES["i64"]), INDEX)
    if source is INDEX and dtype.is_float:
        return cast(b, cast(b, value, LANGUAGE_DTYPES["i64"]), dtype)
    if source.is_float and dtype.is_float and source.bits == 16 and dtype.bits == 16:
        return cast(b, cast(b, value, LANGUAGE_DTYPES["f32"]), dtype)
    kind = _cast_kind(source, dtype)
    if kind is None:  # i8 and u8 share their bits
        return Simd(value.ssa, dtype, width)
    result = Simd(b.pure(kind, (value.ssa,), register_type(dtype, width)), dtype, width)
    if value.ssa in b.nonnegative and dtype.kind in "ix":
        b.nonnegative.add(result.ssa)
    return result


def _cast_kind(source: DType, dtype: DType) -> type[Operation] | None:
    if INDEX in (source, dtype):
        return std.IndexCastOp
    if source.is_float:
        if dtype.is_float:
            return arith.ExtFOp if dtype.bits > source.bits else arith.TruncFOp
        return std.FPToUIOp if dtype.kind == "u" else std.FPToSIOp
    if dtype.is_float:
        return std.SIToFPOp if source.kind == "i" else std.UIToFPOp
    if dtype.bits == source.bits:
        return None
    if dtype.bits < source.bits:
        return std.TruncIOp
    return std.ExtSIOp if source.kind == "i" else std.ExtUIOp


def bitcast(b: Builder, value: Simd, dtype: DType) -> Simd:
    """The same bits read as another dtype of the same size."""
    if value.dtype.bits != dtype.bits or BOOL in (value.dtype, dtype):
        raise KernelError(f"bits: {value.type_name} and {dtype.name} differ in size")
    if register_type(value.dtype, value.width) == register_type(dtype, value.width):
        return Simd(value.ssa, dtype, value.width)
    if INDEX in (value.dtype, dtype):
        raise KernelError("bits: an index has no fixed bits; cast to i64 first")
    return Simd(b.pure(arith.BitcastOp, (value.ssa,), register_type(dtype, value.width)), dtype, value.width)
