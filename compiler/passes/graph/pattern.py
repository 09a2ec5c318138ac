"""Reading patterns out of a graph: the op behind a value, what lies under views, constants, factors of a product."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import MoOp, TensorType, attrs_of, make, nodes_of
from compiler.dialects.operations import put_before
from compiler.graph.ops.specs import SPECS
from compiler.passes.graph.rewrite import maker, splat_of

_FARTHEST = 16  # ops that are looked at between something of rows and a reduction of them


@dataclass(frozen=True)
class Found:
    """A pattern: what it is called, the value that can stand for its last op's result, what it is computed from.

    `op` is the structured op where that is not the one that makes `value`.
    """

    name: str
    value: SSAValue
    inputs: tuple[SSAValue, ...]
    op: Operation | None = None


def made_by(value: SSAValue, *names: str) -> Operation | None:
    """The op behind a value if it is one of these (named without `mo.`)."""
    owner = maker(value)
    return owner if owner is not None and owner.name.removeprefix("mo.") in names else None


def shape_of(value: SSAValue) -> tuple[Any, ...]:
    """The sizes of a tensor's axes."""
    return value.type.shape  # type: ignore[attr-defined]


def dtype_of(value: SSAValue) -> str:
    """A tensor's dtype."""
    return value.type.dtype  # type: ignore[attr-defined]


def is_used_once(value: SSAValue) -> bool:
    """Whether one operand alone reads a value."""
    return value.has_one_use()


def number_of(value: SSAValue) -> float | None:
    """The one number that a value holds everywhere."""
    element = splat_of(value)
    return None if element is None else float(element)


def is_near(value: float | None, wanted: float, relative: float = 1e-3) -> bool:
    """Whether a number is the wanted one, as 16-bit floats and rounded literals spell it."""
    return value is not None and math.isclose(value, wanted, rel_tol=relative)


def commuted(op: Operation) -> tuple[tuple[SSAValue, SSAValue], ...]:
    """The two operands of an op, in both orders."""
    first, second = op.operands
    return (first, second), (second, first)


def with_number(op: Operation | None, wanted: float) -> SSAValue | None:
    """The other operand of a commutative op that has this number as one."""
    for value, other in commuted(op) if op is not None else ():
        if is_near(number_of(other), wanted):
            return value
    return None


def scaled(value: SSAValue) -> tuple[SSAValue, float]:
    """A value as another one times a number."""
    factor = 1.0
    while True:
        op = made_by(value, "mul", "div", "neg")
        if op is None:
            return value, factor
        if op.name == "mo.neg":
            value, factor = op.operands[0], -factor
            continue
        first, second = op.operands
        number = number_of(second)
        if number is not None and number != 0:
            value, factor = first, factor * number if op.name == "mo.mul" else factor / number
            continue
        number = number_of(first)
        if number is None or op.name != "mo.mul":
            return value, factor
        value, factor = second, factor * number


def factors(op: Operation) -> tuple[list[SSAValue], float]:
    """A product as its factors, those of products inside it that nobody else reads among them, and its numbers."""
    found: list[SSAValue] = []
    number = 1.0
    waiting: list[SSAValue] = [op.results[0]]
    while waiting:
        value = waiting.pop()
        inner = made_by(value, "mul")
        if inner is not None and (inner is op or is_used_once(value)):
            waiting += reversed(inner.operands)
        elif (held := number_of(value)) is not None:
            number *= held
        else:
            found.append(value)
    return found, number


def below(value: SSAValue, *names: str) -> SSAValue:
    """What lies under the ops of these names (of one operand) above it."""
    while (op := made_by(value, *names)) is not None:
        value = op.operands[0]
    return value


def over_last_axis(value: SSAValue, shape: tuple[Any, ...], *names: str) -> Operation | None:
    """The reduction over the last axis of something of `shape` that a value spreads over that axis again."""
    if shape_of(value) != shape:
        return None
    spread = made_by(value, "broadcast_to")
    if spread is None:
        return None
    source = spread.operands[0]
    if shape_of(source) != (*shape[:-1], 1):
        return None
    reduction = made_by(below(source, "reshape"), *names)
    if reduction is None or tuple(attrs_of(reduction)["axes"]) != (len(shape) - 1,):
        return None
    return reduction if shape_of(reduction.operands[0]) == shape else None


def is_reduced_along_rows(value: SSAValue) -> bool:
    """Whether a reduction along the last axis reads a value, perhaps through elementwise ops."""
    last = len(shape_of(value)) - 1
    users = [use.operation for use in value.uses]
    seen = set(users)
    for step, user in enumerate(users):
        if user.name.startswith("mo.reduce_") and tuple(attrs_of(user)["axes"]) == (last,):
            return True
        if _is_elementwise(user) and step < _FARTHEST:
            more = [use.operation for use in user.results[0].uses if use.operation not in seen]
            seen.update(more)
            users += more
    return False


def comes_from_reduced_rows(value: SSAValue) -> bool:
    """Whether a value is computed, by elementwise ops alone, from what its rows, or rows like them, were reduced to."""
    shape = shape_of(value)
    reductions = [name.removeprefix("mo.") for name in SPECS if name.startswith("mo.reduce_")]
    waiting, seen = [value], {value}
    for step, source in enumerate(waiting):
        if over_last_axis(source, shape, *reductions) is not None:
            return True
        owner = maker(source)
        if owner is not None and _is_elementwise(owner) and step < _FARTHEST:
            more = [operand for operand in owner.operands if operand not in seen]
            seen.update(more)
            waiting += more
    return False


def _is_elementwise(op: Operation) -> bool:
    spec = SPECS.get(op.name)
    return spec is not None and spec.elementwise


def insert(before: MoOp, name: str, operands: Iterable[SSAValue], kind: TensorType, **attrs: Any) -> SSAValue:
    """The result of a new op that stands before another and answers for its nodes."""
    made = make(f"mo.{name}", tuple(operands), (kind,), attrs, nodes_of(before))
    return put_before(made, before).results[0]


def ops_between(last: Operation, inputs: Iterable[SSAValue]) -> list[Operation]:
    """The ops of a pattern: from its last one up to what it is computed from, constants left out; the last one first.

    Only those that nobody outside of the pattern reads: the others stay in the graph.
    """
    ends = set(inputs)
    found = [last]
    inside = {last}
    for op in found:
        for operand in op.operands:
            owner = maker(operand)
            if owner is None or operand in ends or owner in inside or owner.name == "mo.constant":
                continue
            if all(use.operation in inside for use in operand.uses):
                inside.add(owner)
                found.append(owner)
    return found
