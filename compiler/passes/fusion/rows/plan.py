"""A row kernel, planned: which phase computes what, what it hands on to later ones, and what of that is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.graph.dims import product
from compiler.graph.dtypes import dtype_info
from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.contexts import Contexts, below_reshapes, main_contexts
from compiler.passes.fusion.groups import Context, Group, Store
from compiler.passes.fusion.paths import Path, Shape
from compiler.passes.fusion.row_space import Rows
from compiler.passes.fusion.rows.join import member_below
from compiler.passes.fusion.rows.walks import walk_of

_CHEAP = 2  # operations that cost less than writing their result to memory and reading it
_STACK_BYTES = 65536  # of a row that kernels/row_phases.py keeps on the stack

Key = tuple[Context, Value]
"""A value with an element at every position of the rows' shape, and the path on which it is seen there."""


@dataclass
class Phase:
    """One walk over the row, being planned: what it computes, and what it hands on."""

    work: list[tuple[Path, Node]] = field(default_factory=list)
    returned: list[Key] = field(default_factory=list)
    reductions: list[Node] = field(default_factory=list)
    row_ops: list[Node] = field(default_factory=list)


class RowPlan:
    """The phases of one row kernel."""

    def __init__(self, group: Group, contexts: Contexts, stores: list[Store]) -> None:
        assert group.rows is not None
        self.group = group
        self.rows: Rows = group.rows
        self.stores = stores
        self._contexts = contexts
        self.phase_of: dict[Key, int] = {}
        self._computed: frozenset[Key] = frozenset()
        self.kept_at: dict[Key, int] = {}
        self.needed_later: set[Key] = set()
        self.last_ops: list[Node] = []
        """Ops on row values that nothing inside the row waits for."""
        self.phases = self._planned()
        self.walks = [self._walk(number, phase) for number, phase in enumerate(self.phases)]

    def _planned(self) -> list[Phase]:
        rows = self.rows
        full_stores = any(self.is_full(store) for store in self.stores)
        phases = [Phase() for _ in range(max(rows.reductions.values()) + 1 + full_stores)]
        pulled: list[tuple[Path, Node]] = []
        for context in main_contexts(self._contexts):
            assert not isinstance(context, Value)
            pulled += [(context, node) for node in self._contexts[context]]
        own = [(self.path(value), value.node) for value in rows.full if value.node is not None]
        work = [*own, *pulled]
        self.phase_of = {(path, node.result): len(phases) - 1 for path, node in work}
        self._computed = frozenset(self.phase_of)
        self._as_late_as_possible(work, set(own))
        for path, node in sorted(work, key=lambda one: one[1].index):
            phase = self.phase_of[(path, node.result)]
            if phase < len(phases):
                phases[phase].work.append((path, node))
        for node, phase in rows.reductions.items():
            phases[phase].reductions.append(node)
        inside = self._needed_inside(work)
        for value, phase in rows.row.items():
            if value.node is not None and value.node not in rows.reductions:
                (phases[phase].row_ops if value in inside else self.last_ops).append(value.node)
        self.last_ops.sort(key=lambda node: node.index)
        for phase in phases:
            phase.reductions.sort(key=lambda node: node.index)
            phase.row_ops.sort(key=lambda node: node.index)
        self._hand_over(phases)
        return phases

    def _needed_inside(self, work: list[tuple[Path, Node]]) -> set[Value]:
        """The row values that elements of the row are computed from, and those that these follow from."""
        waiting = [operand for _, node in work for operand in node.operands]
        found: set[Value] = set()
        while waiting:
            base = member_below(waiting.pop(), self.group)
            if base is not None and base in self.rows.row and base not in found:
                found.add(base)
                waiting += base.node.operands if base.node is not None else ()
        return found

    def _as_late_as_possible(self, work: list[tuple[Path, Node]], own: set[tuple[Path, Node]]) -> None:
        """Let each op belong to the first phase that needs it. What only stores need is done in the last walk, which
        stores it: earlier it would be for nothing, or kept for long."""

        def ask(value: Value, path: Path, phase: int) -> None:
            key = self.key(value, path)
            if key is not None and key in self.phase_of:
                self.phase_of[key] = min(self.phase_of[key], phase)

        for node, phase in self.rows.reductions.items():
            ask(node.operands[0], (), phase)
        for path, node in sorted(work, key=lambda one: -one[1].index):
            for operand in node.operands if node.kind == "elementwise" or (path, node) in own else ():
                ask(operand, path, self.phase_of[(path, node.result)])

    def is_full(self, store: Store) -> bool:
        return store.register not in self.rows.row

    def _hand_over(self, phases: list[Phase]) -> None:
        """Find what each phase returns: what it reduces, and what later ones need."""
        used: dict[Key, set[int]] = {}
        for number, phase in enumerate(phases):
            for path, node in phase.work:
                if node.kind == "elementwise":
                    for operand in node.operands:
                        if (key := self.key(operand, path)) is not None:
                            used.setdefault(key, set()).add(number)
            for node in phase.reductions:
                key = self.key(node.operands[0], ())
                assert key is not None
                used.setdefault(key, set()).add(number)
        for store in self.stores:
            if self.is_full(store) and (key := self.key(store.register, self.path(store.register))) is not None:
                used.setdefault(key, set()).add(len(phases) - 1)
        for key, uses in used.items():
            first = self.phase_of.setdefault(key, min(uses))
            if max(uses) > first:
                phases[first].returned.append(key)
                self.needed_later.add(key)
        kept = 0
        for phase in phases:
            for node in phase.reductions:
                key = self.key(node.operands[0], ())
                assert key is not None
                if self.phase_of[key] == phases.index(phase) and key not in phase.returned:
                    phase.returned.append(key)
            for key in phase.returned:
                self.kept_at[key] = kept
                kept += 1

    def _walk(self, number: int, phase: Phase) -> tuple[Shape, tuple[int, ...]]:
        """The shape that a phase walks: that of what it reduces, or one in which all that it loads lies in order."""
        rows = self.rows
        if phase.reductions or any(node.kind == "pointwise" for _, node in phase.work):
            return rows.shape, rows.axes
        computed = {node.result for _, node in phase.work}
        keys = [key for key, at in self.phase_of.items() if at == number]
        return walk_of(rows, [value for _, value in keys if value not in computed], self.group)

    def loads(self, number: int) -> int:
        """How many values a phase may read from memory at full positions: its own, and those of earlier ones again."""
        computed = {node.result for phase in self.phases for _, node in phase.work}
        return sum(at <= number and value not in computed for (_, value), at in self.phase_of.items())

    def path(self, value: Value) -> Path:
        path = self.rows.path(value)
        assert path is not None
        return path

    def key(self, value: Value, context: Path) -> Key | None:
        """The full value behind an operand; None for a literal or what belongs to the row as a whole."""
        if literal_of(value) is not None:
            return None
        base = member_below(value, self.group)
        if base is not None:
            return (self.path(base), base) if base in self.rows.full else None
        below, under = below_reshapes(value, context, self.group)
        # Not by the phases, which come to have what is loaded as well: whoever asks later would find another key.
        if (under, below) in self._computed and below.node in self.group.members:
            return under, below
        return context, value

    def wanted(self, key: Key) -> str:
        """What later phases want of a value: what is computed is kept, what is only loaded is loaded again."""
        if key not in self.needed_later:
            return "drop"
        return "keep" if self.dear(key) else "again"

    def dear(self, key: Key) -> int:
        """The operations that it takes to have a value at a position once more."""
        context, value = key
        assert not isinstance(context, Value)
        node = value.node
        if node is not None and (context, value) in self.phase_of and node in self.group.members:
            if node.kind != "elementwise":
                return _CHEAP + 1
            total = node.own_work
            for operand in dict.fromkeys(node.operands):
                inner = self.key(operand, context)
                if inner is not None and total <= _CHEAP:
                    total += self.dear(inner)
            return total
        below, _ = below_reshapes(value, context, self.group)
        plain = self.group.is_leaf(below) or (below.node is not None and below.node.kind == "load")
        return 0 if plain else _CHEAP + 1

    def spare(self) -> tuple[Key, int] | None:
        """The value that may be kept in an output until that is stored, one of the output's dtype and the dearest; and
        the number of that output. None when everything has a place on the stack."""
        kept = [key for key in self.needed_later if self.wanted(key) == "keep"]
        if self._fits_stack(kept):
            return None
        dear = [key for key in kept if self.dear(key) > _CHEAP]
        for key in sorted(dear, key=lambda key: (-self.dear(key), self.kept_at[key])):
            for number, store in enumerate(self.stores):
                buffer = store.buffer
                if self.is_full(store) and buffer.type.dtype == key[1].type.dtype and buffer.kind != "mutable":
                    return key, number
        return None

    def _fits_stack(self, kept: list[Key]) -> bool:
        rows = self.rows
        length = product([rows.shape[axis] for axis in rows.axes])
        if len(rows.shape) - 1 not in rows.axes or not isinstance(length, int):
            return False
        return length * sum(dtype_info(value.type.dtype).bytes for _, value in kept) <= _STACK_BYTES
