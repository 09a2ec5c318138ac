"""Algebraic simplification that never changes a value, signed zeros, infinities and NaN included.

Each rule looks at one op and gives a value that can stand for its result, or None. Rules are found by op name; ops are
visited in order, and the users of a value that changed are visited again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import GraphOp, MoOp, make, nodes_of
from compiler.dialects.operations import put_before
from compiler.passes.graph.rewrite import absorb, erase, maker, mo_ops
from compiler.passes.graph.simplify_numbers import NUMBER_RULES
from compiler.passes.graph.simplify_views import VIEW_RULES

Rule = Callable[[MoOp], Any]
RULES: dict[str, tuple[Rule, ...]] = {}
for _family in (NUMBER_RULES, VIEW_RULES):
    for _name, _rules in _family.items():
        RULES[_name] = RULES.get(_name, ()) + _rules


def simplify(graph: GraphOp) -> int:
    """Apply the rules until none fits; how many times one did."""
    origins = Origins()
    waiting: list[Operation] = [op for op in reversed(mo_ops(graph)) if op.name in RULES]
    queued = set(waiting)
    applied = 0
    while waiting:
        op = waiting.pop()
        queued.discard(op)
        if op.parent is None:
            continue
        value = _first_fit(op, origins)
        if value is None:
            continue
        applied += 1
        users = [use.operation for use in op.results[0].uses]
        owner = maker(value)
        if owner is not None:
            origins.add(owner, op)
        op.results[0].replace_all_uses_with(value)
        erase(op)
        again = [*users, owner] if owner is not None else users
        for user in again:
            if user.name in RULES and user not in queued:
                waiting.append(user)
                queued.add(user)
    origins.settle()
    return applied


class Origins:
    """Whose nodes an op is to answer for, as far as rules went: a chain of views that become one would otherwise have
    its growing list of nodes copied at every step."""

    def __init__(self) -> None:
        self._of: dict[Operation, list[Operation]] = {}
        self._known: dict[Operation, tuple[str, ...]] = {}  # an op that goes is asked for its nodes before

    def add(self, op: Operation, *others: Operation) -> None:
        """Let an op answer for the nodes of others too."""
        for one in (op, *others):
            if one not in self._known:
                self._known[one] = nodes_of(one)
        self._of.setdefault(op, []).extend(other for other in others if other is not op)

    def settle(self) -> None:
        """Give every op that is read its nodes; nobody asks those that are not."""
        for op in self._of:
            if op.parent is not None and any(result.first_use is not None for result in op.results):
                absorb(op, tuple(self._nodes(op)))

    def _nodes(self, op: Operation) -> Iterator[str]:
        waiting, seen = [op], {op}
        while waiting:
            one = waiting.pop()
            yield from self._known[one]
            for other in reversed(self._of.get(one, ())):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)


def _first_fit(op: Any, origins: Origins) -> SSAValue | None:
    for rule in RULES[op.name]:
        found = rule(op)
        if found is None:
            continue
        if isinstance(found, SSAValue):
            if found.type == op.results[0].type:
                return found
            continue
        return _build(op, origins, *found)
    return None


def _build(
    op: MoOp, origins: Origins, name: str, operands: tuple[SSAValue, ...], attrs: dict[str, Any], *also: Operation
) -> SSAValue:
    """The new op that a rule asked for, before the old one, with the nodes of all ops it replaces."""
    made = make(name, operands, (op.results[0].type,), attrs, nodes_of(op))
    put_before(made, op)
    origins.add(made, *also)
    return made.results[0]
