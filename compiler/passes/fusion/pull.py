"""Second half of fusion: everything that is not in a kernel's epilogue finds its group, from the outputs backwards.

Each value is visited after all its readers, so it is known who reads it and how. A value that one group alone reads is
computed there; a view or a literal in every group that reads it; a value that several read is stored, if possible by a
group that computes it anyway.
"""

from __future__ import annotations

import numpy as np

from compiler.constants.file_arrays import is_large
from compiler.passes.fusion.analysis import Analysis, Node, Value, literal_of
from compiler.passes.fusion.choices import Choices
from compiler.passes.fusion.groups import Group, Groups, Store
from compiler.passes.fusion.paths import IDENTITY
from compiler.passes.fusion.placement import Placement, tensor_of
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.row_space import Rows
from compiler.passes.fusion.rows.join import member_below
from compiler.passes.fusion.siblings.recompute import computed_again
from compiler.passes.fusion.strides import scatters


def pull(analysis: Analysis, groups: Groups, choices: Choices) -> Placement:
    """Visit outputs, then every node backwards, and make the fitting move for each."""
    placed = Placement(analysis, groups, choices)
    for index, value in enumerate(analysis.inputs):
        if hasattr(value.type, "shape"):
            kind = "mutable" if value.type.name == "mo.buffer" else "input"
            value.buffer = Buffer(value.name, tensor_of(value), kind, index, (value.name,))
    for value in dict.fromkeys(analysis.outputs):
        if value.node is None or value.node.kind in ("constant", "literal") or literal_of(value) is not None:
            placed.copy_out(value)
    for node in reversed(analysis.nodes):
        visit = _VISITORS.get(node.kind)
        owner = groups.owner.get(node)
        if owner is not None and owner.rows is not None and node.kind != "store":
            _row_member(placed, node, owner, owner.rows)
        elif node.kind in ("elementwise", "pointwise"):
            _compute(placed, node)
        elif visit is not None:
            visit(placed, node)
    return placed


def _kernel(placed: Placement, node: Node) -> None:
    group = placed.groups.owner[node]
    for result in node.results:
        if node.memory is not None and result is node.results[-1]:
            assert node.memory.buffer is not None
            group.stores.append(Store(result, result, IDENTITY, IDENTITY, node.memory.buffer))
        elif placed.groups.readers(result) or result.outputs or len(node.results) > 1:
            placed.store_from(group, result, result, IDENTITY, IDENTITY)
            if result not in group.positions:
                placed.copy_rest(group, result)
    if not group.stores:
        return  # nobody needs it
    for position, operand in enumerate(node.operands):
        if node.declares(position) == "tensor" or not placed.choices.fuse:
            placed.groups.read(group, operand).tensor = True
        elif literal_of(operand) is None:
            read = placed.groups.read(group, operand)
            read.loads += 1
            read.straight = True


def _epilogue(placed: Placement, node: Node, group: Group) -> None:
    value = node.result
    path = group.positions[value]
    if placed.groups.readers(value) or value.outputs:
        placed.store_from(group, value, value, path, path)
    elif value not in placed.live:
        del group.members[node]
        return
    for operand in node.operands:
        hand = placed.groups.at_hand(operand)
        if hand is not None and hand[1] is group:
            placed.live.add(hand[0])
        elif literal_of(operand) is None:
            placed.groups.read(group, operand).contexts[path] = None


def _row_member(placed: Placement, node: Node, group: Group, rows: Rows) -> None:
    """An op of a row kernel: it is stored for whoever else reads it, and reads what comes from elsewhere."""
    value = node.result
    if placed.groups.readers(value) or value.outputs:
        placed.store_from(group, value, value, IDENTITY, IDENTITY)
    for operand in node.operands:
        if literal_of(operand) is not None or member_below(operand, group) is not None:
            continue
        read = placed.groups.read(group, operand)
        path = None if value in rows.row and node not in rows.reductions else rows.path(operand)
        if path is None:
            read.loads += 1
        else:
            read.contexts[path] = None


def _compute(placed: Placement, node: Node) -> None:
    group = placed.groups.owner.get(node)
    if group is not None:
        _epilogue(placed, node, group)
        return
    value = node.result
    readers = placed.groups.readers(value)
    stored = bool(value.outputs) or placed.choices.is_cut(node)
    if not readers and not stored:
        return
    if len(readers) > 1 and not placed.choices.is_cut(node):
        readers = placed.merge(value, readers)
    if not stored and len(readers) == 1:
        reason = placed.refusal(node, readers[0])
        if not reason:
            placed.pull(node, readers[0])
            return
        placed.choices.explain(node, reason)
        placed.alone(node)
    elif not stored and computed_again(placed, node, readers):
        return
    elif placed.host(node, readers) is None:
        placed.choices.explain(node, "other users")
        placed.alone(node)
    for reader in readers:
        if placed.choices.is_forced(node, reader) and not reader.access[value].tensor and node not in reader.members:
            reader.members[node] = "prologue"
            placed.groups.expand(reader, node)


def _view(placed: Placement, node: Node) -> None:
    value = node.result
    readers = placed.groups.readers(value)
    if literal_of(value) is not None:
        if readers and value.buffer is None:  # as a tensor: nothing else reads a literal
            group = placed.walk(value)
            placed.groups.add(group, node, "view")
            placed.store_from(group, value, value, IDENTITY, IDENTITY)
        return
    reshape = node.step is not None and node.step.perm is None
    whole = [r for r in readers if r.access[value].tensor]
    stored = bool(value.outputs) or placed.choices.is_cut(node) or (bool(whole) and not reshape)
    stored = stored or (reshape and any(_is_slow(reader, node) for reader in readers))
    if not readers and not stored:
        return
    across = next(filter(None, (placed.why_copy(node, reader) for reader in readers)), "")
    if across:
        placed.choices.explain(node, across)
        placed.alone(node)
        return
    if not stored and placed.choices.fuse:
        for reader in readers:
            placed.groups.look_through(reader, node)
        return
    if not placed.sink(node) and placed.host(node, readers) is None:
        placed.alone(node)


def _is_slow(reader: Group, node: Node) -> bool:
    """Whether a group would read a reshape element by element, and could not walk another space instead."""
    return (reader.core is not None or bool(reader.access[node.result].loads)) and scatters(node)


def _constant(placed: Placement, node: Node) -> None:
    value = node.result
    if placed.groups.readers(value):
        held = node.attrs["value"]
        array = held if is_large(held) else np.ascontiguousarray(held)
        value.buffer = Buffer(value.name, tensor_of(value), "constant", -1, node.nodes, array)
        placed.constants.append(value.buffer)


def _load(placed: Placement, node: Node) -> None:
    memory, value = node.operands[0], node.result
    readers = placed.groups.readers(value)
    later = [s for s in placed.writes.get(memory, ()) if not node.ancestors & s.bit]
    if not later or _updates_in_place(placed.groups, value, readers, later):
        value.buffer = memory.buffer
        if value.outputs:
            placed.copy_out(value)
        return
    if readers or value.outputs:
        group = placed.walk(value)
        placed.groups.add(group, node, "view")
        placed.groups.read(group, memory).loads += 1
        placed.store_from(group, value, value, IDENTITY, IDENTITY)


def _updates_in_place(groups: Groups, value: Value, readers: list[Group], later: list[Node]) -> bool:
    """Whether the only reader of a loaded value writes it back, element by element, before anyone else writes."""
    if len(readers) != 1 or value.outputs:
        return False
    group, access = readers[0], readers[0].access[value]
    first = next((s for s in later if groups.owner.get(s) is group), None)
    return (
        first is not None
        and all(s is first or s.ancestors & first.bit for s in later)
        and access.loads == 0
        and not access.tensor
        and list(access.contexts) == [IDENTITY]
        and all(store.path == IDENTITY for store in group.stores if store.buffer.kind == "mutable")
    )


def _store(placed: Placement, node: Node) -> None:
    memory, value = node.operands[0], node.operands[1]
    buffer = memory.buffer
    assert buffer is not None
    hand = placed.groups.at_hand(value) if placed.choices.fuse else None
    if hand is not None and placed.choices.cuts(value, hand[0], node):
        hand = None
    before = placed.groups.needs(node.operands[2])
    if hand is not None and placed.stores_well(hand[2]) and not before & hand[1].mask:
        base, group, path = hand
        placed.live.add(base)
        placed.groups.add(group, node, "epilogue")
        group.stores.append(Store(value, base, group.positions[base], path, buffer))
        return
    base, path = placed.root(value)
    group = placed.walk(base)
    placed.groups.add(group, node, "elementwise")
    group.stores.append(Store(value, base, IDENTITY, path, buffer))


_VISITORS = {
    "kernel": _kernel, "view": _view, "constant": _constant, "literal": _constant, "load": _load, "store": _store,
}  # fmt: skip
