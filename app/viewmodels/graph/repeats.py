"""Repeated layers: where the same fusion groups, joined in the same way, follow each other several times.

Groups are compared by what they compute (ops, types, attributes and the edges between them), never by names. A run of
equal groups is a candidate; it counts only if the edges between its copies repeat as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.viewmodels.compilation import Compilation, NodeRecord
from app.viewmodels.giving_way import Pause, no_pause

_LONGEST = 2048  # groups in one copy; a longer layer is looked at by nobody as a layer
LEAST = 3  # copies below which folding hides more than it saves


@dataclass(frozen=True)
class Repeat:
    """Copies of one layer. `copies[k][s]` is the node of copy k in slot s: the same slot is the same node of the layer.

    The inputs that only one copy reads (its weights) are slots too.
    """

    copies: tuple[tuple[str, ...], ...]
    calls: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """How many copies there are."""
        return len(self.copies)


def find_repeats(compilation: Compilation, least: int = LEAST, pause: Pause = no_pause) -> tuple[Repeat, ...]:
    """The repeated layers of a compilation in program order; no group is in two of them."""
    groups = _Groups(compilation, pause)
    readers = _readers(compilation.nodes)
    taken = np.zeros(len(groups.letters), bool)
    found: list[Repeat] = []
    for start, period, count in _runs(groups.letters, least):
        pause()
        if taken[start : start + period * count].any():
            continue
        for first, copies in _same_edges(groups, start, period, count):
            if copies >= least:
                found.append(_repeat(compilation.node_table, groups, readers, first, period, copies))
                taken[first : first + period * copies] = True
    return tuple(sorted(found, key=lambda repeat: repeat.calls[0][0]))


class _Groups:
    """The nodes that are drawn in each group (one that several groups compute is drawn in the first), and a number for
    each: equal where the groups compute the same. Nodes that they compute as well as another group, which has them,
    count by what they are and not by where they stand: there may be far more of those than there are nodes, so they are
    looked at once, and as numbers."""

    def __init__(self, compilation: Compilation, pause: Pause) -> None:
        nodes, self.pause = compilation.nodes, pause
        number = {node.name: at for at, node in enumerate(nodes)}
        kinds: dict[object, int] = {}
        kind = np.array(
            [kinds.setdefault((node.op, node.dtype, node.shape, node.attributes), len(kinds)) for node in nodes],
            np.int64,
        )
        drawn = np.array([node.call for node in nodes], np.int64)
        known: dict[object, int] = {}
        self.owned: list[list[NodeRecord]] = []
        self.letters = np.zeros(len(compilation.calls), np.int64)
        for index, call in enumerate(compilation.calls):
            pause()
            here = np.fromiter((number.get(name, -1) for name in call.nodes), np.int64, len(call.nodes))
            here = here[here >= 0]
            mine = drawn[here] == call.index
            owned = [nodes[at] for at in here[mine].tolist()]
            local = {node.name: position for position, node in enumerate(owned)}
            shape = tuple(
                (what, tuple(local.get(operand, -1) for operand in node.operands))
                for what, node in zip(kind[here[mine]].tolist(), owned)
            )
            others = frozenset(kind[here[~mine]].tolist())
            self.owned.append(owned)
            self.letters[index] = known.setdefault((shape, others), len(known))


def _readers(nodes: tuple[NodeRecord, ...]) -> dict[str, list[NodeRecord]]:
    readers: dict[str, list[NodeRecord]] = {}
    for node in nodes:
        for operand in node.operands:
            readers.setdefault(operand, []).append(node)
    return readers


def _runs(letters: np.ndarray, least: int) -> list[tuple[int, int, int]]:
    """Periodic stretches as (start, period, copies): those that cover most first, then those of the shortest period."""
    runs = []
    total = len(letters)
    for period in range(1, min(total // least, _LONGEST) + 1):
        same = letters[:-period] == letters[period:]
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
            copies = (end - begin) // period + 1
            if copies >= least:
                runs.append((begin, period, copies))
    return sorted(runs, key=lambda run: (-run[1] * run[2], run[1], run[0]))


def _same_edges(groups: _Groups, start: int, period: int, count: int) -> Iterator[tuple[int, int]]:
    """Split a run where its copies are not joined alike: (first group, copies) of each part."""
    place: dict[str, tuple[int, int]] = {}
    rows: list[list[NodeRecord]] = []
    for copy in range(count):
        calls = range(start + copy * period, start + (copy + 1) * period)
        groups.pause()
        rows.append([node for call in calls for node in groups.owned[call]])
        place |= {node.name: (copy, slot) for slot, node in enumerate(rows[-1])}

    def edges(copy: int) -> list[tuple[int, int]]:
        """Where each operand comes from: how many copies back, and from which slot; -1 for outside."""
        return [
            (copy - place[operand][0], place[operand][1]) if operand in place else (-1, -1)
            for node in rows[copy]
            for operand in node.operands
        ]

    first, kinds = 0, edges(0)
    for copy in range(1, count):
        groups.pause()
        now = edges(copy)
        # An edge from the copy before reaches outside from the first copy: there is no copy before it.
        alike = len(now) == len(kinds) and all(
            a == b or (b[0] > 0 and copy - first <= b[0]) for a, b in zip(kinds, now)
        )
        if not alike:
            yield start + first * period, copy - first
            first = copy
        kinds = now
    yield start + first * period, count - first


def _repeat(
    table: dict[str, NodeRecord],
    groups: _Groups,
    readers: dict[str, list[NodeRecord]],
    start: int,
    period: int,
    count: int,
) -> Repeat:
    calls = tuple(tuple(range(start + copy * period, start + (copy + 1) * period)) for copy in range(count))
    rows = [[node for call in copy for node in groups.owned[call]] for copy in calls]
    inside = [{node.name for node in row} for row in rows]

    def private(copy: int, name: str) -> bool:
        node = table.get(name)
        return (
            node is not None and node.call < 0 and not node.operands
            and all(reader.name in inside[copy] for reader in readers[name])
        )  # fmt: skip

    own: list[dict[str, None]] = [{} for _ in range(count)]
    for slot, node in enumerate(rows[0]):
        groups.pause()
        for position in range(len(node.operands)):
            names = [row[slot].operands[position] for row in rows]
            if all(private(copy, name) for copy, name in enumerate(names)):
                for kept, name in zip(own, names):
                    kept[name] = None
    if len({len(kept) for kept in own}) > 1:  # read twice here and once there: not the same place of the layer
        own = [{} for _ in range(count)]
    copies = tuple((*kept, *(node.name for node in row)) for kept, row in zip(own, rows))
    return Repeat(copies, calls)
