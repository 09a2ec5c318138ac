"""math: the operations every target has an instruction for. The transcendentals are written in the kernel library."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

from compiler.lowering.emit_arith import intrinsic
from compiler.lowering.emit_casts import from_f64, to_f64
from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import mangled, split_vector, with_lanes

_plain_fma = intrinsic("fma", "fma")


def _fma(e: Emitter, op: Operation) -> None:
    """Of f16 in f64 where it is no instruction: there a product is exact, and what is left is one rounding."""
    result = op.results[0]
    kind = e.type(result._type)
    lanes, element = split_vector(kind)
    if element != "half" or e.target.native_f16_fma:
        _plain_fma(e, op)
        return
    name, wide = e.define(result, "fma"), with_lanes(lanes, "double")
    wider = [f"{name}.{letter}" for letter in "abc"]
    for value, widened in zip(op._operands, wider):
        to_f64(e, e.names[id(value)], kind, widened)
    symbol = f"@llvm.fma.{mangled(wide)}"
    e.declare(symbol, wide, f"{wide}, {wide}, {wide}")
    given = ", ".join(f"{wide} {widened}" for widened in wider)
    e.lines.append(f"  {name}.f64 = call {wide} {symbol}({given})")
    from_f64(e, f"{name}.f64", kind, name)


EMITTERS = {
    math.SqrtOp: intrinsic("sqrt", "sqrt"),
    math.FloorOp: intrinsic("floor", "floor"),
    math.CeilOp: intrinsic("ceil", "ceil"),
    math.TruncOp: intrinsic("trunc", "trunc"),
    math.RoundEvenOp: intrinsic("roundeven", "round"),
    math.AbsFOp: intrinsic("fabs", "abs"),
    math.CopySignOp: intrinsic("copysign", "copysign"),
    math.FmaOp: _fma,
    math.CountLeadingZerosOp: intrinsic("ctlz", "ctlz", "i1 false"),
    math.CountTrailingZerosOp: intrinsic("cttz", "cttz", "i1 false"),
    math.CtPopOp: intrinsic("ctpop", "ctpop"),
}
