"""Which operation of the IR stands for a sign, a comparison, an extremum, a reduction or a conversion."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation

from compiler.dialects import std
from compiler.language.values.dtypes import INDEX, DType

_FLOAT = {"+": arith.AddfOp, "-": arith.SubfOp, "*": arith.MulfOp, "/": arith.DivfOp}
_SIGNED = {"+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp, "//": arith.FloorDivSIOp, "&": arith.AndIOp,
           "|": arith.OrIOp, "^": arith.XOrIOp, "<<": arith.ShLIOp, ">>": arith.ShRSIOp}  # fmt: skip
UNSIGNED = {**_SIGNED, "//": arith.DivUIOp, "%": arith.RemUIOp, ">>": arith.ShRUIOp}
_BOOLEAN = {"&": arith.AndIOp, "|": arith.OrIOp, "^": arith.XOrIOp}
BINARY = {"f": _FLOAT, "b": _BOOLEAN, "u": UNSIGNED, "i": _SIGNED, "x": _SIGNED}  # by a dtype's kind and a sign
TRAPPING = (arith.FloorDivSIOp, arith.DivUIOp, arith.RemUIOp)

_COMPARE_FLOAT = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_COMPARE_SIGNED = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_COMPARE_UNSIGNED = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}
PREDICATES = {number: {"predicate": IntegerAttr(number, i64)} for number in range(16)}

EXTREMA = {
    ("min", "f"): arith.MinimumfOp, ("max", "f"): arith.MaximumfOp, ("min", "i"): arith.MinSIOp,
    ("max", "i"): arith.MaxSIOp, ("min", "x"): arith.MinSIOp, ("max", "x"): arith.MaxSIOp,
    ("min", "u"): arith.MinUIOp, ("max", "u"): arith.MaxUIOp, ("min", "b"): arith.AndIOp, ("max", "b"): arith.OrIOp,
    ("fmin", "f"): arith.MinnumfOp, ("fmax", "f"): arith.MaxnumfOp,
}  # fmt: skip
REDUCTIONS = {
    (name, kind): flag
    for name, flags in {
        "sum": {"fiux": CombiningKindFlag.ADD},
        "prod": {"fiux": CombiningKindFlag.MUL},
        "max": {"f": CombiningKindFlag.MAXIMUMF, "ix": CombiningKindFlag.MAXSI, "u": CombiningKindFlag.MAXUI,
                "b": CombiningKindFlag.OR},
        "min": {"f": CombiningKindFlag.MINIMUMF, "ix": CombiningKindFlag.MINSI, "u": CombiningKindFlag.MINUI,
                "b": CombiningKindFlag.AND},
        "any": {"b": CombiningKindFlag.OR},
        "all": {"b": CombiningKindFlag.AND},
    }.items()
    for kinds, flag in flags.items()
    for kind in kinds
}  # fmt: skip


def comparison(sign: str, dtype: DType, width: int) -> tuple[type[Operation], int]:
    """The operation that compares values of a dtype, and the number of its predicate."""
    if dtype.is_float:
        operation, code = std.CmpfOp, _COMPARE_FLOAT[sign]
    else:
        operation, code = std.CmpiOp, (_COMPARE_SIGNED if dtype.kind in "ix" else _COMPARE_UNSIGNED)[sign]
    return (std.SCALAR[operation] if width == 1 else operation), code


def conversion(source: DType, dtype: DType, width: int) -> type[Operation] | None:
    """The operation from a dtype to another one, for values of `width` lanes; None where the bits are the same."""
    kind = _conversion(source, dtype)
    return std.SCALAR.get(kind, kind) if width == 1 and kind is not None else kind


def _conversion(source: DType, dtype: DType) -> type[Operation] | None:
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
