"""Which operation converts a value of one dtype to another."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from compiler.dialects import std
from compiler.language.values.dtypes import INDEX, DType


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
