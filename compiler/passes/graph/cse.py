"""Common subexpression elimination: ops with the same operands and attributes become one."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.ir import Operation

from compiler.dialects.mo import GraphOp, MoOp, nodes_of
from compiler.passes.graph.rewrite import absorb, erase, mo_ops


def cse(graph: GraphOp) -> int:
    """Merge equal ops into the first of them; how many went away. The survivor answers for all their nodes."""
    seen: dict[object, Operation] = {}
    taken: dict[Operation, list[str]] = {}  # handed over at the end: a number used everywhere stands for thousands
    merged = 0
    for op in mo_ops(graph):
        if op.spec.effects or len(op.results) != 1:
            continue
        key = _key(op)
        first = seen.setdefault(key, op)
        if first is not op:
            taken.setdefault(first, []).extend(nodes_of(op))
            op.results[0].replace_all_uses_with(first.results[0])
            erase(op)
            merged += 1
    for first, nodes in taken.items():
        absorb(first, tuple(nodes))
    return merged


def _key(op: MoOp) -> object:
    operands = tuple(map(id, op._operands))  # values compare by identity
    if op.spec.commutative and operands[0] > operands[1]:
        operands = operands[::-1]
    properties = op.properties
    held = tuple(properties.items()) if len(properties) < 2 else tuple(sorted(properties.items(), key=lambda p: p[0]))
    return op.name, operands, held, op.results[0].type
