"""Second half of fusion: everything that is not in a kernel's epilogue finds its group, from the outputs backwards.

Each value is visited after all its readers, so it is known who reads it and how. A value that one group alone reads is
computed there; a view or a literal in every group that reads it; a value that several read is stored, if possible by a
group that computes it anyway.
"""

from __future__ import annotations

import numpy as np

from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.epilogue import at_hand, chain_edges
from compiler.passes.fusion.groups import Group, Store
from compiler.passes.fusion.paths import IDENTITY
from compiler.passes.fusion.placement import Placement, tensor_of
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.strides import is_storable, scatters


class Puller(Placement):
    """Visits outputs, then every node backwards, and makes the fitting move for each."""

    def run(self) -> None:
        """Visit outputs, then every node backwards."""
        for index, value in enumerate(self.analysis.inputs):
            if hasattr(value.type, "shape"):
                kind = "mutable" if value.type.name == "mo.buffer" else "input"
                value.buffer = Buffer(value.name, tensor_of(value), kind, index, (value.name,))
        for value in dict.fromkeys(self.analysis.outputs):
            if value.node is None or value.node.kind in ("constant", "literal") or literal_of(value) is not None:
                self.copy_out(value)
        visitors = {
            "kernel": self._kernel, "elementwise": self._compute, "pointwise": self._compute, "view": self._view,
            "constant": self._constant, "literal": self._constant, "load": self._load, "store": self._store,
        }  # fmt: skip
        for node in reversed(self.analysis.nodes):
            visit = visitors.get(node.kind)
            if visit is not None:
                visit(node)

    def _kernel(self, node: Node) -> None:
        group = self.groups.owner[node]
        for result in node.results:
            if self.groups.readers(result) or result.outputs or len(node.results) > 1:
                self.store_from(group, result, result, IDENTITY, IDENTITY)
                if result not in group.positions:
                    self.copy_rest(group, result)
        if not group.stores:
            return  # nobody needs it
        for position, operand in enumerate(node.operands):
            if node.declares(position) == "tensor" or not self.options.fuse:
                group.read(operand).tensor = True
            elif literal_of(operand) is None:
                group.read(operand).loads += 1

    def _epilogue(self, node: Node, group: Group) -> None:
        value = node.result
        path = group.positions[value]
        if self.groups.readers(value) or value.outputs:
            self.store_from(group, value, value, path, path)
        elif value not in self.live:
            del group.members[node]
            return
        for operand in node.operands:
            hand = at_hand(operand, self.groups)
            if hand is not None and hand[1] is group:
                self.live.add(hand[0])
            elif literal_of(operand) is None:
                group.read(operand).contexts[path] = None

    def _compute(self, node: Node) -> None:
        group = self.groups.owner.get(node)
        if group is not None:
            self._epilogue(node, group)
            return
        value = node.result
        readers = self.groups.readers(value)
        stored = bool(value.outputs) or self.is_cut(node)
        if not readers and not stored:
            return
        if len(readers) > 1 and not self.is_cut(node):
            readers = self.merge(value, readers)
        if not stored and len(readers) == 1:
            reason = self.refusal(node, readers[0])
            if not reason:
                self.pull(node, readers[0])
                return
            self.explain(node, reason)
            self.alone(node)
        elif self.host(node, readers) is None:
            self.explain(node, "other users")
            self.alone(node)
        for reader in readers:
            if self.is_forced(node, reader) and not reader.access[value].tensor and node not in reader.members:
                reader.members[node] = "prologue"
                self.expand(node, reader)

    def _view(self, node: Node) -> None:
        value = node.result
        readers = self.groups.readers(value)
        if literal_of(value) is not None:
            if readers and value.buffer is None:  # as a tensor: nothing else reads a literal
                group = self.groups.new(None, value.shape)
                self.groups.add(group, node, "view")
                self.store_from(group, value, value, IDENTITY, IDENTITY)
            return
        reshape = node.step is not None and node.step.perm is None
        whole = [r for r in readers if r.access[value].tensor]
        stored = bool(value.outputs) or self.is_cut(node) or (bool(whole) and not reshape)
        stored = stored or (reshape and any(map(self._is_slow, readers, [node] * len(readers))))
        if not readers and not stored:
            return
        if not stored and self.options.fuse:
            for reader in readers:
                self.look_through(node, reader)
            return
        if not self.sink(node) and self.host(node, readers) is None:
            self.alone(node)

    def _is_slow(self, reader: Group, node: Node) -> bool:
        """Whether a group would read a reshape element by element, and could not walk another space instead."""
        return (reader.core is not None or bool(reader.access[node.result].loads)) and scatters(node)

    def _constant(self, node: Node) -> None:
        value = node.result
        if self.groups.readers(value):
            array = np.ascontiguousarray(node.attrs["value"])
            value.buffer = Buffer(value.name, tensor_of(value), "constant", -1, node.nodes, array)
            self.constants.append(value.buffer)

    def _load(self, node: Node) -> None:
        memory, value = node.operands[0], node.result
        readers = self.groups.readers(value)
        later = [s for s in self.analysis.stores.get(memory, ()) if not node.ancestors & s.bit]
        if not later or self._updates_in_place(value, readers, later):
            value.buffer = memory.buffer
            if value.outputs:
                self.copy_out(value)
            return
        if readers or value.outputs:
            group = self.groups.new(None, value.shape)
            self.groups.add(group, node, "view")
            group.read(value).contexts[IDENTITY] = None
            group.read(memory).loads += 1
            self.store_from(group, value, value, IDENTITY, IDENTITY)

    def _updates_in_place(self, value: Value, readers: list[Group], later: list[Node]) -> bool:
        """Whether the only reader of a loaded value writes it back, element by element, before anyone else writes."""
        if len(readers) != 1 or value.outputs:
            return False
        group, access = readers[0], readers[0].access[value]
        first = next((s for s in later if self.groups.owner.get(s) is group), None)
        return (
            first is not None
            and all(s is first or s.ancestors & first.bit for s in later)
            and access.loads == 0
            and not access.tensor
            and list(access.contexts) == [IDENTITY]
            and all(store.path == IDENTITY for store in group.stores if store.buffer.kind == "mutable")
        )

    def _store(self, node: Node) -> None:
        memory, value = node.operands[0], node.operands[1]
        buffer = memory.buffer
        assert buffer is not None
        hand = at_hand(value, self.groups) if self.options.fuse else None
        if hand is not None and any(e in self.options.force_cut for e in chain_edges(value, hand[0], node)):
            hand = None
        chain = node.operands[2].node
        before = 0 if chain is None else self.groups.reaching(chain.ancestors | chain.bit)
        if hand is not None and is_storable(hand[2]) and not before & hand[1].mask:
            base, group, path = hand
            self.live.add(base)
            self.groups.add(group, node, "epilogue")
            group.stores.append(Store(value, base, group.positions[base], path, buffer))
            return
        base, path = self.root(value)
        group = self.groups.new(None, base.shape)
        self.groups.add(group, node, "elementwise")
        if literal_of(value) is None:
            group.read(base).contexts[IDENTITY] = None
        group.stores.append(Store(value, base, IDENTITY, path, buffer))
