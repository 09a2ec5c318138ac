"""First half of fusion: every kernel op starts a group, and elementwise ops on its result join it as its epilogue.

A forward walk. An op joins when one of its operands is at hand in a kernel's output lambda, possibly seen through views
that can be undone, and nothing else it needs depends on that kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.passes.fusion.analysis import Analysis, Node, Value, literal_of
from compiler.passes.fusion.groups import Group, Groups
from compiler.passes.fusion.paths import Path, extend
from compiler.passes.fusion.records import Edge, FusionOptions
from compiler.passes.fusion.strides import is_storable

LARGEST = 256  # ops in one kernel


def fuse_epilogues(analysis: Analysis, groups: Groups, options: FusionOptions, reasons: dict[Edge, str]) -> None:
    """Make a group of every kernel op and let elementwise ops join; why one could not is noted in `reasons`."""
    for node in analysis.nodes:
        if node.kind == "kernel":
            groups.new(node, node.result.shape)
        elif node.kind == "elementwise" and options.fuse:
            _join(node, groups, options, reasons)


def _join(node: Node, groups: Groups, options: FusionOptions, reasons: dict[Edge, str]) -> None:
    found: list[tuple[int, Value, Group, Path]] = []
    for operand in dict.fromkeys(node.operands):
        hand = at_hand(operand, groups)
        if hand is not None:
            base, group, path = hand
            if _is_cut(operand, base, node, options):
                reasons[_edge(operand, node)] = "forced cut"
            elif not is_storable(path):
                reasons[_edge(operand, node)] = "its result could not be stored in order"
            else:
                found.append((base.node.index if base.node else -1, operand, group, path))
    # The latest producer first: what the others give is there by then, and can be loaded.
    for _, operand, group, path in sorted(found, key=lambda item: -item[0]):
        reason = _refusal(node, group, path, groups, options)
        if reason:
            reasons[_edge(operand, node)] = reason
            continue
        groups.add(group, node, "epilogue")
        group.positions[node.result] = path
        return


def _refusal(node: Node, group: Group, path: Path, groups: Groups, options: FusionOptions) -> str:
    """Why a node may not join a kernel's epilogue; empty when it may."""
    if len(group.members) >= LARGEST:
        return "the kernel is full"
    for operand in node.operands:
        hand = at_hand(operand, groups)
        if hand is not None and hand[1] is group and hand[2] == path:
            if _is_cut(operand, hand[0], node, options):
                return "forced cut"
            continue
        if operand.node is not None and literal_of(operand) is None and groups.needs(operand) & group.mask:
            return "would create a cycle"
    return ""


def at_hand(value: Value, groups: Groups) -> tuple[Value, Group, Path] | None:
    """A kernel's output lambda where a value is at hand: the value under its views, the group, the path to it."""
    chain = []
    while value.node is not None and (step := value.node.step) is not None:
        chain.append(step)
        value = value.node.operands[0]
    group = groups.owner.get(value.node) if value.node is not None else None
    if group is None or (path := group.positions.get(value)) is None:
        return None
    for step in reversed(chain):
        path = extend(path, step)
    return value, group, path


def _edge(producer: Value, consumer: Node) -> Edge:
    return (producer.node.name if producer.node else producer.name, consumer.name)


def chain_edges(value: Value, base: Value, consumer: Node) -> Iterator[Edge]:
    """The edges from `base` through views to `value` and on to its consumer."""
    name = consumer.name
    while True:
        yield (value.node.name if value.node else value.name, name)
        if value is base or value.node is None:
            return
        name = value.node.name
        value = value.node.operands[0]


def _is_cut(value: Value, base: Value, consumer: Node, options: FusionOptions) -> bool:
    return bool(options.force_cut) and any(e in options.force_cut for e in chain_edges(value, base, consumer))
