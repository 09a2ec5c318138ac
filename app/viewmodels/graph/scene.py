"""What the graph view draws, made from a compilation and from what is folded. Pure, so that a thread can make it.

A box is a node, a collapsed fusion group, or a collapsed layer; in a layer that stands for several copies, a box is
the same node of each of them. A group is a frame around boxes: a kernel, or a layer around kernels; or, where the
graph is folded by the modules of its model, a module around kernels and other modules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from app.viewmodels.compilation import Compilation, NodeRecord, Nodes
from app.viewmodels.frame.formats import many
from app.viewmodels.giving_way import Pause, no_pause
from app.viewmodels.graph.modules import Modules, find_modules
from app.viewmodels.graph.repeats import Repeat, find_repeats
from app.viewmodels.requests import LayoutRequest

_BOLD, _CHAR, _PAD, _HIGH, _STEP = 7.9, 6.4, 22.0, 42.0, 12.0
_TITLE, _TITLE_PAD = 6.8, 118.0  # the title, a chevron before it and a cost after it


class Key(NamedTuple):
    """Names a frame: a kernel's by its call; a layer's by its repeat and its copies; a module's by its number."""

    kind: str  # "call", "layer" or "module"
    number: int
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class Folds:
    """What the user folded: collapsed frames, and copies of layers that are shown by themselves."""

    collapsed: frozenset[Key] = frozenset()
    opened: frozenset[tuple[int, int]] = frozenset()  # (repeat, copy)
    fold_repeats: bool = True
    by_module: bool = False


@dataclass(frozen=True)
class Frame:
    """A group: its title, the frame around it (-1: none), its nodes and launches, over all copies it stands for."""

    key: Key
    title: str
    parent: int
    nodes: Nodes
    calls: tuple[int, ...]
    copies: int = 1


@dataclass
class Scene:
    """The boxes, the frames, the edges, and which node is where."""

    compilation: Compilation
    repeats: tuple[Repeat, ...]
    folds: Folds
    labels: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    box_nodes: list[Nodes] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    keys: list[Key | None] = field(default_factory=list)  # of a collapsed frame
    frames: list[Frame] = field(default_factory=list)
    box_of: dict[str, int] = field(default_factory=dict)
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    sizes: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    edges: list[tuple[int, int]] = field(default_factory=list)
    loops: list[tuple[int, int, int]] = field(default_factory=list)  # frame, from box, to box: on to the next copy
    place_of: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # repeat, copy, slot
    node_boxes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    modules: Modules | None = None  # where the graph is folded by them

    def request(self, generation: int) -> LayoutRequest:
        """What layout has to place."""
        return LayoutRequest(
            self.sizes,
            np.array(self.edges, np.int64).reshape(-1, 2),
            np.array(self.groups, np.int64),
            generation,
            np.array([(i, f.parent) for i, f in enumerate(self.frames) if f.parent >= 0], np.int64).reshape(-1, 2),
            tuple({frame for frame, _, _ in self.loops}),
            np.array([len(frame.title) * _TITLE + _TITLE_PAD for frame in self.frames]),
        )


def build_scene(
    compilation: Compilation, folds: Folds, repeats: tuple[Repeat, ...] | None = None, pause: Pause = no_pause
) -> Scene:
    """Decide what is a box and what is a frame. Repeats are found where they are not given."""
    found = find_repeats(compilation, pause=pause) if repeats is None else repeats
    modules = find_modules(compilation) if folds.by_module else None
    return _Builder(Scene(compilation, found, folds, modules=modules), pause).build()


class _Builder:
    def __init__(self, scene: Scene, pause: Pause) -> None:
        self._scene, self._pause = scene, pause
        self._numbers: list[int] = []
        self._frame_of: dict[Key, int] = {}
        self._box_of_frame: dict[Key, int] = {}
        self._ranges: dict[tuple[int, int], tuple[int, int]] = {}
        by_layer = scene.folds.fold_repeats and scene.modules is None
        for index, repeat in enumerate(scene.repeats if by_layer else ()):
            opened = {copy for number, copy in scene.folds.opened if number == index and copy < repeat.count}
            for first, last in _ranges(repeat.count, opened):
                self._ranges |= {(index, copy): (first, last) for copy in range(first, last + 1)}
            for copy, names in enumerate(repeat.copies):
                scene.place_of |= {name: (index, copy, slot) for slot, name in enumerate(names)}

    def build(self) -> Scene:
        scene = self._scene
        for node in scene.compilation.nodes:
            self._pause()
            scene.box_of[node.name] = self._box(node)
        scene.numbers = np.array(self._numbers, np.int32)
        scene.node_boxes = np.array([scene.box_of[node.name] for node in scene.compilation.nodes], np.int64)
        wide = [
            max(len(label) * _BOLD + len(str(number)) * _CHAR + 14, len(detail) * _CHAR) + _PAD
            for label, detail, number in zip(scene.labels, scene.details, self._numbers)
        ]
        # Rounded, so that layers which differ only in the digits of a name are laid out once.
        scene.sizes = np.array([(-(-w // _STEP) * _STEP, _HIGH) for w in wide]).reshape(-1, 2)
        self._join()
        return scene

    def _box(self, node: NodeRecord) -> int:
        """The box of a node; the first node of a layer's copies makes it, the others share it."""
        scene = self._scene
        if scene.modules is not None:
            return self._in_module(node, scene.modules)
        place = scene.place_of.get(node.name)
        if place is None:
            return self._own_box(node, -1, (node,))
        repeat, copy, slot = place
        first, last = self._ranges[repeat, copy]
        key = Key("layer", repeat, first, last)
        copies = scene.repeats[repeat].copies
        if key in scene.folds.collapsed:
            every = tuple(name for names in copies[first : last + 1] for name in names)
            return self._closed(key, "layer", *self._layer_words(key), every, -1)
        if copy != first:
            return scene.box_of[copies[first][slot]]
        table = scene.compilation.node_table
        return self._own_box(node, self._layer(key), tuple(table[c[slot]] for c in copies[first : last + 1]))

    def _in_module(self, node: NodeRecord, modules: Modules) -> int:
        """The box of a node among modules: that of the outermost closed one around it, or its own in the innermost."""
        scene, parent, path = self._scene, -1, modules.of[node.name]
        for level in range(1, len(path) + 1):
            within = path[:level]
            key = Key("module", modules.numbers[within])
            nodes, launches = modules.nodes[within], modules.calls[within]
            if key in scene.folds.collapsed:
                words = many(len(nodes), "node") + (f", {many(len(launches), 'kernel')}" if launches else "")
                return self._closed(key, "module", within[-1], words, nodes, parent)
            if key not in self._frame_of:
                self._frame_of[key] = len(scene.frames)
                scene.frames.append(Frame(key, within[-1], parent, nodes, launches))
            parent = self._frame_of[key]
        return self._own_box(node, parent, (node,))

    def _own_box(self, node: NodeRecord, parent: int, same: tuple[NodeRecord, ...]) -> int:
        """A box for a node (and its likes in other copies), or the box of its collapsed kernel."""
        scene, calls = self._scene, self._scene.compilation.calls
        names = tuple(n.name for n in same)
        if node.call < 0:
            return self._add(_title(same), _detail(node), node.kind, names, parent, node.number)
        key = Key("call", node.call)
        if key in self._box_of_frame:
            return self._box_of_frame[key]
        if key not in self._frame_of:
            mine = tuple(dict.fromkeys(name for n in same for name in calls[n.call].nodes))
            if key in scene.folds.collapsed:
                words = many(len(calls[node.call].nodes), "node")
                title = calls[node.call].kernel + _times(len(same))
                return self._closed(key, "group", title, words, mine, parent, node.number)
            self._frame_of[key] = len(scene.frames)
            launches = tuple(n.call for n in same)
            scene.frames.append(Frame(key, calls[node.call].kernel, parent, mine, launches, len(same)))
        return self._add(_title(same), _detail(node), node.kind, names, self._frame_of[key], node.number)

    def _layer(self, key: Key) -> int:
        if key not in self._frame_of:
            repeat, shown = self._scene.repeats[key.number], slice(key.first, key.last + 1)
            title, words = self._layer_words(key)
            self._frame_of[key] = len(self._scene.frames)
            nodes = tuple(name for copy in repeat.copies[shown] for name in copy)
            launches = tuple(call for copy in repeat.calls[shown] for call in copy)
            count = key.last - key.first + 1
            self._scene.frames.append(Frame(key, f"{title}  \u00b7  {words}", -1, nodes, launches, count))
        return self._frame_of[key]

    def _layer_words(self, key: Key) -> tuple[str, str]:
        repeat = self._scene.repeats[key.number]
        name = "layer" if len(self._scene.repeats) == 1 else f"layer {chr(ord('A') + key.number % 26)}"
        size = f"{many(len(repeat.calls[0]), 'kernel')}, {many(len(repeat.copies[0]), 'node')}"
        count = key.last - key.first + 1
        if count == repeat.count:
            return f"{name} \u00d7 {count}", f"{size} each"
        if count == 1:
            return f"{name} {key.first + 1} of {repeat.count}", size
        return f"{name}s {key.first + 1} to {key.last + 1} \u00d7 {count}", f"{size} each"

    def _closed(
        self, key: Key, kind: str, label: str, detail: str, nodes: Nodes, parent: int, number: int | None = None
    ) -> int:
        if key not in self._box_of_frame:
            first = self._scene.compilation.node_table[nodes[0]].number if number is None else number
            self._box_of_frame[key] = self._add(label, detail, kind, nodes, parent, first)
            self._scene.keys[-1] = key
        return self._box_of_frame[key]

    def _add(self, label: str, detail: str, kind: str, nodes: Nodes, group: int, number: int) -> int:
        scene = self._scene
        scene.labels.append(label)
        scene.details.append(detail)
        scene.kinds.append(kind)
        scene.box_nodes.append(nodes)
        scene.groups.append(group)
        scene.keys.append(None)
        self._numbers.append(number)
        return len(scene.labels) - 1

    def _join(self) -> None:
        """The edges between boxes; an edge from one copy to the next inside one frame runs back up beside it."""
        scene, box_of, place_of = self._scene, self._scene.box_of, self._scene.place_of
        pairs: dict[tuple[int, int], None] = {}
        loops: dict[tuple[int, int, int], None] = {}
        for node in scene.compilation.nodes:
            self._pause()
            b = box_of[node.name]
            here = place_of.get(node.name)
            for source in node.operands:
                a = box_of.get(source, b)
                there = place_of.get(source) if here is not None else None
                if here is not None and there is not None and here[0] == there[0] and here[1] != there[1]:
                    key = Key("layer", here[0], *self._ranges[here[0], here[1]])
                    if key.first <= there[1] <= key.last:
                        if key in self._frame_of:
                            loops[self._frame_of[key], a, b] = None
                        continue
                if a != b:
                    pairs[a, b] = None
        scene.edges, scene.loops = list(pairs), list(loops)


def _ranges(count: int, opened: Iterable[int]) -> list[tuple[int, int]]:
    """Copies as they are shown: opened ones alone, the others in between together."""
    ranges, first = [], 0
    for copy in sorted(opened):
        if copy > first:
            ranges.append((first, copy - 1))
        ranges.append((copy, copy))
        first = copy + 1
    return [*ranges, (first, count - 1)] if first < count else ranges


def _times(count: int) -> str:
    return f" \u00d7{count}" if count > 1 else ""


def _title(same: tuple[NodeRecord, ...]) -> str:
    """One node's name; of several, what they have in common."""
    first = same[0]
    if len(same) == 1:
        return first.name
    if first.kind == "op":
        return f"{first.op}{_times(len(same))}"
    return f"{first.name} \u2026 {same[-1].name}"


def _detail(node: NodeRecord) -> str:
    return f"{node.dtype} {node.shape}".strip()
