"""What a group reads once it computes a node, or looks at what it reads through one."""

from __future__ import annotations

from compiler.graph.dims import Dim, floordiv
from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.groups import Group, Groups
from compiler.passes.fusion.paths import IDENTITY, Step, extend


def expand(groups: Groups, group: Group, node: Node) -> None:
    """Note what a group reads once it computes a node."""
    value = node.result
    access = group.access[value]
    if node.kind == "elementwise":
        contexts = dict(access.contexts)
        if access.loads:
            contexts[value] = None
        for operand in node.operands:
            if literal_of(operand) is None:
                read = groups.read(group, operand)
                read.contexts.update(contexts)
                read.expands |= access.expands
        return
    for path in [c for c in access.contexts if not isinstance(c, Value) and c != IDENTITY]:
        del access.contexts[path]  # only a lambda of its own can be seen through views
        access.loads += 1
    look_through(groups, group, node)


def look_through(groups: Groups, group: Group, node: Node) -> None:
    """Note what a group reads through a view or pointwise op."""
    value = node.result
    access = group.access[value]
    times = group.evaluations(value)
    for position, operand in enumerate(node.operands):
        if node.kind == "pointwise" and node.declares(position) == "tensor":
            groups.read(group, operand).tensor = True
            continue
        if literal_of(operand) is not None:
            continue
        read = groups.read(group, operand)
        if access.tensor:
            read.tensor = True
        if node.view == "reshape":
            # Order is kept, so where the main lambda stands it can go on below the reshape.
            step = Step(value.shape, operand.shape)
            paths = [c for c in access.contexts if not isinstance(c, Value)]
            read.contexts.update((extend(path, step), None) for path in paths)
            read.loads += times - len(paths)
        else:
            read.loads += times
        read.expands |= access.expands or _is_larger(value.numel, operand.numel)


def _is_larger(size: int | Dim, than: int | Dim) -> bool:
    """Whether one count of elements may exceed the other."""
    if size == than:
        return False
    if isinstance(size, int) and isinstance(than, int):
        return size > than
    ratio = floordiv(than, size)
    return not (isinstance(ratio, int) and ratio >= 1)
