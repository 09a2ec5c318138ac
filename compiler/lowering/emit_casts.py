"""arith's conversions: widths, index, bits, floats. Which float conversions are instructions depends on the target."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.ir import Operation

from compiler.lowering.conversions import conversion
from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import filled, float_literal, mangled, split_vector, with_lanes


def cast(mnemonic: str, stem: str):
    """An emitter for an op that is one conversion instruction, or nothing where the types are the same."""

    def emit(e: Emitter, op: Operation) -> None:
        (a,) = op._operands
        result = op.results[0]
        source, kind = e.type(a._type), e.type(result._type)
        if source == kind:
            e.names[id(result)] = e.names[id(a)]
            return
        e.lines.append(f"  {e.define(result, stem)} = {mnemonic} {source} {e.names[id(a)]} to {kind}")

    return emit


_narrow, _widen = cast("trunc", "cast"), cast("sext", "cast")


def _index_cast(e: Emitter, op: Operation) -> None:
    source, kind = (split_vector(e.type(value._type))[1] for value in (*op._operands, *op.results))
    (_narrow if int(kind[1:]) < int(source[1:]) else _widen)(e, op)


def _call(e: Emitter, name: str, value: str, lanes: int, result: str) -> None:
    """Call one of the hand-written conversions, defining it on first use."""
    symbol, source, kind, text = conversion(name, lanes)
    if symbol not in e.helpers:
        e.helpers[symbol] = text
        if "@llvm.fabs" in text:
            e.declare(f"@llvm.fabs.{mangled(source)}", source, source)
    e.lines.append(f"  {result} = call {kind} {symbol}({source} {value})")


def _by_hand(e: Emitter, element: str) -> str:
    """The name a 16-bit float has in the hand-written conversions, where the target lacks its own."""
    if element == "half" and not e.target.native_f16:
        return "f16"
    return "bf16" if element == "bfloat" and not e.target.native_bf16 else ""


def to_f32(e: Emitter, value: str, source: str, result: str) -> None:
    """Widen a 16-bit float to f32."""
    lanes, element = split_vector(source)
    if name := _by_hand(e, element):
        _call(e, f"{name}_to_f32", value, lanes, result)
    else:
        e.lines.append(f"  {result} = fpext {source} {value} to {with_lanes(lanes, 'float')}")


def from_f32(e: Emitter, value: str, kind: str, result: str) -> None:
    """Round an f32 to a 16-bit float."""
    lanes, element = split_vector(kind)
    if name := _by_hand(e, element):
        _call(e, f"f32_to_{name}", value, lanes, result)
    else:
        e.lines.append(f"  {result} = fptrunc {with_lanes(lanes, 'float')} {value} to {kind}")


def to_f64(e: Emitter, value: str, source: str, result: str) -> None:
    """Widen a 16-bit float to f64."""
    lanes, _ = split_vector(source)
    to_f32(e, value, source, f"{result}.f32")
    e.lines.append(f"  {result} = fpext {with_lanes(lanes, 'float')} {result}.f32 to {with_lanes(lanes, 'double')}")


def from_f64(e: Emitter, value: str, kind: str, result: str) -> None:
    """Round an f64 to a 16-bit float, once."""
    lanes, _ = split_vector(kind)
    _call(e, "f64_to_f32_odd", value, lanes, f"{result}.f32")
    from_f32(e, f"{result}.f32", kind, result)


def _extf(e: Emitter, op: Operation) -> None:
    (a,) = op._operands
    result = op.results[0]
    source, kind = e.type(a._type), e.type(result._type)
    _, wide = split_vector(kind)
    name = e.define(result, "ext")
    value = e.names[id(a)]
    if split_vector(source)[1] == "float":
        e.lines.append(f"  {name} = fpext {source} {value} to {kind}")
    elif wide == "float":
        to_f32(e, value, source, name)
    else:
        to_f64(e, value, source, name)


def _truncf(e: Emitter, op: Operation) -> None:
    (a,) = op._operands
    result = op.results[0]
    source, kind = e.type(a._type), e.type(result._type)
    _, narrow = split_vector(kind)
    name = e.define(result, "trunc")
    value = e.names[id(a)]
    if narrow == "float":
        e.lines.append(f"  {name} = fptrunc {source} {value} to {kind}")
    elif split_vector(source)[1] == "float":
        from_f32(e, value, kind, name)
    elif narrow == "half" and e.target.native_f64_to_f16:
        e.lines.append(f"  {name} = fptrunc {source} {value} to {kind}")
    else:
        from_f64(e, value, kind, name)


def _float_to_int(sign: str):
    """Saturating: out of range goes to the nearest end, NaN to 0. No undefined behaviour."""

    def emit(e: Emitter, op: Operation) -> None:
        (a,) = op._operands
        result = op.results[0]
        source, kind = e.type(a._type), e.type(result._type)
        lanes, element = split_vector(source)
        value = e.names[id(a)]
        name = e.define(result, "int")
        if element in ("half", "bfloat"):
            to_f32(e, value, source, f"{name}.f32")
            value, source = f"{name}.f32", with_lanes(lanes, "float")
        if lanes and not e.target.native_saturation:
            _saturated(e, value, source, kind, name, sign)
            return
        symbol = f"@llvm.fpto{sign}i.sat.{mangled(kind)}.{mangled(source)}"
        e.declare(symbol, kind, source)
        e.lines.append(f"  {name} = call {kind} {symbol}({source} {value})")

    return emit


def _saturated(e: Emitter, value: str, source: str, kind: str, name: str, sign: str) -> None:
    """The same of a vector, in steps that are instructions: into the range first, so that converting is defined.

    What the largest integer rounds to is beyond the range where floats have fewer digits; the float below it is then
    the end of the range, and what lies above it is put right afterwards.
    """
    lanes, element = split_vector(source)
    bits, digits = int(split_vector(kind)[1][1:]), 24 if element == "float" else 53
    low, power = (-(2.0 ** (bits - 1)), bits - 1) if sign == "s" else (0.0, bits)
    high = 2.0**power - max(1.0, 2.0 ** (power - digits))
    flags, wide = with_lanes(lanes, "i1"), with_lanes(lanes, f"i{max(bits, 32)}")

    def number(of: float) -> str:
        return filled(float_literal(of, element), source)

    # A comparison with NaN is false, so NaN becomes the lower end.
    lines = [
        f"{name}.above = fcmp ogt {source} {value}, {number(low)}",
        f"{name}.least = select {flags} {name}.above, {source} {value}, {source} {number(low)}",
        f"{name}.below = fcmp olt {source} {name}.least, {number(high)}",
        f"{name}.most = select {flags} {name}.below, {source} {name}.least, {source} {number(high)}",
    ]
    steps: list[tuple[str, str]] = []  # what comes before and after the value that each is about
    if bits < 32:
        steps.append((f"trunc {wide}", f" to {kind}"))
    if power > digits:
        lines.append(f"{name}.over = fcmp ogt {source} {value}, {number(high)}")
        largest = filled(2**power - 1 if sign == "s" else -1, kind)
        steps.append((f"select {flags} {name}.over, {kind} {largest}, {kind}", ""))
    if sign == "s":
        lines.append(f"{name}.number = fcmp ord {source} {value}, {value}")
        steps.append((f"select {flags} {name}.number, {kind}", f", {kind} zeroinitializer"))
    made = f"{name}.wide" if steps else name
    lines.append(f"{made} = fpto{'u' if bits >= 32 and sign == 'u' else 's'}i {source} {name}.most to {wide}")
    for count, (before, after) in enumerate(steps, 1):
        result = name if count == len(steps) else f"{name}.step{count}"  # a number alone is the name of another value
        lines.append(f"{result} = {before} {made}{after}")
        made = result
    e.lines += [f"  {line}" for line in lines]


def _int_to_float(mnemonic: str):
    def emit(e: Emitter, op: Operation) -> None:
        (a,) = op._operands
        result = op.results[0]
        source, kind = e.type(a._type), e.type(result._type)
        lanes, element = split_vector(kind)
        name = e.define(result, "float")
        if element in ("half", "bfloat"):
            e.lines.append(f"  {name}.f32 = {mnemonic} {source} {e.names[id(a)]} to {with_lanes(lanes, 'float')}")
            from_f32(e, f"{name}.f32", kind, name)
        else:
            e.lines.append(f"  {name} = {mnemonic} {source} {e.names[id(a)]} to {kind}")

    return emit


EMITTERS = {
    arith.BitcastOp: cast("bitcast", "bits"),
    vector.BitcastOp: cast("bitcast", "bits"),
    arith.ExtSIOp: cast("sext", "ext"),
    arith.ExtUIOp: cast("zext", "ext"),
    arith.TruncIOp: cast("trunc", "trunc"),
    arith.IndexCastOp: _index_cast,
    arith.ExtFOp: _extf,
    arith.TruncFOp: _truncf,
    arith.FPToSIOp: _float_to_int("s"),
    arith.FPToUIOp: _float_to_int("u"),
    arith.SIToFPOp: _int_to_float("sitofp"),
    arith.UIToFPOp: _int_to_float("uitofp"),
}
