"""Operators of the kernel language: decided in Python when both sides are known, emitted otherwise.

Literals are weak (they take the other side's dtype), scalars widen to vectors, and dtypes never mix silently.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute

from compiler.dialects import std
from compiler.errors import KernelError
from compiler.graph import dims as dimlib
from compiler.graph.dims import Dim
from compiler.language.builder import Builder
from compiler.language.values import opcodes, static
from compiler.language.values.dtypes import BF16, BOOL, F32, INDEX, LANGUAGE_DTYPES, DType, register_type
from compiler.language.values.records import Simd, describe
from compiler.language.values.static import COMPARISONS, is_number, truth

_I64 = LANGUAGE_DTYPES["i64"]
_INDEX_BOUND = 1 << 63


def splat(b: Builder, value: Simd, width: int) -> Simd:
    """A scalar in every lane."""
    if value.width == width:
        return value
    if value.width != 1:
        raise KernelError(f"a value of {value.width} lanes cannot become {width} lanes")
    if id(value.ssa) in b.literals:  # a splat of a constant is a constant: no instruction, and it folds further
        return b.constant(value.dtype, width, b.literals[id(value.ssa)])
    kind = register_type(value.dtype, width)
    source = b.lanes.get(id(value.ssa))
    if source is not None:
        # A lane in every lane is one shuffle; taken apart and put together it is three operations.
        whole, lane, _ = source
        order = (lane,) * width
        return Simd(b.pure(vector.ShuffleOp, (whole, whole), kind, shuffle_mask(order), order), value.dtype, width)
    return Simd(b.pure(vector.BroadcastOp, (value.ssa,), kind), value.dtype, width)


@lru_cache(maxsize=1024)
def shuffle_mask(order: tuple[int, ...]) -> dict[str, Attribute]:
    """The property of a shuffle that says which lanes it picks."""
    return {"mask": DenseArrayBase.from_list(i64, list(order))}


def as_index(b: Builder, value: Any) -> Simd:
    """A run-time position from a number, a size or a position."""
    if isinstance(value, Simd):
        if value.dtype is not INDEX or value.width != 1:
            raise KernelError(f"a position must be one index, not {value.type_name}; convert with index(x)")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, Dim)):
        raise KernelError(f"a position must be a whole number, not {describe(value)}")
    return literal(b, value, INDEX)


def dim_value(b: Builder, size: int | Dim) -> Simd:
    """A symbolic size as a run-time value, computed from the sizes the kernel is given."""
    if isinstance(size, int):
        return literal(b, size, INDEX)
    found = b.dims.get(size)
    if found is not None:
        return found
    total: Any = 0
    for monomial, factor in size.terms:
        term: Any = factor
        for atom in monomial:
            term = binary(b, "*", term, _atom_value(b, atom))
        total = binary(b, "+", total, term)
    if static.never_negative(size):
        b.nonnegative[id(total.ssa)] = total.ssa
    if b.depths[id(total.ssa)] == 0:  # inside the arm of an if it is seen in that arm alone
        b.dims[size] = total
    return total


def _atom_value(b: Builder, atom: dimlib.Atom) -> Any:
    if isinstance(atom, dimlib.Symbol):
        known = b.symbols.get(atom.name)
        if known is None:
            raise KernelError(f"the size {atom.name} is not known in this function")
        return known
    if atom.op in ("min", "max"):
        return extremum(b, atom.op, dim_value(b, atom.left), dim_value(b, atom.right))
    return binary(b, "//" if atom.op == "floordiv" else "%", dim_value(b, atom.left), dim_value(b, atom.right))


def literal(b: Builder, value: Any, dtype: DType, width: int = 1) -> Simd:
    """A compile-time number as a run-time value of `dtype`."""
    if isinstance(value, Dim):
        return splat(b, cast(b, dim_value(b, value), dtype), width)
    if not is_number(value):
        raise KernelError(f"{describe(value)} cannot become {dtype.name}")
    if dtype.is_float:
        try:
            value = float(value)
        except OverflowError:
            raise KernelError(f"{describe(value)} does not fit {dtype.name}") from None
    elif isinstance(value, float):
        if not value.is_integer():
            raise KernelError(f"{value!r} does not fit {dtype.name}")
        value = int(value)
    if isinstance(value, int) and value.bit_length() > 64:
        raise KernelError(f"{describe(value)} does not fit {dtype.name}")
    return b.constant(dtype, width, value)


def unify(b: Builder, left: Any, right: Any, what: str) -> tuple[Simd, Simd]:
    """Both sides as run-time values of one dtype and width."""
    if not isinstance(left, Simd):
        if not isinstance(right, Simd):
            raise KernelError(f"{what} needs run-time values, not {describe(left)} and {describe(right)}")
        left = _weak(b, left, right, what)
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
    if type(value) is int and other.dtype is INDEX and -_INDEX_BOUND <= value < _INDEX_BOUND:
        return b.constant(INDEX, other.width, value)
    if isinstance(value, Dim):
        if other.dtype is not INDEX:
            raise KernelError(f"{what}: the size {value} and {other.type_name} do not mix; cast one of them")
    elif not is_number(value):
        raise KernelError(f"{what}: {describe(value)} and {other.type_name} do not mix")
    return literal(b, value, other.dtype, other.width)


def binary(b: Builder, sign: str, left: Any, right: Any) -> Any:
    """`left sign right`."""
    if type(left) is not Simd and type(right) is not Simd:
        if type(left) is int and type(right) is int:  # most often
            return static.binary(sign, left, right)
        return _known(b, sign, left, right)
    if sign in COMPARISONS:
        return _compare(b, sign, left, right)
    if type(left) is not Simd or type(right) is not Simd or left.dtype is right.dtype:
        left, right = _known_index(b, left), _known_index(b, right)
    if type(left) is not Simd or type(right) is not Simd:
        if type(left) is not Simd and type(right) is not Simd:
            return as_index(b, 0 if right == 0 and sign in ("//", "%") else _known(b, sign, left, right))
        quick = _shortcut(sign, left, right)
        if quick is not None:
            return quick
        one, two = unify(b, left, right, sign)
    elif left.dtype is right.dtype and left.width == right.width:
        one, two = left, right
    else:
        one, two = unify(b, left, right, sign)
    dtype = one.dtype
    kind = opcodes.BINARY[dtype.kind].get(sign)
    if dtype is BF16 and kind is not None:
        # Rounded once from f32 it is exact; LLVM rounds vectors of bf16 wrongly on some targets.
        return cast(b, binary(b, sign, cast(b, one, F32), cast(b, two, F32)), BF16)
    if dtype is INDEX or sign == "%":
        nonnegative = dtype is INDEX and id(one.ssa) in b.nonnegative and id(two.ssa) in b.nonnegative
        if nonnegative and sign in ("//", "%"):
            kind = opcodes.UNSIGNED[sign]
        elif kind is None and sign == "%" and dtype.kind in "ix":
            return binary(b, "-", one, binary(b, "*", binary(b, "//", one, two), two))
    else:
        nonnegative = False
    if kind is None:
        hint = "; use fma, exp or fmod from the library" if dtype.is_float else ""
        raise KernelError(f"{sign} is not defined for {one.type_name}{hint}")
    # A division may be moved out of its loop only when the divisor is a number: it could trap there.
    ssa = b.pure(kind, (one.ssa, two.ssa), one.ssa.type, speculate=kind not in opcodes.TRAPPING or _nonzero(b, two))
    if nonnegative and sign in ("+", "*", "//", "%"):
        b.nonnegative[id(ssa)] = ssa
    return Simd(ssa, dtype, one.width)


def divide_sizes(b: Builder, left: Simd, right: Any) -> Simd:
    """`left // right` of sizes, which are never below zero: the division need not look at signs."""
    known, by = _known_index(b, left), _known_index(b, right)
    if type(known) is int and type(by) is int and by > 0:
        return as_index(b, known // by)
    one, two = unify(b, left, right, "//")
    ssa = b.pure(arith.DivUIOp, (one.ssa, two.ssa), one.ssa.type, speculate=_nonzero(b, two))
    b.nonnegative[id(ssa)] = ssa
    return Simd(ssa, INDEX, one.width)


def _known_index(b: Builder, value: Any) -> Any:
    """A position that is a constant, as the number it is; anything else as it is."""
    if type(value) is Simd and value.dtype is INDEX and value.width == 1:
        return b.literals.get(id(value.ssa), value)
    return value


def _nonzero(b: Builder, divisor: Simd) -> bool:
    value = b.literals.get(id(divisor.ssa), 0)
    return 0 not in value if isinstance(value, tuple) else value != 0


def _shortcut(sign: str, left: Any, right: Any) -> Any:
    """Identities that are exact for every value of the type: integers only, since floats have signed zeros and NaN."""
    if type(right) is int and left.dtype.is_int:
        if right == 0:
            if sign in ("+", "-", "|", "^", "<<", ">>"):
                return left
            if sign in ("*", "//", "%") and left.dtype is INDEX and left.width == 1:
                return 0  # a division by a size of 0 stands in a loop over nothing
            if sign == "//" or sign == "%":
                raise KernelError(f"{left.type_name} {sign} 0: division by zero")
        elif right == 1:
            if sign == "*" or sign == "//":
                return left
            if sign == "%" and left.dtype is INDEX and left.width == 1:
                return 0
        if (sign == "<<" or sign == ">>") and not 0 <= right < left.dtype.bits:
            raise KernelError(f"{left.type_name} {sign} {right}: the distance must be from 0 to {left.dtype.bits - 1}")
    elif type(left) is int and type(right) is Simd and right.dtype.is_int:
        if (left == 0 and sign == "+") or (left == 1 and sign == "*"):
            return right
        if left == 0 and sign == "*" and right.dtype is INDEX and right.width == 1:
            return 0
    return None


def _known(b: Builder, sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, Dim) or isinstance(right, Dim):
        if sign not in COMPARISONS:
            return static.sizes(sign, left, right)
        if isinstance(left, (int, Dim)) and isinstance(right, (int, Dim)):
            difference = left - right
            if isinstance(difference, int):
                return static.binary(sign, difference, 0)
            return _compare(b, sign, dim_value(b, left), dim_value(b, right))
    elif (sign == "==" or sign == "!=") and isinstance(left, (tuple, list)) and type(left) is type(right):
        return _compare_items(b, sign, left, right)
    return static.binary(sign, left, right)


def _compare_items(b: Builder, sign: str, left: Any, right: Any) -> Any:
    """Whether two sequences are equal, item by item: run-time where one of them is."""
    same: Any = len(left) == len(right)
    for one, two in zip(left, right, strict=False) if same else ():
        equal = binary(b, "==", one, two)
        if equal is False:
            same = False
            break
        same = equal if same is True else same if equal is True else binary(b, "&", same, equal)
    return same if sign == "==" else unary(b, "not", same)


def _compare(b: Builder, sign: str, left: Any, right: Any) -> Any:
    if (sign == "==" or sign == "!=") and (_incomparable(left) or _incomparable(right)):
        return sign == "!="
    one, two = unify(b, left, right, sign)
    kind = register_type(BOOL, one.width)
    operation, code = opcodes.comparison(sign, one.dtype, one.width)
    return Simd(b.pure(operation, (one.ssa, two.ssa), kind, opcodes.PREDICATES[code], code), BOOL, one.width)


def _incomparable(value: Any) -> bool:
    return value is None or isinstance(value, (str, DType))


def unary(b: Builder, sign: str, value: Any) -> Any:
    """`-x`, `+x`, `~x` and `not x`."""
    if not isinstance(value, Simd):
        return static.unary(sign, value)
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


def extremum(b: Builder, name: str, left: Any, right: Any) -> Any:
    """min, max (NaN wins) and fmin, fmax (NaN loses), lane by lane."""
    if not isinstance(left, Simd) and not isinstance(right, Simd):
        return static.extremum(name, left, right)
    known_left, known_right = _known_index(b, left), _known_index(b, right)
    if type(known_left) is int and type(known_right) is int:
        return b.index(static.extremum(name, known_left, known_right))
    one, two = unify(b, left, right, name)
    kind = opcodes.EXTREMA.get((name, one.dtype.kind))
    if kind is None:
        raise KernelError(f"{name} is not defined for {one.type_name}")
    ssa = b.pure(kind, (one.ssa, two.ssa), one.ssa.type)
    if one.dtype is INDEX:
        known = (id(one.ssa) in b.nonnegative) + (id(two.ssa) in b.nonnegative)
        if known == 2 or (known and name == "max"):
            b.nonnegative[id(ssa)] = ssa
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
        if isinstance(left, bool) and isinstance(right, bool):
            left, right = b.constant(BOOL, 1, left), b.constant(BOOL, 1, right)
        elif isinstance(left, (int, Dim)) and isinstance(right, (int, Dim)):
            left, right = as_index(b, left), as_index(b, right)
        else:
            raise KernelError(
                f"select between {describe(left)} and {describe(right)}: give one of them a dtype, e.g. f32(0)"
            )
    one, two = unify(b, left, right, "select")
    if condition.width > 1 and one.width == 1:
        one, two = splat(b, one, condition.width), splat(b, two, condition.width)
    if condition.width not in (1, one.width):
        raise KernelError(f"select: the condition has {condition.width} lanes, the values {one.width}")
    kind = arith.SelectOp if condition.width == 1 else std.SelectOp
    ssa = b.pure(kind, (condition.ssa, one.ssa, two.ssa), one.ssa.type)
    if one.dtype is INDEX and id(one.ssa) in b.nonnegative and id(two.ssa) in b.nonnegative:
        b.nonnegative[id(ssa)] = ssa
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
    if dtype is INDEX and source.kind != "i":
        return cast(b, cast(b, value, _I64), INDEX)
    if source is INDEX and dtype.is_float:
        return cast(b, cast(b, value, _I64), dtype)
    if source.is_float and dtype.is_float and source.bits == 16 and dtype.bits == 16:
        return cast(b, cast(b, value, F32), dtype)
    kind = opcodes.conversion(source, dtype, width)
    if kind is None:  # i8 and u8 share their bits
        return Simd(value.ssa, dtype, width)
    result = Simd(b.pure(kind, (value.ssa,), register_type(dtype, width)), dtype, width)
    if (dtype is INDEX or (source is INDEX and dtype is _I64)) and id(value.ssa) in b.nonnegative:
        b.nonnegative[id(result.ssa)] = result.ssa  # through i64 and back nothing is lost
    return result


def bitcast(b: Builder, value: Simd, dtype: DType) -> Simd:
    """The same bits read as another dtype of the same size."""
    if value.dtype.bits != dtype.bits or BOOL in (value.dtype, dtype):
        raise KernelError(f"bits: {value.type_name} and {dtype.name} differ in size")
    if register_type(value.dtype, value.width) == register_type(dtype, value.width):
        return Simd(value.ssa, dtype, value.width)
    if INDEX in (value.dtype, dtype):
        raise KernelError("bits: an index has no fixed bits; cast to i64 first")
    return Simd(b.pure(arith.BitcastOp, (value.ssa,), register_type(dtype, value.width)), dtype, value.width)
