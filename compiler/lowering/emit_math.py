"""math: the operations every target has an instruction for. The transcendentals are written in the kernel library."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import math, vector
from xdsl.ir import Operation

from compiler.lowering.emit_arith import intrinsic
from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import filled, mangled


def _rsqrt(e: Emitter, op: Operation) -> None:
    """1/sqrt(x) with both steps correctly rounded, so that every target gives the same bits."""
    (a,) = op._operands
    result = op.results[0]
    kind = e.type(result._type)
    symbol = f"@llvm.sqrt.{mangled(kind)}"
    e.declare(symbol, kind, kind)
    name = e.define(result, "rsqrt")
    e.lines += (
        f"  {name}.sqrt = call {kind} {symbol}({kind} {e.names[id(a)]})",
        f"  {name} = fdiv {kind} {filled('1.000000e+00', kind)}, {name}.sqrt",
    )


EMITTERS = {
    math.SqrtOp: intrinsic("sqrt", "sqrt"),
    math.RsqrtOp: _rsqrt,
    math.FloorOp: intrinsic("floor", "floor"),
    math.CeilOp: intrinsic("ceil", "ceil"),
    math.TruncOp: intrinsic("trunc", "trunc"),
    math.RoundEvenOp: intrinsic("roundeven", "round"),
    math.RoundOp: intrinsic("round", "round"),
    math.AbsFOp: intrinsic("fabs", "abs"),
    math.AbsIOp: intrinsic("abs", "abs", "i1 false"),
    math.CopySignOp: intrinsic("copysign", "copysign"),
    math.FmaOp: intrinsic("fma", "fma"),
    vector.FMAOp: intrinsic("fma", "fma"),
    math.CountLeadingZerosOp: intrinsic("ctlz", "ctlz", "i1 false"),
    math.CountTrailingZerosOp: intrinsic("cttz", "cttz", "i1 false"),
    math.CtPopOp: intrinsic("ctpop", "ctpop"),
}
