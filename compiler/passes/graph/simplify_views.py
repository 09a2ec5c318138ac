"""Rules on views and index ops: those that do nothing go, those in a row become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from compiler.dialects.mo import MoOp, attrs_of
from compiler.graph.dims import product
from compiler.passes.graph.rewrite import maker

Rule = Callable[[MoOp], Any]


def _shape(value: SSAValue) -> tuple[Any, ...]:
    return value.type.shape  # type: ignore[attr-defined]


def _unchanged(op: MoOp) -> SSAValue | None:
    """A reshape or broadcast to the shape there already is."""
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


def _into_inner(op: MoOp) -> Any:
    """reshape(reshape(x)) and broadcast(broadcast(x)): only the last shape counts."""
    inner = maker(op.operands[0], op.name)
    return None if inner is None else (op.name, (inner.operands[0],), attrs_of(op), inner)


def _of_scalar(op: MoOp) -> Any:
    """Any view of one broadcast element is that element broadcast to the view's shape."""
    inner = maker(op.operands[0], "mo.broadcast_to")
    if inner is None or any(size != 1 for size in _shape(inner.operands[0])):
        return None
    element, shape = inner.operands[0], _shape(op.results[0])
    if len(_shape(element)) > len(shape):
        return None
    return "mo.broadcast_to", (element,), {"shape": shape}, inner


def _broadcast_of_reshape(op: MoOp) -> Any:
    """A broadcast adds leading axes by itself: a reshape that only puts 1s in front need not."""
    inner = maker(op.operands[0], "mo.reshape")
    if inner is None:
        return None
    source, padded = _shape(inner.operands[0]), _shape(op.operands[0])
    extra = len(padded) - len(source)
    if extra <= 0 or padded[extra:] != source or any(size != 1 for size in padded[:extra]):
        return None
    return "mo.broadcast_to", (inner.operands[0],), attrs_of(op), inner


def _broadcast_as_reshape(op: MoOp) -> Any:
    """A broadcast that repeats nothing."""
    x, shape = op.operands[0], _shape(op.results[0])
    return ("mo.reshape", (x,), {"shape": shape}) if product(_shape(x)) == product(shape) else None


def _transpose(op: MoOp) -> Any:
    x, perm = op.operands[0], tuple(attrs_of(op)["perm"])
    if perm == tuple(range(len(perm))):
        return x
    inner = maker(x, "mo.transpose")
    if inner is not None:
        first = tuple(attrs_of(inner)["perm"])  # type: ignore[arg-type]
        return "mo.transpose", (inner.operands[0],), {"perm": tuple(first[axis] for axis in perm)}, inner
    shape = _shape(x)
    moved = [axis for axis in perm if shape[axis] != 1]
    if moved == sorted(moved):  # only axes of size 1 move: the order in memory is the same
        return "mo.reshape", (x,), {"shape": _shape(op.results[0])}
    return None


def _slice(op: MoOp) -> Any:
    x, attrs = op.operands[0], attrs_of(op)
    starts, steps = attrs["starts"], attrs["steps"]
    if _shape(x) == attrs["shape"] and not any(starts) and all(step == 1 for step in steps):
        return x
    onward = tuple(1 if size == 1 else step for size, step in zip(attrs["shape"], steps))  # one element has no next
    if onward != tuple(steps):
        return "mo.slice", (x,), {"starts": starts, "steps": onward, "shape": attrs["shape"]}
    inner = maker(x, "mo.slice")
    if inner is None:
        return None
    first = attrs_of(inner)
    merged = {
        "starts": tuple(a + b * s for a, b, s in zip(first["starts"], starts, first["steps"])),
        "steps": tuple(a * b for a, b in zip(first["steps"], steps)),
        "shape": attrs["shape"],
    }
    return "mo.slice", (inner.operands[0],), merged, inner


def _reduced_ones(op: MoOp) -> Any:
    """The largest or smallest of one element is the element."""
    x = op.operands[0]
    if x.type.dtype != op.results[0].type.dtype or any(_shape(x)[axis] != 1 for axis in attrs_of(op)["axes"]):  # type: ignore[attr-defined]
        return None
    return "mo.reshape", (x,), {"shape": _shape(op.results[0])}


def _alone(op: MoOp) -> SSAValue | None:
    return op.operands[0] if len(op.operands) == 1 else None


def _no_padding(op: MoOp) -> SSAValue | None:
    attrs = attrs_of(op)
    return None if any(attrs["low"]) or any(attrs["high"]) else op.operands[0]


def _no_repeats(op: MoOp) -> SSAValue | None:
    return op.operands[0] if all(r == 1 for r in attrs_of(op)["repeats"]) else None


VIEW_RULES: dict[str, tuple[Rule, ...]] = {
    "mo.reshape": (_unchanged, _into_inner, _of_scalar),
    "mo.broadcast_to": (_unchanged, _into_inner, _broadcast_of_reshape, _broadcast_as_reshape),
    "mo.transpose": (_transpose, _of_scalar),
    "mo.slice": (_slice, _of_scalar),
    "mo.concat": (_alone,),
    "mo.pad": (_no_padding,),
    "mo.tile": (_no_repeats,),
    "mo.reduce_max": (_reduced_ones,),
    "mo.reduce_min": (_reduced_ones,),
}
