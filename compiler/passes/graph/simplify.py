"""Algebraic simplification that never changes a value, signed zeros, infinities and NaN included.

Each rule looks at one op and gives a value that can stand for its result, or None. Rules are found by op name; ops are
visited in order, and the users of a value that changed are visited again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import GraphOp, MoOp, make
from compiler.passes.graph.rewrite import maker, mo_ops, replace, union
from compiler.passes.graph.simplify_numbers import NUMBER_RULES
from compiler.passes.graph.simplify_views import VIEW_RULES

Rule = Callable[[MoOp], Any]
RULES: dict[str, tuple[Rule, ...]] = {}
for _family in (NUMBER_RULES, VIEW_RULES):
    for _name, _rules in _family.items():
        RULES[_name] = RULES.get(_name, ()) + _rules


def simplify(graph: GraphOp) -> int:
    """Apply the rules until none fits; how many times one did."""
    waiting: list[Operation] = [op for op in reversed(mo_ops(graph)) if op.name in RULES]
    queued = set(waiting)
    applied = 0
    while waiting:
        op = waiting.pop()
        queued.discard(op)
        if op.parent is None:
            continue
        value = _first_fit(op)
        if value is None:
            continue
        applied += 1
        users = [use.operation for use in op.results[0].uses]
        replace(op, value)
        owner = maker(value)
        again = [*users, owner] if owner is not None else users
        for user in again:
            if user.name in RULES and user not in queued:
                waiting.append(user)
                queued.add(user)
    return applied


def _first_fit(op: Any) -> SSAValue | None:
    for rule in RULES[op.name]:
        found = rule(op)
        if found is None:
            continue
        if isinstance(found, SSAValue):
            if found.type == op.results[0].type:
                return found
            continue
        return _build(op, *found)
    return None


def _build(op: MoOp, name: str, operands: tuple[SSAValue, ...], attrs: dict[str, Any], *also: Operation) -> SSAValue:
    """The new op that a rule asked for, before the old one, with the nodes of all ops it replaces."""
    made = make(name, operands, (op.results[0].type,), attrs, union(op, *also))
    block = op.parent
    assert block is not None
    block.insert_op_before(made, op)
    return made.results[0]
