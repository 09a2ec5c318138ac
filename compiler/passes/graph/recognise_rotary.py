"""Rotary embedding of the halves of the last axis, written as joined products or with a half that is turned."""

from __future__ import annotations

from xdsl.ir import SSAValue

from compiler.dialects.mo import MoOp, TensorType, attrs_of
from compiler.passes.graph.pattern import Found, below, commuted, dtype_of, insert, made_by, shape_of


def rotary(op: MoOp) -> Found | None:
    """concat([a * cos - b * sin, b * cos + a * sin]), or x * cos + concat([-b, a]) * sin with both tables doubled."""
    shape = shape_of(op.results[0])
    if len(shape) < 2 or not isinstance(shape[-1], int) or shape[-1] % 2:
        return None
    found = _of_halves(op) if op.name == "mo.concat" else _of_turned(op)
    if found is None:
        return None
    x, cos, sin = found
    if shape_of(x) != shape:
        return None
    made = insert(op, "rope", (x, cos, sin), op.results[0].type, interleaved=False)  # type: ignore[arg-type]
    return Found("rotary embedding", made, (x, cos, sin))


def _of_halves(op: MoOp) -> tuple[SSAValue, SSAValue, SSAValue] | None:
    if len(op.operands) != 2 or attrs_of(op)["axis"] != len(shape_of(op.results[0])) - 1:
        return None
    first, second = (made_by(operand, "sub", "add") for operand in op.operands)
    if first is None or second is None or first.name != "mo.sub" or second.name != "mo.add":
        return None
    for a, cos in _products(first.operands[0]):
        for b, sin in _products(first.operands[1]):
            x, angles = _halved(a, 0), (_angles(cos, a), _angles(sin, a))
            if x is None or x is not _halved(b, 1) or angles[0] is None or angles[1] is None:
                continue
            wanted = {(b, cos), (a, sin)}
            terms = [set(_products(operand)) for operand in second.operands]
            if all(terms) and len(wanted & terms[0]) == len(wanted & terms[1]) == 1 and wanted <= terms[0] | terms[1]:
                return x, angles[0], angles[1]
    return None


def _of_turned(op: MoOp) -> tuple[SSAValue, SSAValue, SSAValue] | None:
    for plain, turned in commuted(op):
        for x, cos in _products(plain):
            for around, sin in _products(turned):
                joined = made_by(around, "concat")
                if joined is None or len(joined.operands) != 2:
                    continue
                if attrs_of(joined)["axis"] != len(shape_of(around)) - 1:
                    continue
                negated = made_by(joined.operands[0], "neg")
                if (
                    negated is None
                    or _halved(negated.operands[0], 1) is not x
                    or _halved(joined.operands[1], 0) is not x
                ):
                    continue
                once = _doubled(op, cos, x), _doubled(op, sin, x)
                if once[0] is not None and once[1] is not None:
                    return x, once[0], once[1]
    return None


def _products(value: SSAValue) -> tuple[tuple[SSAValue, SSAValue], ...]:
    op = made_by(value, "mul")
    return () if op is None else commuted(op)


def _halved(value: SSAValue, half: int) -> SSAValue | None:
    """What a value is the first or second half of, along the last axis."""
    part = made_by(value, "slice")
    if part is None:
        return None
    x, attrs = part.operands[0], attrs_of(part)
    whole, got = shape_of(x), shape_of(value)
    if whole[:-1] != got[:-1] or whole[-1] != got[-1] * 2 or any(step != 1 for step in attrs["steps"]):
        return None
    starts = [0] * (len(whole) - 1) + [got[-1] * half]
    return x if list(attrs["starts"]) == starts else None


def _angles(value: SSAValue, like: SSAValue) -> SSAValue | None:
    """The table of one row a position that a factor repeats for every batch and head."""
    base = below(value, "broadcast_to")
    shape = shape_of(base)
    if len(shape) > 2 and all(size == 1 for size in shape[:-2]):
        inner = made_by(base, "reshape")
        base = inner.operands[0] if inner is not None else base
        shape = shape_of(base)
    return base if shape == shape_of(like)[-2:] else None


def _doubled(op: MoOp, value: SSAValue, x: SSAValue) -> SSAValue | None:
    """The first half of a table whose halves are equal: concat([t, t]), or a function of it."""
    table = _angles(value, x)
    if table is None:
        return None
    function = made_by(table, "cos", "sin")
    joined = made_by(function.operands[0] if function is not None else table, "concat")
    if joined is None or len(joined.operands) != 2 or joined.operands[0] is not joined.operands[1]:
        return None
    if attrs_of(joined)["axis"] != 1:
        return None
    half = joined.operands[0]
    if function is None:
        return half
    kind = TensorType.of(dtype_of(half), shape_of(half))
    return insert(op, function.name.removeprefix("mo."), (half,), kind)
