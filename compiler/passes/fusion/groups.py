"""Groups of nodes that become one kernel, how each value is read inside them, and the check that keeps them acyclic."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.graph.dims import Dim, floordiv
from compiler.passes.fusion.analysis import Node, Value, below_views, literal_of
from compiler.passes.fusion.facts.spans import Spans
from compiler.passes.fusion.facts.work import LIGHT
from compiler.passes.fusion.paths import IDENTITY, Path, Step, extend, followed, is_linear
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.row_space import Rows

# A place inside a kernel where values are computed: a path (the main lambda, at a position seen through that path) or
# a value (the lambda that computes that value at any position).
Context = Path | Value

_KEPT_ROW = 2048  # elements of a row that kernels keep on their stack, whatever their dtype
_FEW_IN_LINE = 8  # results of one line that make no vector
LARGEST = 256  # ops in one kernel


@dataclass(slots=True, eq=False)
class Access:
    """How a group reads a value: in which contexts, how often as a loadable, and whether whole as a tensor."""

    contexts: dict[Context, None] = field(default_factory=dict)
    loads: int = 0  # evaluations per element of the kernel through views, pointwise ops and the core
    tensor: bool = False
    expands: bool = False  # read more often than it has elements
    straight: bool = False  # read along its own last axis by what is not at the kernel's position

    def merge(self, other: Access) -> None:
        """Add what another access does."""
        self.contexts.update(other.contexts)
        self.loads += other.loads
        self.tensor |= other.tensor
        self.expands |= other.expands
        self.straight |= other.straight

    @property
    def goes_along(self) -> bool:
        """Whether it is read along its own last axis, as far as that is known."""
        return self.straight or any(not isinstance(context, Value) for context in self.contexts)


@dataclass(slots=True, eq=False)
class Store:
    """A result of a group: `value` goes to `buffer`; it is `register`, computed in `context`, seen through `path`."""

    value: Value
    register: Value
    context: Path
    path: Path
    buffer: Buffer


class Group:
    """A kernel to be. `core` is its kernel op; without one the library's elementwise driver walks `space`."""

    __slots__ = ("access", "core", "dependencies", "final", "mask", "members", "number", "positions", "rows",
                 "sequels", "space", "stores")  # fmt: skip

    def __init__(self, number: int, core: Node | None, space: tuple[int | Dim, ...]) -> None:
        self.number = number
        self.core = core
        self.space = space
        self.members: dict[Node, str] = {}  # node -> role
        self.positions: dict[Value, Path] = {}  # values at hand in the main lambda of a kernel's output
        self.access: dict[Value, Access] = {}
        self.stores: list[Store] = []
        self.rows: Rows | None = None  # what a row kernel goes over; None for any other kernel
        self.mask = 0
        self.sequels = 0  # the ops that its kernel does in a later part
        self.dependencies = 0
        self.final: Group = self  # the group this one was merged into
        if core is not None:
            self.add(core, "core")
            if core.signature.output == "fused" and len(core.results) == 1 and core.memory is None:
                self.positions[core.result] = IDENTITY

    @property
    def merged(self) -> Group:
        """What this group became."""
        group = self
        while group.final is not group:
            group = group.final
        return group

    def add(self, node: Node, role: str) -> None:
        """Take a node in."""
        self.members[node] = role
        self.mask |= node.bit
        self.dependencies |= node.ancestors

    @property
    def first(self) -> int:
        """The number of its first op."""
        return (self.mask & -self.mask).bit_length() - 1

    def is_leaf(self, value: Value) -> bool:
        """Whether a value is in memory when this group runs: stored, and not by the group itself."""
        return value.buffer is not None and (value.node is None or value.node not in self.members)

    def sees_through(self, node: Node) -> bool:
        """Whether this group reads what a view shows in place."""
        return node.kind == "view" and node.result in self.access and node.result.buffer is None

    def evaluations(self, value: Value) -> int:
        """How many times per element of the kernel a value read here is computed."""
        access = self.access[value]
        times = access.loads
        for context in access.contexts:
            times += self.access[context].loads if isinstance(context, Value) else 1
        return times


class Groups:
    """All groups so far, and who owns which node."""

    def __init__(self) -> None:
        self.all: list[Group] = []
        self.owner: dict[Node, Group] = {}
        self._readers: dict[Value, list[Group]] = {}
        self._spans = Spans[Group]()  # groups of more than one op

    def new(self, core: Node | None, space: tuple[int | Dim, ...]) -> Group:
        """A new group; a core is its first member."""
        group = Group(len(self.all), core, space)
        self.all.append(group)
        if core is not None:
            self.owner[core] = group
        return group

    def add(self, group: Group, node: Node, role: str) -> None:
        """Make a node a member of a group, its owner."""
        group.add(node, role)
        self.owner[node] = group
        if group.mask != node.bit:
            self._spans.cover(group, group.first, group.mask.bit_length() - 1)

    def reaching(self, mask: int, above: int = 0) -> int:
        """Every op that must run before the ops in `mask`, once groups run as a whole; the mask itself included.

        A mask holds all that its ops depend on, so a group of one op has nothing to add to it. Who only asks for ops
        from the number `above` on need not wait for the others, some of which are then missing.
        """
        grew = True
        while grew:
            grew = False
            for group in self._spans.reaching_up_to(above, mask.bit_length()):
                if group.mask & mask and group.dependencies & ~mask:
                    mask |= group.dependencies | group.mask
                    grew = True
        return mask

    def needs(self, value: Value, above: int = 0) -> int:
        """Every op, or every one from the number `above` on, that must run before a value is there."""
        node = value.node
        return 0 if node is None else self.reaching(node.ancestors | node.bit, above)

    def merge(self, left: Group, right: Group) -> None:
        """Make two elementwise groups over the same space one."""
        for node, role in right.members.items():
            self.add(left, node, role)
        for value, access in right.access.items():
            self.read(left, value).merge(access)
        left.stores += right.stores
        right.final = left
        right.mask = right.dependencies = 0
        self._spans.remove(right)

    def release(self) -> None:
        """Let groups go of themselves once fusion is done, so that they need not wait for the collector."""
        for group in self.all:
            del group.final

    def read(self, group: Group, value: Value) -> Access:
        """The record of how a group reads a value, made when there is none."""
        access = group.access.get(value)
        if access is None:
            access = group.access[value] = Access()
            self._readers.setdefault(value, []).append(group)
        return access

    def readers(self, value: Value) -> list[Group]:
        """The groups that read a value, each once, merged ones as what they became; by number."""
        found: dict[Group, None] = {}
        for group in self._readers.get(value, ()):
            found[group.merged] = None
        return sorted(found, key=lambda g: g.number) if len(found) > 1 else list(found)

    def at_hand(self, value: Value) -> tuple[Value, Group, Path] | None:
        """A kernel's output lambda where a value is at hand: the value under its views, the group, the path to it."""
        value, chain = below_views(value)
        group = self.owner.get(value.node) if value.node is not None else None
        if group is None or (path := group.positions.get(value)) is None:
            return None
        path = followed(path, chain)
        return None if group.rows is not None and not is_linear(path) else (value, group, path)

    def expand(self, group: Group, node: Node) -> None:
        """Note what a group reads once it computes a node."""
        value = node.result
        access = group.access[value]
        if node.kind == "elementwise":
            contexts = dict(access.contexts)
            if access.loads:
                contexts[value] = None
            for operand in node.operands:
                if literal_of(operand) is None:
                    read = self.read(group, operand)
                    read.contexts.update(contexts)
                    read.expands |= access.expands
                    read.straight |= access.straight
            return
        for path in [c for c in access.contexts if not isinstance(c, Value) and c != IDENTITY]:
            del access.contexts[path]  # only a lambda of its own can be seen through views
            access.loads += 1
        self.look_through(group, node)

    def look_through(self, group: Group, node: Node) -> None:
        """Note what a group reads through a view or pointwise op."""
        value = node.result
        access = group.access[value]
        times = group.evaluations(value)
        for position, operand in enumerate(node.operands):
            if node.kind == "pointwise" and node.declares(position) == "tensor":
                self.read(group, operand).tensor = True
                continue
            if literal_of(operand) is not None:
                continue
            read = self.read(group, operand)
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
            if _shows_straight(node, operand):
                read.straight |= access.goes_along


def is_dear(node: Node) -> bool:
    """Whether a node is an elementwise op that takes more operations than storing and loading its result."""
    return node.kind == "elementwise" and node.own_work > LIGHT


def comes_singly(group: Group) -> bool:
    """Whether a kernel has its results one at a time: one along the last axis. Reductions of that axis gather those of
    one line, if it has several, and row kernels go over whole rows as well."""
    core = group.core
    if core is None or group.rows is not None or len(core.results) != 1:
        return False
    shape = core.result.shape
    if not core.signature.reduction:
        return len(shape) > 1 and shape[-1] == 1
    across = len(core.operands[0].shape) - 1 in core.attrs["axes"]
    return across and bool(shape) and isinstance(shape[-1], int) and shape[-1] < _FEW_IN_LINE


def keeps_rows(core: Node) -> bool:
    """Whether a kernel goes along the last axis, in rows that are known and short, and its signature says that it keeps
    such rows: it then asks for each element once, and has the row at hand for what follows."""
    if "kept_bytes" not in core.signature.params:
        return False
    shape = core.operands[0].shape
    row = shape[-1] if shape and core.attrs.get("axis") == len(shape) - 1 else None
    return isinstance(row, int) and row <= _KEPT_ROW


def _shows_straight(node: Node, operand: Value) -> bool:
    """Whether going along the last axis of a view or pointwise op is going along that of all of its operand. Views in
    a row are looked at together (`strides.reads_across`)."""
    perm = None if node.step is None else node.step.perm
    in_a_row = node.kind == operand.node.kind == "view" if operand.node is not None else False
    kept = not perm or perm[-1] == len(perm) - 1
    return kept and not in_a_row and not _is_larger(operand.numel, node.result.numel)


def _is_larger(size: int | Dim, than: int | Dim) -> bool:
    """Whether one count of elements may exceed the other."""
    if size == than:
        return False
    if isinstance(size, int) and isinstance(than, int):
        return size > than
    ratio = floordiv(than, size)
    return not (isinstance(ratio, int) and ratio >= 1)
