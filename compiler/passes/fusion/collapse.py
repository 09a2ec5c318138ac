"""Which space an elementwise kernel walks: as few axes as its loads and stores allow, so that rows are long.

Memory is row-major, so a buffer can be declared in any shape with as many elements. What limits the choice are
broadcasts, whose repeated axes must stay apart from the others, and things that only have one shape.
"""

from __future__ import annotations

from compiler.graph.dims import Dim, product
from compiler.passes.fusion.analysis import Value
from compiler.passes.fusion.contexts import Contexts, loads, main_contexts
from compiler.passes.fusion.groups import Group
from compiler.passes.fusion.paths import (
    IDENTITY,
    Path,
    Shape,
    Step,
    broadcast_through,
    is_linear,
    merge_axes,
    merged_shape,
    merged_source,
)


def collapse(group: Group, contexts: Contexts) -> Path:
    """The path from the space an elementwise group should walk to its own space; empty when they are the same."""
    if any(not is_linear(store.path) for store in group.stores):
        return IDENTITY
    fixed: dict[Shape, None] = {}
    broadcasts: dict[tuple[Shape, Shape], None] = {}
    # A pointwise op stands for itself, as it must see its own positions.
    pointwise = [n.result for c in main_contexts(contexts) for n in contexts[c] if n.kind == "pointwise"]
    for value in (*(value for _, value in loads(group, contexts, group.stores)), *pointwise):
        shape, source = load_pattern(value, group)
        if source is not None and shape is not None:
            broadcasts[(source, shape)] = None
        elif shape is not None:
            fixed[shape] = None
    space = group.space
    candidates: list[Shape] = []
    if not fixed:
        sources = [source for source, target in broadcasts if target == space]
        candidates.append(merged_shape(space, merge_axes(space, sources)))
    candidates += [*fixed, *(target for _, target in broadcasts)]
    for walked in candidates:
        if all(shape == walked for shape in fixed) and all(
            regroup_source(source, target, walked) is not None for source, target in broadcasts
        ):
            return IDENTITY if walked == space else (Step(walked, space),)
    return IDENTITY


def load_pattern(value: Value, group: Group) -> tuple[Shape | None, Shape | None]:
    """What a load asks of the space: (None, None) nothing, (shape, source) a broadcast, (shape, None) to be itself."""
    while not group.is_leaf(value):
        node = value.node
        if node is None or node.kind == "load":
            return None, None
        if node.kind != "view":
            return value.shape, None
        if node.view == "broadcast" and _only_reshaped(node.operands[0], group):
            return value.shape, node.operands[0].shape
        if node.view != "reshape":
            return value.shape, None
        value = node.operands[0]
    return None, None


def _only_reshaped(value: Value, group: Group) -> bool:
    while not group.is_leaf(value):
        node = value.node
        if node is None or node.kind != "view" or node.view != "reshape":
            return False
        value = node.operands[0]
    return True


def regroup_source(source: Shape, target: Shape, wanted: Shape) -> Shape | None:
    """The shape to read `source` in so that broadcasting it straight to `wanted` gives what broadcasting it to `target`
    and reshaping would; None when no shape does."""
    if target == wanted:
        return tuple(source)
    groups = _grouping(target, wanted)
    if groups is not None:
        full = (1,) * (len(target) - len(source)) + tuple(source)
        for group in groups:
            kinds = {full[axis] != target[axis] for axis in group if target[axis] != 1}
            if len(kinds) > 1:
                break
        else:
            return merged_source(source, len(target), groups)
    if not broadcast_through(source, target, wanted):
        return None
    return tuple(source[max(len(source) - len(wanted), 0) :])  # what is left out has size 1


def _grouping(fine: Shape, coarse: Shape) -> list[list[int]] | None:
    """Which neighbouring axes of `fine` make each axis of `coarse`; None when it is not so simple."""
    groups: list[list[int]] = []
    axis = 0
    for size in coarse:
        group: list[int] = []
        count: int | Dim = 1
        while count != size and axis < len(fine):
            count = count * fine[axis]
            group.append(axis)
            axis += 1
        if count != size:
            return None
        groups.append(group)
    rest = list(range(axis, len(fine)))
    if not groups or product([fine[a] for a in rest]) != 1:
        return None
    groups[-1] += rest
    return groups
