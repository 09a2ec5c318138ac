"""Row kernels: reductions over the same axes, and the elementwise work between and after them, become one group.

A group that began with a reduction turns into one as soon as an op wants to join that works on whole rows again, or
another reduction of the same rows. Its values are of two kinds: *full* ones have an element at every position of the
reduced operand's shape, *row* ones have one for each row. Each belongs to a phase, a walk over the row: a reduction
ends the phase of its operand, and what depends on its result belongs to the next one.
"""

from __future__ import annotations

from compiler.passes.fusion.analysis import Node, Value, count, literal_of
from compiler.passes.fusion.choices import CUT, Choices
from compiler.passes.fusion.groups import LARGEST, Group, Groups
from compiler.passes.fusion.paths import IDENTITY, is_linear
from compiler.passes.fusion.row_space import ROW_ROLE, Rows, begins_rows

_DEEPEST = 6  # elementwise ops above a reduction through which its siblings are looked for
# A card gives a block a row, or a strip of columns. With fewer blocks than these most of it has nothing to do: what a
# block then goes through again and again takes longer than kernels apart, if it is more than this many elements.
_FEW_BLOCKS = 66
_STRIP = 8
_LONG_ROW = 1 << 16
_LONG_STRIP = 1 << 14


class RowJoiner:
    """The forward walk's part in row kernels: which group each reduction or elementwise op may join, and as what."""

    def __init__(self, groups: Groups, choices: Choices) -> None:
        self.groups = groups
        self.choices = choices
        self._readers: dict[Value, list[Group]] = {}  # groups that read a value at full positions
        self._promoted: list[Group] = []

    def finish(self) -> None:
        """After the walk: every value of a row kernel is at hand for stores."""
        for group in self._promoted:
            rows = group.rows
            assert rows is not None
            group.positions = dict.fromkeys((*rows.row, *rows.full), IDENTITY)

    # What a value is to a group.

    def _seen(self, value: Value) -> tuple[Group, str, int, Value] | None:
        """The row kernel (or what may become one) that a value comes from, seen through views: as a full value, a row
        value, or a row value spread over the row's elements; with its phase."""
        base, broadcast = value, None
        while base.node is not None and base.node.kind == "view":
            node = base.node
            if node.view == "broadcast" and broadcast is None:
                broadcast = node
            elif node.view != "reshape":
                return None
            base = node.operands[0]
        group = self.groups.owner.get(base.node) if base.node is not None else None
        if group is None or group.core is None:
            return None
        rows = group.rows
        if rows is None:
            path = group.positions.get(base)
            if path is None or not is_linear(path) or not begins_rows(group.core):
                return None
            rows, phase, full = Rows(group.core), 0, False
        elif base in rows.full:
            phase, full = rows.full[base], True
        else:
            phase, full = rows.row[base], False
        if broadcast is None:
            return group, "full" if full else "row", phase, base
        if full or not rows.spreads(broadcast.operands[0].shape, broadcast.result.shape):
            return None
        return group, "spread", phase, base

    # Elementwise ops.

    def join(self, node: Node) -> bool:
        """Let an elementwise op join a row kernel, if it can."""
        if not self._readers:  # no reduction so far
            return False
        seen = {operand: self._seen(operand) for operand in dict.fromkeys(node.operands)}
        found: dict[Group, None] = {}
        for one in seen.values():
            if one is not None and (one[1] != "row" or one[0].rows is not None):
                found[one[0]] = None
        return any(self._try(node, group, seen) for group in sorted(found, key=lambda g: -g.number))

    def _try(self, node: Node, group: Group, seen: dict[Value, tuple[Group, str, int, Value] | None]) -> bool:
        levels: set[str] = set()
        phase = 0
        for operand, one in seen.items():
            if literal_of(operand) is not None:
                continue
            if one is not None and one[0] is group:
                if self.choices.cuts(operand, one[3], node):
                    self._note(operand, node, CUT)
                    return False
                levels.add("row" if one[1] == "row" else "full")
                phase = max(phase, one[2] + (one[1] == "spread"))
            elif self.groups.needs(operand) & group.mask:
                self._note(operand, node, "would create a cycle")
                return False
        if node.name in self.choices.apart:
            self._note(node.operands[0], node, self.choices.apart[node.name])
            return False
        if len(levels) != 1 or len(group.members) >= LARGEST:
            return False
        rows = group.rows or self._rows_of(group)
        if rows is None:
            return False
        value = node.result
        if levels == {"full"}:
            if rows.path(value) is None:
                return False
            self._promote(group, rows)
            rows.full[value] = phase
            self._read_at_full_positions(node, group)
        else:
            if value.numel != count(rows.kept):
                return False
            rows.row[value] = phase
        self.groups.add(group, node, ROW_ROLE)
        return True

    def _note(self, producer: Value, consumer: Node, reason: str) -> None:
        name = producer.node.name if producer.node else producer.name
        self.choices.reasons.setdefault((name, consumer.name), reason)

    def _promote(self, group: Group, rows: Rows) -> None:
        if group.rows is None:
            group.rows = rows
            group.positions = {}
            for node in group.members:
                group.members[node] = ROW_ROLE
            self._promoted.append(group)

    def _rows_of(self, group: Group) -> Rows | None:
        """The rows of a group that began with a reduction, if its epilogue so far is at the rows' own positions."""
        core = group.core
        if core is None or not begins_rows(core) or not all(is_linear(path) for path in group.positions.values()):
            return None
        rows = Rows(core)
        if self.choices.on_card and _has_few_blocks(rows):
            return None
        for value in group.positions:
            rows.row[value] = 0
        return rows

    # Reductions.

    def reduce(self, node: Node) -> bool:
        """Let a reduction join the row kernel of its operand, or one that reads the same rows."""
        if not begins_rows(node):
            return False
        operand = node.operands[0]
        seen = self._seen(operand)
        if seen is not None and seen[1] == "full" and self._add_reduction(node, seen[0], seen[2], seen[3]):
            return True
        for value in _read_with(operand):
            for group in self._readers.get(value, ()):
                if self._add_reduction(node, group, 0, None):
                    return True
        return False

    def begin(self, node: Node, group: Group) -> None:
        """A reduction began a group of its own: note what it reads, for its siblings."""
        if begins_rows(node):
            self._read_at_full_positions(node, group)

    def _add_reduction(self, node: Node, group: Group, phase: int, base: Value | None) -> bool:
        operand = node.operands[0]
        rows = group.rows or self._rows_of(group)
        if rows is None or operand.shape != rows.shape or tuple(node.attrs["axes"]) != rows.axes:
            return False
        if base is not None and self.choices.cuts(operand, base, node):
            self._note(operand, node, CUT)
            return False
        if base is None and self.groups.needs(operand) & group.mask:
            return False
        if any(
            at == phase and other.result.type.dtype != node.result.type.dtype for other, at in rows.reductions.items()
        ):
            return False
        if len(group.members) >= LARGEST:
            return False
        self._promote(group, rows)
        self.groups.add(group, node, ROW_ROLE)
        rows.reductions[node] = phase
        rows.row[node.result] = phase
        self._read_at_full_positions(node, group)
        return True

    def _read_at_full_positions(self, node: Node, group: Group) -> None:
        for operand in node.operands:
            for value in _read_with(operand):
                if value.node is None or value.node not in group.members:
                    known = self._readers.setdefault(value, [])
                    if group not in known:
                        known.append(group)


def _has_few_blocks(rows: Rows) -> bool:
    """Whether a card would have little of itself at work on rows that are long."""
    kept, all_of_it = count(rows.kept), count(rows.shape)
    if not isinstance(kept, int) or not isinstance(all_of_it, int) or kept <= 0:
        return False
    if len(rows.shape) - 1 in rows.axes:
        return kept < _FEW_BLOCKS and all_of_it // kept > _LONG_ROW
    return kept < _FEW_BLOCKS * _STRIP and all_of_it // kept * _STRIP > _LONG_STRIP


def _read_with(value: Value) -> list[Value]:
    """A value, and what the elementwise ops above it read at the same positions."""
    found = [value]
    for at, one in enumerate(found):
        node = one.node
        if node is not None and node.kind == "elementwise" and at < _DEEPEST:
            found += [u for u in node.operands if u.shape == value.shape and u not in found and literal_of(u) is None]
    return found


def member_below(value: Value, group: Group) -> Value | None:
    """The value of a row kernel that is seen through reshapes and broadcasts; None for what comes from elsewhere."""
    rows = group.rows
    assert rows is not None
    while value not in rows.full and value not in rows.row:
        if value.node is None or value.node.kind != "view" or value.node in group.members:
            return None
        value = value.node.operands[0]
    return value
