"""arith: integers, floats, comparisons, selects. Conversions are in `emit_casts.py`."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import filled, literal, mangled, split_vector, with_lanes

_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_CMPF = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
         "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")  # fmt: skip


def _flags(op: Operation, name: str) -> str:
    """Overflow or fast-math flags as LLVM words, each followed by a space."""
    attr = op.properties.get(name)
    if attr is None or not attr.data:  # pyright: ignore[reportAttributeAccessIssue]
        return ""
    return "".join(f"{flag.value} " for flag in sorted(attr.data))  # pyright: ignore[reportAttributeAccessIssue]


def _constant(e: Emitter, op: arith.ConstantOp) -> None:
    result = op.results[0]
    e.names[id(result)] = literal(op.properties["value"], e.type(result._type))


def _binary(mnemonic: str, flag_property: str = ""):
    def emit(e: Emitter, op: Operation) -> None:
        a, b = op._operands
        result = op.results[0]
        names = e.names
        flags = _flags(op, flag_property) if flag_property in op.properties else ""
        e.lines.append(
            f"  {e.define(result, mnemonic)} = {mnemonic} {flags}{e.type(result._type)} {names[id(a)]}, {names[id(b)]}"
        )

    return emit


def _negf(e: Emitter, op: arith.NegfOp) -> None:
    (a,) = op._operands
    result = op.results[0]
    flags = _flags(op, "fastmath")
    e.lines.append(f"  {e.define(result, 'neg')} = fneg {flags}{e.type(result._type)} {e.names[id(a)]}")


def _compare(mnemonic: str, predicates: tuple[str, ...]):
    def emit(e: Emitter, op: Operation) -> None:
        a, b = op._operands
        predicate = predicates[op.properties["predicate"].value.data]  # pyright: ignore[reportAttributeAccessIssue]
        left, right = e.names[id(a)], e.names[id(b)]
        name = e.define(op.results[0], "cmp")
        e.lines.append(f"  {name} = {mnemonic} {predicate} {e.type(a._type)} {left}, {right}")

    return emit


def _select(e: Emitter, op: arith.SelectOp) -> None:
    condition, a, b = op._operands
    result = op.results[0]
    kind = e.type(result._type)
    names = e.names
    e.lines.append(
        f"  {e.define(result, 'select')} = select {e.type(condition._type)} {names[id(condition)]}, "
        f"{kind} {names[id(a)]}, {kind} {names[id(b)]}"
    )


def intrinsic(name: str, stem: str, extra: str = ""):
    """An emitter for an op that is one overloaded intrinsic on operands of the result's type."""

    tail = f", {extra}" if extra else ""
    symbols: dict[str, str] = {}

    def emit(e: Emitter, op: Operation) -> None:
        result = op.results[0]
        kind = e.type(result._type)
        symbol = symbols.get(kind)
        if symbol is None:
            symbol = symbols[kind] = f"@llvm.{name}.{mangled(kind)}"
        if symbol not in e.declarations:
            parameters = ", ".join([kind] * len(op._operands)) + (f", {extra.split()[0]}" if extra else "")
            e.declare(symbol, kind, parameters)
        names = e.names
        values = ", ".join([f"{kind} {names[id(value)]}" for value in op._operands])
        e.lines.append(f"  {e.define(result, stem)} = call {kind} {symbol}({values}{tail})")

    return emit


def _floor_division(e: Emitter, op: Operation) -> None:
    """Truncate, then step down by one where the remainder is nonzero and its sign differs from the divisor's."""
    a, b = (e.names[id(value)] for value in op._operands)
    result = op.results[0]
    kind = e.type(result._type)
    name = e.define(result, "floordiv")
    if b.isdigit() and b != "0":
        _floor_division_by_positive(e, kind, name, a, int(b))
        return
    bit = with_lanes(split_vector(kind)[0], "i1")
    zero = filled(0, kind)
    e.lines += (
        f"  {name}.quo = sdiv {kind} {a}, {b}",
        f"  {name}.rem = srem {kind} {a}, {b}",
        f"  {name}.inexact = icmp ne {kind} {name}.rem, {zero}",
        f"  {name}.signs = xor {kind} {name}.rem, {b}",
        f"  {name}.side = icmp slt {kind} {name}.signs, {zero}",
        f"  {name}.fix = and {bit} {name}.inexact, {name}.side",
        f"  {name}.one = zext {bit} {name}.fix to {kind}",
        f"  {name} = sub {kind} {name}.quo, {name}.one",
    )


def _floor_division_by_positive(e: Emitter, kind: str, name: str, a: str, b: int) -> None:
    """The same where the divisor is a positive literal: the remainder has the sign of the dividend."""
    if b & (b - 1) == 0:
        e.lines.append(f"  {name} = ashr {kind} {a}, {b.bit_length() - 1}")
        return
    e.lines += (
        f"  {name}.quo = sdiv {kind} {a}, {b}",
        f"  {name}.rem = srem {kind} {a}, {b}",
        f"  {name}.fix = ashr {kind} {name}.rem, {int(kind[1:]) - 1}",
        f"  {name} = add {kind} {name}.quo, {name}.fix",
    )


EMITTERS = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _binary("add", "overflowFlags"),
    arith.SubiOp: _binary("sub", "overflowFlags"),
    arith.MuliOp: _binary("mul", "overflowFlags"),
    arith.DivSIOp: _binary("sdiv"),
    arith.DivUIOp: _binary("udiv"),
    arith.RemSIOp: _binary("srem"),
    arith.RemUIOp: _binary("urem"),
    arith.FloorDivSIOp: _floor_division,
    arith.AndIOp: _binary("and"),
    arith.OrIOp: _binary("or"),
    arith.XOrIOp: _binary("xor"),
    arith.ShLIOp: _binary("shl", "overflowFlags"),
    arith.ShRUIOp: _binary("lshr"),
    arith.ShRSIOp: _binary("ashr"),
    arith.MinSIOp: intrinsic("smin", "min"),
    arith.MaxSIOp: intrinsic("smax", "max"),
    arith.MinUIOp: intrinsic("umin", "min"),
    arith.MaxUIOp: intrinsic("umax", "max"),
    arith.AddfOp: _binary("fadd", "fastmath"),
    arith.SubfOp: _binary("fsub", "fastmath"),
    arith.MulfOp: _binary("fmul", "fastmath"),
    arith.DivfOp: _binary("fdiv", "fastmath"),
    arith.NegfOp: _negf,
    arith.MaximumfOp: intrinsic("maximum", "max"),
    arith.MinimumfOp: intrinsic("minimum", "min"),
    arith.MaxnumfOp: intrinsic("maxnum", "max"),
    arith.MinnumfOp: intrinsic("minnum", "min"),
    arith.CmpiOp: _compare("icmp", _CMPI),
    arith.CmpfOp: _compare("fcmp", _CMPF),
    arith.SelectOp: _select,
}
