"""Layer norm and RMS norm written out: the ops of these names, unless one kernel had better do more with their rows."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import MoOp, attrs_of
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.ops.specs import SPECS
from compiler.passes.graph.pattern import (
    Found,
    below,
    comes_from_reduced_rows,
    commuted,
    dtype_of,
    factors,
    insert,
    is_reduced_along_rows,
    is_used_once,
    made_by,
    number_of,
    ops_between,
    over_last_axis,
    shape_of,
)
from compiler.passes.graph.rewrite import maker

_WIDE = ("f32", "f64")  # narrower ones are rounded after each op, which the op of the name does not do


def rms_norm(op: MoOp) -> Found | None:
    """x / sqrt(mean of x squared + eps) * weight, along the last axis."""
    scaled = _scaled(op)
    if scaled is None:
        return None
    x, weight, eps = scaled
    if not _is_apart(op, x, (x, weight)):
        return None
    return Found("rms_norm", insert(op, "rms_norm", (x, weight), op.results[0].type, eps=eps), (x, weight))  # type: ignore[arg-type]


def layer_norm(op: MoOp) -> Found | None:
    """(x - mean) / sqrt(mean of (x - mean) squared + eps) * weight + bias, along the last axis."""
    for product, added in commuted(op):
        last = made_by(product, "mul")
        bias = _row(added, shape_of(product))
        scaled = _scaled(last) if last is not None and bias is not None and is_used_once(product) else None
        if scaled is None or bias is None:
            continue
        centred, weight, eps = scaled
        less = made_by(centred, "sub")
        mean = over_last_axis(less.operands[1], shape_of(centred), "reduce_mean") if less is not None else None
        if less is None or mean is None or mean.operands[0] is not less.operands[0]:
            continue
        given = (less.operands[0], weight, bias)
        if _is_apart(op, given[0], given):
            return Found("layer_norm", insert(op, "layer_norm", given, op.results[0].type, eps=eps), given)  # type: ignore[arg-type]
    return None


def _scaled(op: Operation) -> tuple[SSAValue, SSAValue, float] | None:
    """A product as what is divided by its root mean square, the weight of each column, and what is added to the mean
    square."""
    shape = shape_of(op.results[0])
    values, number = factors(op)
    if number != 1.0 or len(shape) < 2 or dtype_of(op.results[0]) not in _WIDE or len(values) not in (2, 3):
        return None
    for value in values:
        others = [other for other in values if other is not value]
        if len(values) == 3:
            found = _root_of_squares(value, shape, "rsqrt")
        else:
            divided = made_by(value, "div") if is_used_once(value) else None
            found = _root_of_squares(divided.operands[1], shape, "sqrt") if divided is not None else None
            others += [divided.operands[0]] if divided is not None else []
        if found is None or len(others) != 2:
            continue
        x, eps = found
        for one, other in (others, others[::-1]):
            weight = _row(other, shape)
            if one is x and weight is not None:
                return x, weight, eps
    return None


def _root_of_squares(value: SSAValue, shape: tuple[Any, ...], root: str) -> tuple[SSAValue, float] | None:
    """x and eps of a root, or its inverse, of the mean of x squared + eps, which a value spreads over the last axis."""
    spread = made_by(value, "broadcast_to")
    if spread is None or shape_of(spread.operands[0]) != (*shape[:-1], 1):
        return None
    rooted = made_by(below(spread.operands[0], "reshape"), root)
    total = made_by(below(rooted.operands[0], "reshape"), "add") if rooted is not None else None
    for mean, eps in commuted(total) if total is not None else ():
        number = number_of(eps)
        reduced = made_by(below(mean, "reshape"), "reduce_mean") if number is not None else None
        if number is None or reduced is None or tuple(attrs_of(reduced)["axes"]) != (len(shape) - 1,):
            continue
        x = _root(reduced.operands[0])
        if x is not None and shape_of(x) == shape:
            return x, float(str(numpy_dtype(dtype_of(x)).type(number)))  # as it is written, 1e-5, not the nearest f32
    return None


def _root(square: SSAValue) -> SSAValue | None:
    """What a value is the square of."""
    op = made_by(square, "square", "mul", "pow")
    if op is None:
        return None
    if op.name == "mo.square":
        return op.operands[0]
    x, other = op.operands
    return x if (other is x if op.name == "mo.mul" else number_of(other) == 2.0) else None


def _row(value: SSAValue, shape: tuple[Any, ...]) -> SSAValue | None:
    """The one row that a value of a shape repeats."""
    spread = made_by(value, "broadcast_to")
    if spread is None or shape_of(value) != shape:
        return None
    source = spread.operands[0]
    reshaped = made_by(source, "reshape")
    if reshaped is not None and shape_of(source) == (*(1,) * (len(shape_of(source)) - 1), shape[-1]):
        source = reshaped.operands[0]
    return source if shape_of(source) == (shape[-1],) else None


def _is_apart(op: MoOp, x: SSAValue, given: tuple[SSAValue, ...]) -> bool:
    """Whether nobody else reads what the pattern makes, nor does more with the same rows than the named op's kernel
    takes in: a kernel of all of that is better."""
    inside = set(ops_between(op, given))
    for each in inside:
        makers = [maker(operand) for operand in each.operands if operand not in given]
        if any(made is not None and made not in inside and made.name != "mo.constant" for made in makers):
            return False
    spec = SPECS.get(owner.name) if (owner := maker(x)) is not None else None
    kept = spec is not None and spec.elementwise and any(use.operation not in inside for use in x.uses)
    return not kept and not is_reduced_along_rows(op.results[0]) and not comes_from_reduced_rows(x)
