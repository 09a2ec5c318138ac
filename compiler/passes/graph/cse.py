"""Common subexpression elimination: ops with the same operands and attributes become one."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.ir import Operation

from compiler.dialects.mo import GraphOp, MoOp
from compiler.passes.graph.rewrite import mo_ops, replace


def cse(graph: GraphOp) -> int:
    """Merge equal ops into the first of them; how many went away. The survivor answers for all their nodes."""
    seen: dict[object, Operation] = {}
    merged = 0
    for op in mo_ops(graph):
        if op.spec.effects or len(op.results) != 1:
            continue
        key = _key(op)
        first = seen.setdefault(key, op)
        if first is not op:
            replace(op, first.results[0])
            merged += 1
    return merged


def _key(op: MoOp) -> object:
    operands = tuple(map(id, op._operands))  # values compare by identity
    if op.spec.commutative and operands[0] > operands[1]:
        operands = operands[::-1]
    properties = op.properties
    held = tuple(properties.items()) if len(properties) < 2 else tuple(sorted(properties.items(), key=lambda p: p[0]))
    return op.name, operands, held, op.results[0].type
