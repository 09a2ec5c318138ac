"""Second half of fusion: everything that is not in a kernel's epilogue finds its group, from the outputs backwards.

Each value is visited after all its readers, so it is known who reads it and how. A value that one group alone reads is
computed there; a view or a literal in every group that reads it; a value that several read is stored, if possible by a
group that computes it anyway.
"""

from __future__ import annotations

from compiler.graph.dims import Dim, floordiv
from compiler.passes.fusion.analysis import Analysis, Node, Value, literal_of, undo_views
from compiler.passes.fusion.epilogue import LARGEST, at_hand, chain_edges
from compiler.passes.fusion.groups import Group, Groups, Store
from compiler.passes.fusion.paths import IDENTITY, Path, Step, extend
from compiler.passes.fusion.records import Buffer, Edge, FusionOptions
from compiler.passes.fusion.strides import is_storable, scatters

MOST_EVALUATIONS = 8  # of one value per element of a kernel
MOST_REPEATED = 4  # ops in an expression that a broadcast makes a kernel compute again and again
MOST_OUTPUTS = 16  # of one kernel


class Puller:
    """Assigns every node to the groups that compute it and decides what is stored where."""

    def __init__(self, analysis: Analysis, groups: Groups, options: FusionOptions, reasons: dict[Edge, str]) -> None:
        self.analysis = analysis
        self.groups = groups
        self.options = options
        self.reasons = reasons
        self.outputs: list[Buffer | None] = [None] * len(analysis.outputs)
        self.constants: list[Buffer] = []
        self.live: set[Value] = set()  # values of epilogues that something needs
        self.cut = {edge[0] for edge in options.force_cut}

    def run(self) -> None:
        """Visit outputs, then every node backwards."""
        for index, value in enumerate(self.analysis.inputs):
            if hasattr(value.type, "shape"):
                kind = "mutable" if value.type.name == "mo.buffer" else "input"
                value.buffer = Buffer(value.name, _tensor(value), kind, index, (value.name,))
        for value in dict.fromkeys(self.analysis.outputs):
            if value.node is None or value.node.kind in ("constant", "literal") or literal_of(value) is not None:
                self._copy_out(value)
        visitors = {
            "kernel": self._kernel, "elementwise": self._compute, "pointwise": self._compute, "view": self._view,
            "constant": self._constant, "literal": self._constant, "load": self._load, "store": self._store,
        }  # fmt: skip
        for node in reversed(self.analysis.nodes):
            visit = visitors.get(node.kind)
            if visit is not None:
                visit(node)

    # Where things are stored.

    def _buffers(self, value: Value) -> list[Buffer]:
        """The buffers a value must be in: one per output that it is, or a temporary."""
        made = []
        for position in value.outputs:
            suffix = f".{position}" if value.outputs[0] != position else ""
            made.append(Buffer(value.name + suffix, _tensor(value), "output", position, _nodes(value)))
            self.outputs[position] = made[-1]
        return made or [Buffer(value.name, _tensor(value), "temporary", -1, _nodes(value))]

    def _store_from(self, group: Group, value: Value, register: Value, context: Path, path: Path) -> None:
        """Let a group store a value that it has in a register."""
        buffers = self._buffers(value)
        value.buffer = buffers[0]
        group.stores += [Store(value, register, context, path, buffer) for buffer in buffers]

    def _copy_out(self, value: Value) -> None:
        """A graph output that no op computes: an input, a constant or a literal seen through views."""
        group = self.groups.new(None, value.shape)
        if literal_of(value) is None:
            group.read(value).contexts[IDENTITY] = None
        buffers = self._buffers(value)
        group.stores = [Store(value, value, IDENTITY, IDENTITY, buffer) for buffer in buffers]
        if value.node is not None and value.node.kind == "view":
            self.groups.add(group, value.node, "view")
            value.buffer = buffers[0]

    def _copy_rest(self, group: Group, value: Value) -> None:
        """A kernel that stores whole tensors writes each once: further outputs of the same value are copies."""
        extra = [store for store in group.stores if store.value is value][1:]
        group.stores = [store for store in group.stores if store not in extra]
        if extra:
            copy = self.groups.new(None, value.shape)
            copy.read(value).contexts[IDENTITY] = None
            copy.stores = extra

    # One visit per kind of node.

    def _kernel(self, node: Node) -> None:
        group = self.groups.owner[node]
        for result in node.results:
            if self.groups.readers(result) or result.outputs or len(node.results) > 1:
                self._store_from(group, result, result, IDENTITY, IDENTITY)
                if result not in group.positions:
                    self._copy_rest(group, result)
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
            self._store_from(group, value, value, path, path)
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
        stored = bool(value.outputs) or self._is_cut(node)
        if not readers and not stored:
            return
        if len(readers) > 1 and not self._is_cut(node):
            readers = self._merge(value, readers)
        if not stored and len(readers) == 1 and not (reason := self._refusal(node, readers[0])):
            self._pull(node, readers[0])
            return
        if not stored and len(readers) == 1:
            self._explain(node, reason)
        if self._host(node, readers) is None:
            self._alone(node)
            self._explain(node, "other users")
        for reader in readers:
            if self._is_forced(node, reader) and not reader.access[value].tensor and node not in reader.members:
                reader.members[node] = "prologue"
                self._expand(node, reader)

    def _view(self, node: Node) -> None:
        value = node.result
        readers = self.groups.readers(value)
        if literal_of(value) is not None:
            if readers and value.buffer is None:  # as a tensor: nothing else reads a literal
                group = self.groups.new(None, value.shape)
                self.groups.add(group, node, "view")
                self._store_from(group, value, value, IDENTITY, IDENTITY)
            return
        reshape = node.step is not None and node.step.perm is None
        whole = [r for r in readers if r.access[value].tensor]
        stored = bool(value.outputs) or self._is_cut(node) or (bool(whole) and not reshape)
        stored = stored or (reshape and any(map(self._is_slow, readers, [node] * len(readers))))
        if not readers and not stored:
            return
        if not stored and self.options.fuse:
            for reader in readers:
                self._look_through(node, reader)
            return
        if not self._sink(node) and self._host(node, readers) is None:
            self._alone(node)

    def _is_slow(self, reader: Group, node: Node) -> bool:
        """Whether a group would read a reshape element by element, and could not walk another space instead."""
        return (reader.core is not None or bool(reader.access[node.result].loads)) and scatters(node)

    def _constant(self, node: Node) -> None:
        value = node.result
        if self.groups.readers(value):
            value.buffer = Buffer(value.name, _tensor(value), "constant", -1, node.nodes, node.op)
            self.constants.append(value.buffer)

    def _load(self, node: Node) -> None:
        memory, value = node.operands[0], node.result
        readers = self.groups.readers(value)
        later = [s for s in self.analysis.stores.get(memory, ()) if not node.ancestors & s.bit]
        if not later or self._updates_in_place(value, readers, later):
            value.buffer = memory.buffer
            if value.outputs:
                self._copy_out(value)
            return
        if readers or value.outputs:
            group = self.groups.new(None, value.shape)
            self.groups.add(group, node, "view")
            group.read(value).contexts[IDENTITY] = None
            group.read(memory).loads += 1
            self._store_from(group, value, value, IDENTITY, IDENTITY)

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
        base, path = self._root(value)
        group = self.groups.new(None, base.shape)
        self.groups.add(group, node, "elementwise")
        if literal_of(value) is None:
            group.read(base).contexts[IDENTITY] = None
        group.stores.append(Store(value, base, IDENTITY, path, buffer))

    # How a node finds its place.

    def _refusal(self, node: Node, group: Group) -> str:
        """Why a value may not be computed inside the one group that reads it; empty when it may."""
        if not self.options.fuse:
            return "fusion is off"
        access = group.access[node.result]
        if access.tensor:
            return "input is declared Tensor"
        if len(group.members) >= LARGEST:
            return "the kernel is full"
        if self._is_forced(node, group):
            return ""
        if (times := group.evaluations(node.result)) > MOST_EVALUATIONS:
            return f"would be computed {times} times per element"
        if access.expands and node.cost > MOST_REPEATED:
            return "a broadcast would repeat the whole computation"
        return ""

    def _pull(self, node: Node, group: Group) -> None:
        """Compute a node inside the only group that reads it."""
        main = any(not isinstance(c, Value) for c in group.access[node.result].contexts)
        role = "elementwise" if group.core is None else "epilogue" if main else "prologue"
        self.groups.add(group, node, role)
        self._expand(node, group)

    def _alone(self, node: Node) -> None:
        """Give a node a group of its own, which the library's elementwise driver walks."""
        base, path = self._root(node.result) if node.kind == "view" else (node.result, IDENTITY)
        group = self.groups.new(None, base.shape)
        group.read(base).contexts[IDENTITY] = None
        if base is node.result:
            self.groups.add(group, node, "view" if node.kind == "view" else "elementwise")
            self._store_from(group, base, base, IDENTITY, IDENTITY)
            self._expand(node, group)
            return
        self.groups.add(group, node, "view")
        for view in _views_down(node.operands[0], base):
            group.members[view.node] = "view"  # computed in every group that reads it: this one is not its owner
        self._store_from(group, node.result, base, IDENTITY, path)

    def _root(self, value: Value) -> tuple[Value, Path]:
        """Where to root a group that stores `value`: under its views when an op computes it there, so loads stay simple."""
        base, path = undo_views(value)
        if (
            self.options.fuse
            and is_storable(path)
            and base.node is not None
            and base.node.kind in ("elementwise", "pointwise")
            and base.node not in self.groups.owner
            and not any(v.node.name in self.cut for v in (base, *_views_down(value, base)) if v.node)
        ):
            return base, path
        return value, IDENTITY

    def _sink(self, node: Node) -> bool:
        """Store a view by the kernel whose output it shows, if there is one."""
        hand = at_hand(node.result, self.groups) if self.options.fuse else None
        if hand is None or not is_storable(hand[2]):
            return False
        if any(e in self.options.force_cut for e in chain_edges(node.operands[0], hand[0], node)):
            return False
        base, group, path = hand
        self.live.add(base)
        self._store_from(group, node.result, base, group.positions[base], path)
        return True

    def _host(self, node: Node, readers: list[Group]) -> Group | None:
        """Let a group that computes a value at its own position store it for the others; None when none can."""
        value = node.result
        if not self.options.fuse or self._is_cut(node):
            return None
        for group in readers:
            access = group.access[value]
            main = [c for c in access.contexts if not isinstance(c, Value)]
            if access.tensor or not main or len(group.stores) >= MOST_OUTPUTS or len(group.members) >= LARGEST:
                continue
            if node.kind != "elementwise" and main[0] != IDENTITY:
                continue
            before = self.groups.reaching(group.dependencies)
            if any(before & other.mask for other in readers if other is not group):
                self._explain(node, "would create a cycle")
                continue
            self.groups.add(group, node, "elementwise" if group.core is None else "epilogue")
            self._store_from(group, value, value, main[0], main[0])
            self._expand(node, group)
            return group
        return None

    def _merge(self, value: Value, readers: list[Group]) -> list[Group]:
        """Make elementwise groups over one space that share this value one group, where no path runs between them."""
        if not self.options.fuse:
            return readers
        same = [
            g for g in readers
            if g.core is None and g.space == value.shape and IDENTITY in g.access[value].contexts
            and not g.access[value].tensor and g.stores
        ]  # fmt: skip
        if len(same) != len(readers):
            return readers
        first, rest = same[0], []
        for other in same[1:]:
            apart = not self.groups.reaching(first.dependencies) & other.mask
            apart = apart and not self.groups.reaching(other.dependencies) & first.mask
            full = len(first.stores) + len(other.stores) > MOST_OUTPUTS
            if apart and not full and len(first.members) + len(other.members) < LARGEST:
                self.groups.merge(first, other)
            else:
                rest.append(other)
        return [first, *rest]

    def _expand(self, node: Node, group: Group) -> None:
        """Note what a group reads once it computes a node."""
        value = node.result
        access = group.access[value]
        if node.kind == "elementwise":
            contexts = dict(access.contexts)
            if access.loads:
                contexts[value] = None
            for operand in node.operands:
                if literal_of(operand) is None:
                    read = group.read(operand)
                    read.contexts.update(contexts)
                    read.expands |= access.expands
            return
        for path in [c for c in access.contexts if not isinstance(c, Value) and c != IDENTITY]:
            del access.contexts[path]  # only a lambda of its own can be seen through views
            access.loads += 1
        self._look_through(node, group)

    def _look_through(self, node: Node, group: Group) -> None:
        """Note what a group reads through a view or pointwise op."""
        value = node.result
        access = group.access[value]
        times = group.evaluations(value)
        for position, operand in enumerate(node.operands):
            if node.kind == "pointwise" and node.declares(position) == "tensor":
                group.read(operand).tensor = True
                continue
            if literal_of(operand) is not None:
                continue
            read = group.read(operand)
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

    # Options and reasons.

    def _is_cut(self, node: Node) -> bool:
        if node.name not in self.cut:
            return False
        return any((node.name, user.name) in self.options.force_cut for user, _ in node.result.users)

    def _is_forced(self, node: Node, group: Group) -> bool:
        if not self.options.force_fuse:
            return False
        return any(
            (node.name, user.name) in self.options.force_fuse and user in group.members for user, _ in node.result.users
        )

    def _explain(self, node: Node, reason: str) -> None:
        if self._is_cut(node):
            reason = "forced cut"
        for user, _ in node.result.users:
            self.reasons.setdefault((node.name, user.name), reason)


def _views_down(value: Value, base: Value) -> list[Value]:
    """The values from `value` down to just above `base`."""
    found = []
    while value is not base and value.node is not None:
        found.append(value)
        value = value.node.operands[0]
    return found


def _is_larger(size: int | Dim, than: int | Dim) -> bool:
    """Whether one count of elements may exceed the other."""
    if size == than:
        return False
    if isinstance(size, int) and isinstance(than, int):
        return size > than
    ratio = floordiv(than, size)
    return not (isinstance(ratio, int) and ratio >= 1)


def _tensor(value: Value) -> object:
    return getattr(value.type, "tensor", value.type)


def _nodes(value: Value) -> tuple[str, ...]:
    return value.node.nodes if value.node is not None else (value.name,)
