"""Layered placement of a graph whose nodes lie in groups, and groups in groups. Runs in a worker process.

Each group is laid out by itself, the innermost first, and is then one box of the group around it. An edge that enters
or leaves a group keeps a lane of its own through the group's layers, so that it passes beside boxes and not over them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.viewmodels.graph.layers import Box, Placed, place
from app.viewmodels.requests import LayoutRequest

GROUP_PAD, GROUP_TITLE, LOOP_PAD = 12.0, 34.0, 26.0
ROOT = -1


@dataclass(frozen=True)
class Layout:
    """Top left corners of the nodes, boxes (x, y, w, h) of the groups, and each edge as a run of points."""

    positions: np.ndarray
    groups: dict[int, tuple[float, float, float, float]]
    points: np.ndarray  # (total points, 2)
    edge_starts: np.ndarray  # where each edge's points begin, plus the end
    width: float
    height: float
    generation: int = 0


@dataclass
class _Group:
    """What lies directly in a group: nodes as (0, node), groups as (1, group); and the edges between those."""

    items: dict[tuple[int, int], int] = field(default_factory=dict)
    edges: dict[tuple[int, int], None] = field(default_factory=dict)
    enters: dict[tuple[int, int], None] = field(default_factory=dict)  # (source node, item it goes to)
    leaves: dict[tuple[int, int], None] = field(default_factory=dict)  # (source node, item it comes from)
    placed: Placed | None = None
    origin: tuple[float, float] = (0.0, 0.0)
    inset: float = 0.0  # where the title is wider than what is inside


class _Tree:
    """The groups of a request as a tree, with every edge filed where it runs."""

    def __init__(self, request: LayoutRequest) -> None:
        self.sizes: list[Box] = [(w, h) for w, h in np.asarray(request.sizes, float).reshape(-1, 2).tolist()]
        self.group_of = np.asarray(request.groups, np.int64).tolist()
        pairs: list[list[int]] = np.asarray(request.parents, np.int64).reshape(-1, 2).tolist()
        self.parent: dict[int, int] = {group: outer for group, outer in pairs}
        self.edges: list[list[int]] = np.asarray(request.edges, np.int64).reshape(-1, 2).tolist()
        self.loops = frozenset(request.loops)
        self.groups: dict[int, _Group] = {ROOT: _Group()}
        self._chains: dict[int, list[int]] = {}
        for node, group in enumerate(self.group_of):
            self._container(group).items[(0, node)] = len(self._container(group).items)
        self.routes = [self._file(a, b) for a, b in self.edges]

    def _container(self, group: int) -> _Group:
        if group not in self.groups:
            self.groups[group] = _Group()
            outer = self._container(self.parent.get(group, ROOT))
            outer.items[(1, group)] = len(outer.items)
        return self.groups[group]

    def chain(self, node: int) -> list[int]:
        """The groups around a node, from the innermost to the root."""
        return self._out(self.group_of[node])

    def _out(self, group: int) -> list[int]:
        """A group and those around it."""
        if group not in self._chains:
            chain = [group]
            while chain[-1] != ROOT:
                chain.append(self.parent.get(chain[-1], ROOT))
            self._chains[group] = chain
        return self._chains[group]

    def _file(self, a: int, b: int) -> tuple[int, int, int]:
        """Put an edge where it belongs: (levels it leaves, levels it enters, the group it crosses)."""
        up, down = self.chain(a), self.chain(b)
        common = 1
        while common < min(len(up), len(down)) and up[-common - 1] == down[-common - 1]:
            common += 1
        out, into = len(up) - common, len(down) - common
        item_a = (0, a) if not out else (1, up[out - 1])
        item_b = (0, b) if not into else (1, down[into - 1])
        crossed = self.groups[up[out]]
        crossed.edges[crossed.items[item_a], crossed.items[item_b]] = None
        for level in range(out):
            group = self.groups[up[level]]
            group.leaves[a, group.items[(0, a) if not level else (1, up[level - 1])]] = None
        for level in range(into):
            group = self.groups[down[level]]
            group.enters[a, group.items[(0, b) if not level else (1, down[level - 1])]] = None
        return out, into, up[out]

    def inner_first(self) -> list[int]:
        """Every group, those inside before those around them."""
        return sorted(self.groups, key=lambda group: -len(self._out(group)))


def lay_out(request: LayoutRequest) -> Layout:
    """Place everything."""
    tree = _Tree(request)
    outer_size: dict[int, tuple[float, float]] = {}
    known: dict[object, Placed] = {}
    widths = np.asarray(request.widths, float).tolist()
    for group in tree.inner_first():
        content = tree.groups[group]
        boxes = tuple(tree.sizes[i] if kind == 0 else outer_size[i] for kind, i in content.items)
        enters, leaves = _numbered(content.enters), _numbered(content.leaves)
        key = (boxes, tuple(content.edges), enters, leaves)
        if key not in known:  # repeated layers have the same inside
            known[key] = place(boxes, list(content.edges), enters, leaves)
        content.placed = known[key]
        right = LOOP_PAD if group in tree.loops else 0.0
        width = content.placed.width + 2 * GROUP_PAD + right
        least = widths[group] if 0 <= group < len(widths) else 0.0
        content.inset = max(least - width, 0.0) / 2
        outer_size[group] = (max(width, least), content.placed.height + GROUP_PAD + GROUP_TITLE)
    positions = np.zeros((len(tree.sizes), 2))
    rects: dict[int, tuple[float, float, float, float]] = {}
    _settle(tree, ROOT, (0.0, 0.0), outer_size, positions, rects)
    points, starts = _route(tree, positions)
    root = tree.groups[ROOT].placed
    assert root is not None
    return Layout(positions, rects, points, starts, root.width, root.height, request.generation)


def _numbered(ports: dict[tuple[int, int], None]) -> tuple[tuple[int, int], ...]:
    """Ports by order of appearance rather than by node, so that equal layers have equal keys."""
    names: dict[int, int] = {}
    return tuple((names.setdefault(source, len(names)), item) for source, item in ports)


def _settle(tree: _Tree, group: int, origin: tuple[float, float], sizes, positions, rects) -> None:
    content = tree.groups[group]
    assert content.placed is not None
    content.origin = origin
    for (kind, index), (x, y) in zip(content.items, content.placed.corners.tolist()):
        x, y = x + origin[0], y + origin[1]
        if kind == 0:
            positions[index] = x, y
        else:
            rects[index] = (x, y, *sizes[index])
            inset = tree.groups[index].inset + GROUP_PAD
            _settle(tree, index, (x + inset, y + GROUP_TITLE), sizes, positions, rects)


def _route(tree: _Tree, positions: np.ndarray):
    ports: dict[int, tuple[dict, dict]] = {
        group: (
            dict(zip(content.enters, _numbered(content.enters))),
            dict(zip(content.leaves, _numbered(content.leaves))),
        )
        for group, content in tree.groups.items()
    }
    points: list[tuple[float, float]] = []
    starts = [0]
    corners = positions.tolist()
    for (a, b), (out, into, crossed) in zip(tree.edges, tree.routes):
        up, down = tree.chain(a), tree.chain(b)
        (wa, ha), (wb, _) = tree.sizes[a], tree.sizes[b]
        points.append((corners[a][0] + wa / 2, corners[a][1] + ha))
        for level in range(out):
            content = tree.groups[up[level]]
            item = content.items[(0, a) if not level else (1, up[level - 1])]
            points += _moved(content, content.placed.leaves.get(ports[up[level]][1][a, item], ()))  # type: ignore[union-attr]
        content = tree.groups[crossed]
        ends = (
            content.items[(0, a) if not out else (1, up[out - 1])],
            content.items[(0, b) if not into else (1, down[into - 1])],
        )
        points += _moved(content, content.placed.bends.get(ends, ()))  # type: ignore[union-attr]
        for level in reversed(range(into)):
            content = tree.groups[down[level]]
            item = content.items[(0, b) if not level else (1, down[level - 1])]
            points += _moved(content, content.placed.enters.get(ports[down[level]][0][a, item], ()))  # type: ignore[union-attr]
        points.append((corners[b][0] + wb / 2, corners[b][1]))
        starts.append(len(points))
    return np.array(points, float).reshape(-1, 2), np.array(starts)


def _moved(content: _Group, points) -> list[tuple[float, float]]:
    x0, y0 = content.origin
    return [(x + x0, y + y0) for x, y in points]
