"""Where a value is computed and stored: the moves that the backward walk of `pull` is made of.

A move makes a node a member of a group and notes what that group reads from then on.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from compiler.graph.types import TensorType
from compiler.language.stored_operands import GivenOperand
from compiler.passes.fusion.analysis import (
    Analysis,
    Node,
    Value,
    below_views,
    count,
    last_axis_below,
    literal_of,
    views_between,
)
from compiler.passes.fusion.choices import Choices
from compiler.passes.fusion.facts.layout import asks_for_layout
from compiler.passes.fusion.facts.work import (
    LIGHT,
    why_not_beside,
    why_not_inside,
    why_not_repeat,
    why_not_singly,
    why_not_twice,
)
from compiler.passes.fusion.groups import (
    LARGEST,
    Access,
    Context,
    Group,
    Groups,
    Store,
    comes_singly,
    is_dear,
    keeps_rows,
)
from compiler.passes.fusion.paths import IDENTITY, Path, followed
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.rows.again import why_not_again, why_not_kept
from compiler.passes.fusion.strides import is_storable, reads_across, stores_across

MOST_EVALUATIONS = 8  # of one value per element of a kernel
MOST_REPEATED = 4  # ops in an expression that a broadcast makes a kernel compute again and again
_FEW = 64  # elements whose work is no matter
MOST_OUTPUTS = 256  # of one kernel: with its inputs they fit in the 4096 bytes of arguments that a GPU's kernel takes


class Placement:
    """The groups so far, what is stored where, and the moves."""

    def __init__(self, analysis: Analysis, groups: Groups, choices: Choices) -> None:
        self.library = analysis.library
        self.target = analysis.target
        self.groups = groups
        self.choices = choices
        self.writes = analysis.stores
        self.outputs: list[Buffer | None] = [None] * len(analysis.outputs)
        self.constants: list[Buffer] = []
        self.live: set[Value] = set()  # values of epilogues that something needs
        self._stored: dict[Node, tuple[bool, ...]] = {}  # of kernels that were asked: the operands they want in memory
        self._turned: dict[Group, tuple[int, int]] = {}  # how many values a group read when it was asked what it turns

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

    def walk(self, value: Value) -> Group:
        """A group for the library's elementwise driver, which walks the positions of a value."""
        group = self.groups.new(None, value.shape)
        if literal_of(value) is None:
            self.groups.read(group, value).contexts[IDENTITY] = None
        return group

    def copy_out(self, value: Value) -> None:
        """A graph output that no op computes: an input, a constant or a literal seen through views."""
        group = self.walk(value)
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
            self.walk(value).stores = extra

    def refusal(self, node: Node, group: Group) -> str:
        """Why a value may not be computed inside the one group that reads it; empty when it may."""
        if not self.choices.fuse:
            return "fusion is off"
        access = group.access[node.result]
        if access.tensor:
            return f"input is {node.result.declared}"
        if len(group.members) >= LARGEST:
            return "the kernel is full"
        if self.choices.is_forced(node, group):
            return ""
        if (times := group.evaluations(node.result)) > MOST_EVALUATIONS:
            return f"would be computed {times} times per element"
        if access.expands and node.cost > MOST_REPEATED:
            return "a broadcast would repeat the whole computation"
        if reason := self._why_not_operand(node, group) or _why_not_before(node, group):
            return reason
        if self.choices.has_vectors:
            if (why := why_not_again(node, group)) or (why := _why_not_after(node, group)):
                return why
            if _one_by_one(node, group):
                return "would be computed one element at a time, as the last axis has one"
            if reason := self._why_not_turned(node, group):
                return reason
            if reason := why_not_twice(node.work, node.result.numel, times):
                return reason
            if is_dear(node) and (reason := _why_crowded([*group.members, node], len(group.stores), group)):
                return reason
        return why_not_repeat(node.work, node.result.numel, count(group.space)) if access.expands else ""

    def _why_not_operand(self, node: Node, group: Group) -> str:
        """Why a kernel had better find a value in memory that it reads as an operand; empty when it may compute it."""
        core = group.core
        if core is None or core.kind != "kernel" or group.rows is not None:
            return ""
        for position, operand in enumerate(core.operands):
            if _below_all_views(operand) is node.result and self._wants_stored(core)[position]:
                return f"{core.signature.name} reads it from memory sooner than it computes it"
        return ""

    def _wants_stored(self, core: Node) -> tuple[bool, ...]:
        wanted = self._stored.get(core)
        if wanted is None:
            name, op = core.signature.name, core.attrs["kernel"] if core.custom else core.op.name
            operands = [
                GivenOperand(value.type, last_axis_below(value), _may_be_inside(_below_all_views(value), name))
                for value in core.operands
            ]
            wanted = self._stored[core] = self.library.stored(op, name, self.target, operands, core.attrs)
        return wanted

    def _why_not_turned(self, node: Node, group: Group) -> str:
        """Why a value had better not be computed while it is turned, in small squares; empty when it may."""
        if group.core is not None or not (is_dear(node) or node.kind == "pointwise"):
            return ""
        if any(not isinstance(context, Value) for context in group.access[node.result].contexts):
            return ""  # computed where the group stores
        seen, elements = self._turned.get(group, (0, 0))
        for value in islice(group.access, seen, None):  # each once, as groups may read many
            if value.node is not None and value.node.kind == "view":
                elements = max(elements, reads_across(value.node, on_card=False, itself=True))
        self._turned[group] = len(group.access), elements
        return f"its {elements} elements are computed sooner in the order in which they lie" if elements else ""

    def pull(self, node: Node, group: Group) -> None:
        """Compute a node inside the only group that reads it."""
        main = any(not isinstance(c, Value) for c in group.access[node.result].contexts)
        more = count(group.space) - node.result.numel
        if (
            group.access[node.result].expands
            and node.kind == "elementwise"
            and not (isinstance(more, int) and more <= 0)
        ):
            self.choices.repeated[node.name] = node.own_work * more
        role = "elementwise" if group.core is None else "epilogue" if main else "prologue"
        self.groups.add(group, node, role)
        self.groups.expand(group, node)

    def alone(self, node: Node) -> None:
        """Give a node a group of its own."""
        base, path = self.root(node.result) if node.kind == "view" else (node.result, IDENTITY)
        group = self.walk(base)
        if base is node.result:
            self.groups.add(group, node, "view" if node.kind == "view" else "elementwise")
            self.store_from(group, base, base, IDENTITY, IDENTITY)
            self.groups.expand(group, node)
            return
        self.groups.add(group, node, "view")
        for view in views_between(node.operands[0], base):
            group.members[view] = "view"  # computed in every group that reads it: this one is not its owner
        self.store_from(group, node.result, base, IDENTITY, path)

    def root(self, value: Value) -> tuple[Value, Path]:
        """Where to root a group that stores a value: under its views, if an op computes it there: loads stay simple."""
        base, chain = below_views(value)
        path = followed(IDENTITY, chain)
        if (
            self.choices.fuse
            and self.stores_well(path)
            and base.node is not None
            and base.node.kind in ("elementwise", "pointwise")
            and base.node not in self.groups.owner
            and not any(node.name in self.choices.cut for node in (base.node, *views_between(value, base)))
        ):
            return base, path
        return value, IDENTITY

    def stores_well(self, path: Path) -> bool:
        """Whether a kernel can store through a path, and not in a cache line for each element."""
        return is_storable(path) and not stores_across(path, on_card=self.choices.on_card)

    def why_copy(self, node: Node, group: Group) -> str:
        """Why a group had better read a copy of a view than what it shows; empty when it had not. A kernel that asks
        how things lie in memory can go another way, if all that it reads at a position lies alike."""
        elements = reads_across(node, on_card=self.choices.on_card) if self.choices.fuse else 0
        value, core = node.result, group.core
        read = group.access[value].contexts
        at_hand = any(not isinstance(context, Value) for context in read)
        whole = core is not None and value in core.operands
        before = [context for context in read if core is not None and context in core.operands]
        near = at_hand or whole or before
        if not elements or not (near or group.access[value].straight):
            return ""
        if near and (not at_hand and self.asks(core) if core is not None else self._goes_in_tiles(group, value)):
            same = read if core is None else before
            if not any(
                self._is_straight(other, node, group) and (_meets(access, same) or (core is None and access.straight))
                for other, access in group.access.items()
            ):
                return ""
        return f"{elements} elements would be read from a cache line each; a copy is made of whole ones"

    def asks(self, core: Node) -> bool:
        """Whether a kernel asks how its operands lie in memory. To read all that it calls takes a while, so it is read
        where the answer makes a difference."""
        return core.kind == "kernel" and asks_for_layout(
            self.library, core.signature.name, on_card=self.choices.on_card
        )

    def _goes_in_tiles(self, group: Group, value: Value) -> bool:
        """Whether an elementwise kernel can as well go along memory, which it then does a register at a time; a card
        takes tiles."""
        if group.access[value].straight:
            return False
        return self.choices.on_card or all(member.own_work <= LIGHT for member in group.members)

    def _is_straight(self, value: Value, view: Node, group: Group) -> bool:
        """Whether a group reads a value, visited after a view, in the order in which it lies in memory."""
        node = value.node
        if literal_of(value) is not None or node is view or (node is not None and node in group.members):
            return False
        if node is None or node.kind != "view":
            return True
        return value.buffer is not None or (
            node.index < view.index and not reads_across(node, on_card=self.choices.on_card)
        )

    def sink(self, node: Node) -> bool:
        """Store a view by the kernel whose output it shows, if there is one."""
        hand = self.groups.at_hand(node.result) if self.choices.fuse else None
        if hand is None or not self.stores_well(hand[2]) or self.choices.cuts(node.operands[0], hand[0], node):
            return False
        base, group, path = hand
        self.live.add(base)
        self.store_from(group, node.result, base, group.positions[base], path)
        return True

    def host(self, node: Node, readers: list[Group]) -> Group | None:
        """Let a group that computes a value at its own position store it for the others; None when none can."""
        value = node.result
        if not self.choices.fuse or self.choices.is_cut(node):
            return None
        for group in readers:
            main = [c for c in group.access[value].contexts if not isinstance(c, Value)]
            if not main or (node.kind != "elementwise" and main[0] != IDENTITY):
                continue  # not computed where the group stores
            if group.rows is not None and group.rows.path(value) is None:
                continue  # of another shape than the rows that are walked
            reason = self.refusal(node, group) or (why_not_kept(node, group) if self.choices.has_vectors else "")
            if not reason and self.choices.has_vectors and not self.choices.is_forced(node, group):
                reason = _why_crowded([*group.members, node], len(group.stores) + 1, group)
            if reason:
                self.choices.explain(node, reason)
            if reason or len(group.stores) >= MOST_OUTPUTS:
                continue
            others = [other for other in readers if other is not group and other.mask]
            above = min((other.first for other in others), default=0)
            before = self.groups.reaching(group.dependencies, above) if others else 0
            if any(before & other.mask for other in others):
                self.choices.explain(node, "would create a cycle")
                continue
            self.groups.add(group, node, "elementwise" if group.core is None else "epilogue")
            self.store_from(group, value, value, main[0], main[0])
            self.groups.expand(group, node)
            return group
        return None

    def merge(self, value: Value, readers: list[Group]) -> list[Group]:
        """Make elementwise groups over one space that share this value one group, where no path runs between them."""
        if not self.choices.fuse:
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
            apart = not self.groups.reaching(first.dependencies, max(other.first, 0)) & other.mask
            apart = apart and not self.groups.reaching(other.dependencies, max(first.first, 0)) & first.mask
            stored = len(first.stores) + len(other.stores)
            full = stored > MOST_OUTPUTS
            if self.choices.has_vectors and _why_crowded([*first.members, *other.members], stored, first):
                full = True
            if apart and not full and len(first.members) + len(other.members) < LARGEST:
                self.groups.merge(first, other)
            else:
                rest.append(other)
        return [first, *rest]


def _why_crowded(members: Iterable[Node], stored: int, group: Group) -> str:
    """Why a loop of its own that does these ops had better not store so many results; empty when it may."""
    if group.core is not None:
        return ""
    return why_not_beside(sum(node.own_work for node in members if is_dear(node)), stored, count(group.space))


def tensor_of(value: Value) -> TensorType:
    """The type of the elements behind a value, buffers included."""
    return getattr(value.type, "tensor", value.type)


def _nodes(value: Value) -> tuple[str, ...]:
    return value.node.nodes if value.node is not None else (value.name,)


def _below_all_views(value: Value) -> Value:
    """The value that a chain of views shows."""
    while value.node is not None and value.node.kind == "view":
        value = value.node.operands[0]
    return value


def _may_be_inside(value: Value, kernel: str) -> bool:
    """Whether a value may be computed by the kernel that reads it, as far as it alone is concerned."""
    node = value.node
    if node is None or node.kind not in ("elementwise", "pointwise") or len(value.users) != 1 or value.outputs:
        return False
    return not why_not_inside(node.dear, value.numel, kernel)


def _meets(access: Access, contexts: Iterable[Context]) -> bool:
    """Whether something is read in one of some contexts."""
    return any(context in access.contexts for context in contexts)


def _why_not_before(node: Node, group: Group) -> str:
    """Why a kernel had better not compute a value while it loads its operands; empty when it may."""
    core, access = group.core, group.access[node.result]
    if core is None or core.signature.reduction or group.rows is not None:
        return ""
    if not access.loads and not any(isinstance(context, Value) for context in access.contexts):
        return ""
    if keeps_rows(core):
        return ""
    return why_not_inside(node.dear, node.result.numel, core.signature.name)


def _why_not_after(node: Node, group: Group) -> str:
    """Why a kernel had better not compute a value beside its results, which it has one at a time; empty when it may."""
    at_hand = any(not isinstance(context, Value) for context in group.access[node.result].contexts)
    return why_not_singly(node.work, node.result.numel) if at_hand and comes_singly(group) else ""


def _one_by_one(node: Node, group: Group) -> bool:
    """Whether work of a group would not be done for a vector of elements: along an axis of one, which a kernel walks
    where it reduces the axes before it, or where a pointwise op must see its own positions."""
    shape = node.result.shape
    if len(shape) < 2 or shape[-1] != 1 or (isinstance(node.result.numel, int) and node.result.numel <= _FEW):
        return False
    if node.kind == "pointwise":
        return group.core is None and sum(member.own_work for member in group.members) > LIGHT
    if group.core is None or not group.core.signature.reduction:
        return False
    return node.work > LIGHT and len(shape) - 1 not in group.core.attrs.get("axes", ())
