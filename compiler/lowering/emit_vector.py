"""vector: 1-D vectors are LLVM vectors. Loads and stores are with memref's, in `emit_memref.py`."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation

from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import mangled, splat, split_vector

# kind: (intrinsic for integers, for floats)
_REDUCTIONS = {
    "add": ("add", "fadd"),
    "mul": ("mul", "fmul"),
    "and": ("and", ""),
    "or": ("or", ""),
    "minsi": ("smin", ""),
    "maxsi": ("smax", ""),
    "minui": ("umin", ""),
    "maxui": ("umax", ""),
    "minimumf": ("", "fminimum"),
    "maximumf": ("", "fmaximum"),
}


def _broadcast(e: Emitter, op: vector.BroadcastOp) -> None:
    (a,) = op._operands
    result = op.results[0]
    source, kind = e.type(a._type), e.type(result._type)
    value = e.names[id(a)]
    lanes, element = split_vector(kind)
    if source == kind:
        e.names[id(result)] = value
    elif value[0] != "%" and source[0] != "<":
        e.names[id(result)] = splat(value, element)
    elif source[0] == "<":
        name = e.define(result, "splat")
        e.lines.append(f"  {name} = shufflevector {source} {value}, {source} poison, <{lanes} x i32> zeroinitializer")
    else:
        name = e.define(result, "splat")
        e.lines += (
            f"  {name}.lane = insertelement {kind} poison, {element} {value}, i64 0",
            f"  {name} = shufflevector {kind} {name}.lane, {kind} poison, <{lanes} x i32> zeroinitializer",
        )


def _position(e: Emitter, op: Operation, operands: int) -> str:
    """The lane number as an LLVM value, static or dynamic."""
    dynamic = tuple(op._operands)[operands:]
    static = op.properties.get("static_position")
    if not dynamic and isinstance(static, DenseArrayBase):
        (position,) = static.get_values()
        return str(position)
    if len(dynamic) != 1:
        raise e.fail(op, f"{op.name} needs exactly one position: vectors are 1-D")
    return e.names[id(dynamic[0])]


def _extract(e: Emitter, op: vector.ExtractOp) -> None:
    a = next(iter(op._operands))
    position = _position(e, op, 1)
    name = e.define(op.results[0], "lane")
    e.lines.append(f"  {name} = extractelement {e.type(a._type)} {e.names[id(a)]}, i64 {position}")


def _insert(e: Emitter, op: vector.InsertOp) -> None:
    value, into = tuple(op._operands)[:2]
    position = _position(e, op, 2)
    name = e.define(op.results[0], "vec")
    names = e.names
    e.lines.append(
        f"  {name} = insertelement {e.type(into._type)} {names[id(into)]}, "
        f"{e.type(value._type)} {names[id(value)]}, i64 {position}"
    )


def _shuffle(e: Emitter, op: vector.ShuffleOp) -> None:
    a, b = op._operands
    first, second = e.type(a._type), e.type(b._type)
    mask = op.properties["mask"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    left, right = e.names[id(a)], e.names[id(b)]
    name = e.define(op.results[0], "shuffle")
    lanes, more = split_vector(first)[0], split_vector(second)[0]
    if lanes != more:  # LLVM shuffles two vectors of one type: widen the shorter
        wide = max(lanes, more)
        short, kind, value, count = ("b", second, right, more) if more < lanes else ("a", first, left, lanes)
        widen = ", ".join(f"i32 {i}" if i < count else "i32 poison" for i in range(wide))
        e.lines.append(f"  {name}.{short} = shufflevector {kind} {value}, {kind} poison, <{wide} x i32> <{widen}>")
        if short == "b":
            right = f"{name}.b"
        else:
            left, first = f"{name}.a", second
            mask = [i if i < lanes else i - lanes + wide for i in mask]
    picks = ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in mask)
    e.lines.append(f"  {name} = shufflevector {first} {left}, {first} {right}, <{len(mask)} x i32> <{picks}>")


def _reduction(e: Emitter, op: vector.ReductionOp) -> None:
    """Float sums and products may be reassociated, so that they are trees; nothing else about them is relaxed."""
    (a,) = op._operands
    result = op.results[0]
    kind, scalar = e.type(a._type), e.type(result._type)
    combine = op.properties["kind"].data.value  # pyright: ignore[reportAttributeAccessIssue]
    name_of = _REDUCTIONS[combine][scalar[0] != "i"]
    if not name_of:
        raise e.fail(op, f"vector.reduction <{combine}> is not defined on {kind}")
    symbol = f"@llvm.vector.reduce.{name_of}.{mangled(kind)}"
    name = e.define(result, "reduce")
    value = f"{kind} {e.names[id(a)]}"
    if name_of in ("fadd", "fmul"):
        e.declare(symbol, scalar, f"{scalar}, {kind}")
        neutral = "-0.000000e+00" if name_of == "fadd" else "1.000000e+00"
        e.lines.append(f"  {name} = call reassoc {scalar} {symbol}({scalar} {neutral}, {value})")
        return
    e.declare(symbol, scalar, kind)
    e.lines.append(f"  {name} = call {scalar} {symbol}({value})")


EMITTERS = {
    vector.BroadcastOp: _broadcast,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector.ReductionOp: _reduction,
}
