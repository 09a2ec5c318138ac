"""Where a value is computed and stored: the moves that the backward walk of `pull` is made of.

A move makes a node a member of a group and notes what that group reads from then on.
"""

from __future__ import annotations

from compiler.graph.dims import Dim, floordiv
from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Analysis, Node, Value, literal_of, undo_views
from compiler.passes.fusion.epilogue import LARGEST, at_hand, chain_edges
from compiler.passes.fusion.groups import Group, Groups, Store
from compiler.passes.fusion.paths import IDENTITY, Path, Step, extend
from compiler.passes.fusion.records import Buffer, Edge, FusionOptions
from compiler.passes.fusion.strides import is_storable

MOST_EVALUATIONS = 8  # of one value per element of a kernel
MOST_REPEATED = 4  # ops in an expression that a broadcast makes a kernel compute again and again
MOST_OUTPUTS = 16  # of one kernel


class Placement:
    """The groups so far, what is stored where, and the moves."""

    def __init__(self, analysis: Analysis, groups: Groups, options: FusionOptions, reasons: dict[Edge, str]) -> None:
        self.analysis = analysis
        self.groups = groups
        self.options = options
        self.reasons = reasons
        self.outputs: list[Buffer | None] = [None] * len(analysis.outputs)
        self.constants: list[Buffer] = []
        self.live: set[Value] = set()  # values of epilogues that something needs
        self.cut = {edge[0] for edge in options.force_cut}

    def buffers(self, value: Value) -> list[Buffer]:
        """The buffers a value must be in: one per output that it is, or a temporary."""
        made = []
        for position in value.outputs:
            suffix = f".{position}" if value.outputs[0] != position else ""
            made.append(Buffer(value.name + suffix, tensor_of(value), "output", position, _nodes(value)))
            self.outputs[position] = made[-1]
        return made or [Buffer(value.name, tensor_of(value), "temporary", -1, _nodes(value))]

    def store_from(self, group: Group, value: Value, register: Value, context: Path, path: Path) -> None:
        """Let a group store a value that it has in a register."""
        buffers = self.buffers(value)
        value.buffer = buffers[0]
        group.stores += [Store(value, register, context, path, buffer) for buffer in buffers]

    def copy_out(self, value: Value) -> None:
        """A graph output that no op computes: an input, a constant or a literal seen through views."""
        group = self.groups.new(None, value.shape)
        if literal_of(value) is None:
            group.read(value).contexts[IDENTITY] = None
        buffers = self.buffers(value)
        group.stores = [Store(value, value, IDENTITY, IDENTITY, buffer) for buffer in buffers]
        if value.node is not None and value.node.kind == "view":
            self.groups.add(group, value.node, "view")
            value.buffer = buffers[0]

    def copy_rest(self, group: Group, value: Value) -> None:
        """A kernel that stores whole tensors writes each once: further outputs of the same value are copies."""
        extra = [store for store in group.stores if store.value is value][1:]
        group.stores = [store for store in group.stores if store not in extra]
        if extra:
            copy = self.groups.new(None, value.shape)
            copy.read(value).contexts[IDENTITY] = None
            copy.stores = extra

    def refusal(self, node: Node, group: Group) -> str:
        """Why a value may not be computed inside the one group that reads it; empty when it may."""
        if not self.options.fuse:
            return "fusion is off"
        access = group.access[node.result]
        if access.tensor:
            return "input is declared Tensor"
        if len(group.members) >= LARGEST:
            return "the kernel is full"
        if self.is_forced(node, group):
            return ""
        if (times := group.evaluations(node.result)) > MOST_EVALUATIONS:
            return f"would be computed {times} times per element"
        if access.expands and node.cost > MOST_REPEATED:
            return "a broadcast would repeat the whole computation"
        return ""

    def pull(self, node: Node, group: Group) -> None:
        """Compute a node inside the only group that reads it."""
        main = any(not isinstance(c, Value) for c in group.access[node.result].contexts)
        role = "elementwise" if group.core is None else "epilogue" if main else "prologue"
        self.groups.add(group, node, role)
        self.expand(node, group)

    def alone(self, node: Node) -> None:
        """Give a node a group of its own, which the library's elementwise driver walks."""
        base, path = self.root(node.result) if node.kind == "view" else (node.result, IDENTITY)
        group = self.groups.new(None, base.shape)
        group.read(base).contexts[IDENTITY] = None
        if base is node.result:
            self.groups.add(group, node, "view" if node.kind == "view" else "elementwise")
            self.store_from(group, base, base, IDENTITY, IDENTITY)
            self.expand(node, group)
            return
        self.groups.add(group, node, "view")
        for view in _views_down(node.operands[0], base):
            if view.node is not None:  # computed in every group that reads it: this one is not its owner
                group.members[view.node] = "view"
        self.store_from(group, node.result, base, IDENTITY, path)

    def root(self, value: Value) -> tuple[Value, Path]:
        """Where to root a group that stores a value: under its views, if an op computes it there: loads stay simple."""
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

    def sink(self, node: Node) -> bool:
        """Store a view by the kernel whose output it shows, if there is one."""
        hand = at_hand(node.result, self.groups) if self.options.fuse else None
        if hand is None or not is_storable(hand[2]):
            return False
        if any(e in self.options.force_cut for e in chain_edges(node.operands[0], hand[0], node)):
            return False
        base, group, path = hand
        self.live.add(base)
        self.store_from(group, node.result, base, group.positions[base], path)
        return True

    def host(self, node: Node, readers: list[Group]) -> Group | None:
        """Let a group that computes a value at its own position store it for the others; None when none can."""
        value = node.result
        if not self.options.fuse or self.is_cut(node):
            return None
        for group in readers:
            main = [c for c in group.access[value].contexts if not isinstance(c, Value)]
            if not main or (node.kind != "elementwise" and main[0] != IDENTITY):
                continue  # not computed where the group stores
            if len(group.stores) >= MOST_OUTPUTS or self.refusal(node, group):
                continue
            before = self.groups.reaching(group.dependencies)
            if any(before & other.mask for other in readers if other is not group):
                self.explain(node, "would create a cycle")
                continue
            self.groups.add(group, node, "elementwise" if group.core is None else "epilogue")
            self.store_from(group, value, value, main[0], main[0])
            self.expand(node, group)
            return group
        return None

    def merge(self, value: Value, readers: list[Group]) -> list[Group]:
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

    def expand(self, node: Node, group: Group) -> None:
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
        self.look_through(node, group)

    def look_through(self, node: Node, group: Group) -> None:
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

    def is_cut(self, node: Node) -> bool:
        """Whether the user wants this value stored."""
        if node.name not in self.cut:
            return False
        return any((node.name, user.name) in self.options.force_cut for user, _ in node.result.users)

    def is_forced(self, node: Node, group: Group) -> bool:
        """Whether the user wants this value computed in this group."""
        if not self.options.force_fuse:
            return False
        edges = {(node.name, user.name) for user, _ in node.result.users if user in group.members}
        return not edges.isdisjoint(self.options.force_fuse) and edges.isdisjoint(self.options.force_cut)

    def explain(self, node: Node, reason: str) -> None:
        """Say why a node is not computed with its users, unless that was said before."""
        if self.is_cut(node):
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


def tensor_of(value: Value) -> TensorType:
    """The type of the elements behind a value, buffers included."""
    return getattr(value.type, "tensor", value.type)


def _nodes(value: Value) -> tuple[str, ...]:
    return value.node.nodes if value.node is not None else (value.name,)
