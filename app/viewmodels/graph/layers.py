"""One layered drawing of boxes joined by edges: layers, order within them, coordinates, and the lanes of long edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NODE_GAP, LAYER_GAP, LANE, LANE_GAP = 18.0, 34.0, 4.0, 9.0
_ROUNDS = 6
_DEEP, _LONG, _LANE_SHARE = 400, 6, 4
Points = list[tuple[float, float]]
Box = tuple[float, float]
"""How wide and how high a box is."""


@dataclass(frozen=True)
class Placed:
    """Top left corners, the size of the whole, and the points long edges, entries and exits pass through."""

    corners: np.ndarray
    width: float
    height: float
    bends: dict[tuple[int, int], Points]
    enters: dict[tuple[int, int], Points]
    leaves: dict[tuple[int, int], Points]


@dataclass
class _Vertices:
    """The boxes, then vertices of no size that hold a lane open where an edge passes a layer."""

    level: list[int]
    links: list[tuple[int, int]]

    def chain(self, begin: int, first: int, last: int, end: int) -> list[int]:
        """Lane vertices on layers `first` to `last`, joined to `begin` and `end` where those are boxes."""
        made = []
        at = begin
        for layer in range(first, last + 1):
            self.level.append(layer)
            made.append(len(self.level) - 1)
            if at >= 0:
                self.links.append((at, made[-1]))
            at = made[-1]
        if at >= 0 and end >= 0:
            self.links.append((at, end))
        return made

    def trunks(
        self, edges: list[tuple[int, int]], begins: dict[int, tuple[int, int]]
    ) -> dict[tuple[int, int], list[int]]:
        """A lane for each source, from its (vertex, first layer) to its farthest reader; the others branch off it."""
        lanes: dict[int, list[int]] = {}
        chains: dict[tuple[int, int], list[int]] = {}
        for source, box in sorted(edges, key=lambda edge: -self.level[edge[1]]):
            begin, first = begins[source]
            last = self.level[box] - 1
            if source not in lanes:
                lanes[source] = chains[source, box] = self.chain(begin, first, last, box)
                continue
            chains[source, box] = part = lanes[source][: max(last - first + 1, 0)]
            at = part[-1] if part else begin
            if at >= 0:
                self.links.append((at, box))
        return chains


def place(
    boxes: tuple[Box, ...],
    edges: list[tuple[int, int]],
    enters: tuple[tuple[int, int], ...] = (),
    leaves: tuple[tuple[int, int], ...] = (),
) -> Placed:
    """Lay boxes out in layers. `enters` and `leaves` are (port, box): edges that come from above, or go on below."""
    count = len(boxes)
    if not count:
        return Placed(np.zeros((0, 2)), 0.0, 0.0, {}, {}, {})
    if not edges:
        return _grid(boxes)
    layers = _layers(count, edges)
    last = max(layers)
    made = _Vertices(list(layers), [])
    spans = [layers[b] - layers[a] for a, b in edges]
    # In a deep graph, room for every long edge would be most of the picture: those are drawn straight.
    lanes = (
        sum(spans) + sum({port: layers[b] for port, b in enters}.values()) + sum(last - layers[b] for _, b in leaves)
    )
    reach = _LONG if lanes > _LANE_SHARE * max(count, _DEEP) else last + 1
    near = [edge for edge, span in zip(edges, spans) if 0 < span <= reach]
    bends = made.trunks(near, {a: (a, layers[a] + 1) for a, _ in near})
    inner = [(port, b) for port, b in enters if 0 < layers[b] <= reach]
    ins = made.trunks(inner, {port: (-1, 0) for port, _ in inner})
    outs = {(p, b): made.chain(b, layers[b] + 1, last, -1) for p, b in leaves if 0 < last - layers[b] <= reach}
    return _coordinates(boxes, made, edges, bends, ins, outs)


def _coordinates(boxes: tuple[Box, ...], made: _Vertices, edges, bends, ins, outs) -> Placed:
    import igraph

    count, total = len(boxes), len(made.level)
    level, links = np.array(made.level), np.array(made.links, np.int64).reshape(-1, 2)
    graph = igraph.Graph(n=total, edges=made.links, directed=True)
    order = np.array(graph.layout_sugiyama(layers=made.level, maxiter=40).coords)[:total, 0]
    size = np.full((total, 2), (LANE, 0.0))
    size[:count] = boxes
    gap = np.full(total, LANE_GAP)
    gap[:count] = NODE_GAP
    x = _place_across(order, level, size[:, 0], gap, links)
    tall = np.zeros(int(level.max()) + 1)
    np.maximum.at(tall, level, size[:, 1])
    top = np.concatenate(([0.0], np.cumsum(tall + LAYER_GAP)))
    fed = np.zeros(total, bool)
    fed[[b for _, b in edges]] = True
    # What nothing feeds (a weight) stands at the foot of its layer, near its reader.
    share = np.where(fed[:count] | (level[:count] == 0), 0.5, 1.0)
    left = x - size[:, 0] / 2
    left -= left.min()
    corners = np.column_stack((left[:count], top[level[:count]] + (tall[level[:count]] - size[:count, 1]) * share))
    middle = left + size[:, 0] / 2

    foot = top[:-1] + tall

    def lane(vertices: list[int]) -> Points:
        """Down a lane: it crosses each layer vertically, and has no point where it goes on straight."""
        if not vertices:
            return []
        at, layer = middle[vertices], level[vertices]
        turns = np.flatnonzero(at[1:] != at[:-1])
        begins, ends = np.append(0, turns + 1), np.append(turns, len(at) - 1)
        above, below = top[layer[begins]].tolist(), foot[layer[ends]].tolist()
        return [point for x, a, b in zip(at[begins].tolist(), above, below) for point in ((x, a), (x, b))]

    return Placed(
        corners,
        float((left + size[:, 0]).max()),
        float(top[-1]) - LAYER_GAP,
        {key: lane(chain) for key, chain in bends.items()},
        {key: lane(chain) for key, chain in ins.items()},
        {key: lane(chain) for key, chain in outs.items()},
    )


def _grid(boxes: tuple[Box, ...]) -> Placed:
    """Boxes without edges, in rows of about equal width."""
    limit = max(900.0, sum(w for w, _ in boxes) ** 0.5 * 30)
    corners, x, y, row, widest = np.zeros((len(boxes), 2)), 0.0, 0.0, 0.0, 0.0
    for index, (w, h) in enumerate(boxes):
        if x and x + w > limit:
            x, y, row = 0.0, y + row + NODE_GAP, 0.0
        corners[index] = x, y
        x, row = x + w + NODE_GAP, max(row, h)
        widest = max(widest, x - NODE_GAP)
    return Placed(corners, widest, y + row, {}, {}, {})


def _layers(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """Longest path from the sources; a source, and what is made of one alone (a weight turned, a constant spread), then
    sinks to just above its first reader, which keeps edges short and rows narrow.

    Folding can close a cycle; where nothing else can go on, the first box that is left goes on without its inputs.
    """
    users: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        users[a].append(b)
        waiting[b] += 1
    fed = list(waiting)
    sources = [n for n in range(count) if not waiting[n]]
    layer = [0] * count
    queue, done, rest = list(sources), [False] * count, 0
    while len(queue) < count:
        _relax(queue, users, waiting, layer, done)
        while rest < count and done[rest]:
            rest += 1
        if rest == count:
            break
        waiting[rest] = 0
        queue.append(rest)
    _relax(queue, users, waiting, layer, done)
    floats = set(sources)
    for node in queue:
        if node in floats:
            floats.update(user for user in users[node] if fed[user] == 1)
    for node in reversed(queue):
        if node in floats and users[node]:
            layer[node] = max(min(layer[user] for user in users[node]) - 1, layer[node])
    return np.unique(layer, return_inverse=True)[1].tolist()


def _relax(queue: list[int], users: list[list[int]], waiting: list[int], layer: list[int], done: list[bool]) -> None:
    at = sum(done)
    while at < len(queue):
        node = queue[at]
        at += 1
        done[node] = True
        for user in users[node]:
            if done[user]:
                continue
            layer[user] = max(layer[user], layer[node] + 1)
            waiting[user] -= 1
            if waiting[user] == 0:
                queue.append(user)


def _place_across(order: np.ndarray, level: np.ndarray, width: np.ndarray, gap: np.ndarray, links: np.ndarray):
    """Centres across each layer: near the neighbours above and below, in the order given, never overlapping."""
    total = len(level)
    ranked = np.lexsort((order, level))
    row = np.unique(level[ranked], return_inverse=True)[1]  # of each, in this order: all rows in one array
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    ends = np.append(begins[1:], total)
    room = width[ranked] + gap[ranked]
    packed = np.cumsum(np.append(0.0, (room[:-1] + room[1:]) / 2))
    offset = packed - packed[begins][row]
    x = np.zeros(total)
    x[ranked] = offset - (offset[ends - 1] / 2)[row]
    weight = np.bincount(links.ravel(), minlength=total)
    inside = row[1:] == row[:-1]
    for _ in range(_ROUNDS):
        pull = np.bincount(links[:, 0], x[links[:, 1]], total) + np.bincount(links[:, 1], x[links[:, 0]], total)
        # Least squares with order kept: pool adjacent wishes, measured from where the packed row would put them.
        wish = np.where(weight > 0, pull / np.maximum(weight, 1), x)[ranked] - offset
        for at in np.unique(row[1:][inside & (wish[1:] < wish[:-1])]).tolist():
            wish[begins[at] : ends[at]] = _isotonic(wish[begins[at] : ends[at]])
        x[ranked] = wish + offset
    return x


def _isotonic(values: np.ndarray) -> np.ndarray:
    """The nearest non-decreasing sequence (pool adjacent violators)."""
    sums: list[float] = []
    counts: list[int] = []
    for value in values.tolist():
        sums.append(value)
        counts.append(1)
        while len(sums) > 1 and sums[-2] * counts[-1] > sums[-1] * counts[-2]:
            total, number = sums.pop(), counts.pop()
            sums[-1] += total
            counts[-1] += number
    return np.repeat(np.array(sums) / np.array(counts), counts)
