"""Layered placement of a graph whose nodes may lie in groups. Runs in a worker process; igraph orders the layers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from app.viewmodels.requests import LayoutRequest

NODE_GAP, LAYER_GAP, GROUP_PAD, GROUP_TITLE, DUMMY = 18.0, 34.0, 12.0, 24.0, 6.0
_ROUNDS = 6
_LONG, _DUMMY_SHARE = 6, 4


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


def lay_out(request: LayoutRequest) -> Layout:
    """Nodes inside each group first, then the groups and the free nodes as boxes of the outer graph."""
    count = len(request.sizes)
    members: dict[int, list[int]] = defaultdict(list)
    for node, group in enumerate(request.groups):
        if group >= 0:
            members[group].append(node)
    inner: dict[int, tuple[np.ndarray, float, float]] = {}
    box_of = np.zeros(count, np.int64)
    boxes: list[tuple[float, float]] = []
    box_group: list[int] = []
    inside: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a, b in request.edges:
        if request.groups[a] >= 0 and request.groups[a] == request.groups[b]:
            inside[request.groups[a]].append((a, b))
    known: dict[object, tuple] = {}
    for group, nodes in members.items():
        local = {node: index for index, node in enumerate(nodes)}
        edges = [(local[a], local[b]) for a, b in inside[group]]
        key = (tuple(request.sizes[n] for n in nodes), tuple(edges))
        if key not in known:  # repeated layers have the same inside
            known[key] = _layered(list(key[0]), edges)
        placed, width, height, _ = known[key]
        inner[group] = (placed, width, height)
        box_of[nodes] = len(boxes)
        boxes.append((width + 2 * GROUP_PAD, height + GROUP_PAD + GROUP_TITLE))
        box_group.append(group)
    for node, group in enumerate(request.groups):
        if group < 0:
            box_of[node] = len(boxes)
            boxes.append(request.sizes[node])
            box_group.append(-1)
    outer = {(int(box_of[a]), int(box_of[b])): None for a, b in request.edges if box_of[a] != box_of[b]}
    placed, width, height, bends = _layered(boxes, list(outer))
    positions = np.zeros((count, 2))
    groups: dict[int, tuple[float, float, float, float]] = {}
    for index, group in enumerate(box_group):
        if group >= 0:
            x, y = placed[index]
            w, h = boxes[index]
            groups[group] = (float(x), float(y), float(w), float(h))
            positions[members[group]] = inner[group][0] + (x + GROUP_PAD, y + GROUP_TITLE)
    free = np.array([n for n, g in enumerate(request.groups) if g < 0], np.int64)
    if len(free):
        positions[free] = placed[box_of[free]]
    points, starts = _route(request, positions, box_of, bends)
    return Layout(positions, groups, points, starts, width, height, request.generation)


def _layered(sizes: list[tuple[float, float]], edges: list[tuple[int, int]]):
    """Positions, total size, and for each edge the points where it passes through layers in between."""
    import igraph

    count = len(sizes)
    if not count:
        return np.zeros((0, 2)), 0.0, 0.0, {}
    layers = _layers(count, edges)
    if not edges:
        return _grid(sizes)
    level, links, chains = _with_dummies(layers, edges)
    total = len(level)
    graph = igraph.Graph(n=total, edges=links.tolist(), directed=True)
    coordinates = np.array(graph.layout_sugiyama(layers=level.tolist(), maxiter=40).coords)
    width = np.full(total, DUMMY)
    height = np.zeros(total)
    width[:count] = [w for w, _ in sizes]
    height[:count] = [h for _, h in sizes]
    x = _place_across(coordinates[:total, 0], level, width, links)
    top, tall = {}, defaultdict(float)
    for vertex in range(total):
        tall[level[vertex]] = max(tall[level[vertex]], height[vertex])
    at = 0.0
    for layer in sorted(tall):
        top[layer] = at
        at += tall[layer] + LAYER_GAP
    centre_y = np.array([top[layer] + tall[layer] / 2 for layer in level])
    y = np.array([top[layer] for layer in level])
    middle = y + (np.array([tall[layer] for layer in level]) - height) / 2
    left = x - width / 2
    left -= left.min()
    bends = _bends(chains, np.column_stack((left + width / 2, centre_y)), tall, level)
    placed = np.column_stack((left[:count], middle[:count]))
    return placed, float((left + width).max()), at - LAYER_GAP, bends


def _grid(sizes: list[tuple[float, float]]):
    """Boxes without edges, in rows of about equal width."""
    limit = max(900.0, sum(w for w, _ in sizes) ** 0.5 * 30)
    placed, x, y, row, widest = np.zeros((len(sizes), 2)), 0.0, 0.0, 0.0, 0.0
    for index, (w, h) in enumerate(sizes):
        if x and x + w > limit:
            x, y, row = 0.0, y + row + NODE_GAP, 0.0
        placed[index] = x, y
        x, row = x + w + NODE_GAP, max(row, h)
        widest = max(widest, x - NODE_GAP)
    return placed, widest, y + row, {}


def _layers(count: int, edges: list[tuple[int, int]]) -> np.ndarray:
    """Longest path from the sources; a source then sinks to just above its first reader, which keeps edges short."""
    users: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        users[a].append(b)
        waiting[b] += 1
    sources = [n for n in range(count) if not waiting[n]]
    layer = [0] * count
    queue = list(sources)
    for node in queue:
        for user in users[node]:
            layer[user] = max(layer[user], layer[node] + 1)
            waiting[user] -= 1
            if not waiting[user]:
                queue.append(user)
    for node in sources:
        if users[node]:
            layer[node] = min(layer[user] for user in users[node]) - 1
    result = np.array(layer)
    _, dense = np.unique(result, return_inverse=True)
    return dense


def _place_across(hint: np.ndarray, level: np.ndarray, width: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Horizontal centres: keep igraph's order in each layer, pull each vertex towards its neighbours, never overlap."""
    total = len(hint)
    order = [np.flatnonzero(level == layer) for layer in range(level.max() + 1)]
    order = [row[np.argsort(hint[row], kind="stable")] for row in order if len(row)]
    gaps = [np.concatenate(([0.0], np.cumsum((width[row][:-1] + width[row][1:]) / 2 + NODE_GAP))) for row in order]
    x = np.zeros(total)
    for row, offset in zip(order, gaps):
        x[row] = offset - offset[-1] / 2
    weight = np.bincount(links.ravel(), minlength=total)
    for _ in range(_ROUNDS):
        pull = np.bincount(links[:, 0], x[links[:, 1]], total) + np.bincount(links[:, 1], x[links[:, 0]], total)
        wish = np.where(weight > 0, pull / np.maximum(weight, 1), x)
        for row, offset in zip(order, gaps):
            # Least squares with order kept: pool adjacent wishes, measured from where the packed row would put them.
            x[row] = _isotonic(wish[row] - offset) + offset
    return x


def _isotonic(values: np.ndarray) -> np.ndarray:
    """The nearest non-decreasing sequence (pool adjacent violators)."""
    if len(values) < 2 or (np.diff(values) >= 0).all():
        return values
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


def _with_dummies(layers: np.ndarray, edges: list[tuple[int, int]]):
    """Every edge that crosses layers becomes a chain of short ones through vertices that stand for nothing else."""
    level = layers.tolist()
    links: list[tuple[int, int]] = []
    chains: dict[tuple[int, int], list[int]] = {}
    spans = layers[[b for _, b in edges]] - layers[[a for a, _ in edges]]
    reach = _LONG if int(spans.sum()) > _DUMMY_SHARE * len(layers) else int(spans.max())
    for a, b in edges:
        if level[b] - level[a] > reach:
            continue  # drawn straight: in a deep graph, room for every long edge would be most of the picture
        at = a
        for layer in range(level[a] + 1, level[b]):
            level.append(layer)
            links.append((at, len(level) - 1))
            at = len(level) - 1
            chains.setdefault((a, b), []).append(at)
        links.append((at, b))
    return np.array(level), np.array(links, np.int64).reshape(-1, 2), chains


def _bends(chains: dict[tuple[int, int], list[int]], centre: np.ndarray, tall, level: np.ndarray) -> dict:
    """Where long edges pass between boxes: each enters and leaves a layer vertically."""
    bends = {}
    for edge, vertices in chains.items():
        points = []
        for vertex in vertices:
            x, y, half = *centre[vertex], tall[level[vertex]] / 2
            points += [(x, y - half), (x, y + half)]
        bends[edge] = points
    return bends


def _route(request: LayoutRequest, positions: np.ndarray, box_of: np.ndarray, bends: dict):
    points: list[tuple[float, float]] = []
    starts = [0]
    for a, b in request.edges:
        (wa, ha), (wb, _) = request.sizes[a], request.sizes[b]
        points.append((positions[a, 0] + wa / 2, positions[a, 1] + ha))
        if box_of[a] != box_of[b]:
            points += bends.get((int(box_of[a]), int(box_of[b])), ())
        points.append((positions[b, 0] + wb / 2, positions[b, 1]))
        starts.append(len(points))
    return np.array(points, float).reshape(-1, 2), np.array(starts)
