"""Computing a cheap value again in every kernel that reads it, instead of storing it once and loading it in each.

Bytes that need not move are weighed against operations that are done more than once.
"""

from __future__ import annotations

from compiler.graph.dtypes import dtype_info
from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.groups import Group
from compiler.passes.fusion.placement import Placement
from compiler.passes.fusion.records import Again

_BYTES = 2  # that move in the time of an operation, of those that `facts.work` counts


def computed_again(placed: Placement, node: Node, readers: list[Group]) -> bool:
    """Let every reader compute a value, if that is cheaper than storing it."""
    value = node.result
    if not placed.choices.fuse or node.kind != "elementwise" or placed.choices.is_cut(node):
        return False
    if not all(_reads_once(group, value) and not placed.refusal(node, group) for group in readers):
        return False
    size = dtype_info(value.type.dtype).bytes
    operands = [u for u in dict.fromkeys(node.operands) if literal_of(u) is None]
    if not all(_is_in_memory(operand) for operand in operands):
        return False
    read = {operand: dtype_info(operand.type.dtype).bytes * (operand.numel == value.numel) for operand in operands}
    more = sum(size for group in readers for operand, size in read.items() if operand not in group.access)
    saved = size * len(readers) - more
    if not any(_computes_anyway(group, value) for group in readers):  # a kernel of its own would read and write
        saved += size + sum(read.values())
    work = node.own_work * (sum(group.evaluations(value) for group in readers) - 1)
    if saved <= _BYTES * work:
        return False
    again = Again(saved * value.numel, work * value.numel)
    for group in readers:
        group.members[node] = "elementwise" if group.core is None else "prologue"
        placed.groups.expand(group, node)
        for user in value.users:
            placed.choices.again[(node.name, user.name)] = again
    return True


def _reads_once(group: Group, value: Value) -> bool:
    """Whether a kernel asks for each element once or so: elementwise work and reductions do, products do not."""
    plain = group.core is None or bool(group.core.signature.reduction)
    return plain and not group.access[value].expands


def _computes_anyway(group: Group, value: Value) -> bool:
    """Whether a kernel could store a value on its way, for the others."""
    return any(not isinstance(context, Value) for context in group.access[value].contexts)


def _is_in_memory(value: Value) -> bool:
    """Whether a value is stored in any case: an input of the graph, a constant, or what other kernels give."""
    return value.node is None or value.node.kind in ("constant", "load", "kernel") or bool(value.outputs)
