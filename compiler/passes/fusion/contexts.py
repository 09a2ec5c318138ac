"""Where a group computes what: the ops of each context, and what its main lambda has to load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.groups import Context, Group, Store
from compiler.passes.fusion.paths import Step, extend

Contexts = dict[Context, list[Node]]


def contexts_of(group: Group) -> Contexts:
    """The ops that are computed in each context of a group, in the order of the graph."""
    found: Contexts = {}
    for node in sorted(group.members, key=lambda n: n.index):
        for context in _contexts_of(node, group):
            found.setdefault(context, []).append(node)
    return found


def _contexts_of(node: Node, group: Group) -> Iterable[Context]:
    if node.kind not in ("elementwise", "pointwise"):
        return ()
    access = group.access.get(node.result)
    if access is None and group.rows is not None:  # in a phase of its own
        return ()
    if access is None:  # joined as an epilogue
        return (group.positions[node.result],)
    return (*access.contexts, node.result) if access.loads else tuple(access.contexts)


def main_contexts(contexts: Contexts) -> list[Context]:
    """The contexts of the main lambda that compute something."""
    return [c for c in contexts if not isinstance(c, Value)]


def loads(group: Group, contexts: Contexts, stores: Iterable[Store]) -> Iterator[tuple[Context, Value]]:
    """What the main lambda loads, and in which context: for its ops, then for what it stores."""
    main = [(context, node) for context in main_contexts(contexts) for node in contexts[context]]
    computed = {(context, node.result) for context, node in main}
    read = [(context, u) for context, node in main if node.kind == "elementwise" for u in node.operands]
    for context, value in (*read, *((store.context, store.register) for store in stores)):
        below, under = below_reshapes(value, context, group)
        if (under, below) not in computed and literal_of(value) is None:
            yield context, value


def below_reshapes(value: Value, context: Context, group: Group) -> tuple[Value, Context]:
    """The value under the reshapes of another, and the context in which the main lambda has it."""
    while not isinstance(context, Value) and not group.is_leaf(value):
        node = value.node
        if node is None or node.view != "reshape":
            break
        context = extend(context, Step(value.shape, node.operands[0].shape))
        value = node.operands[0]
    return value, context
