"""The graph as it is drawn: what is folded, what is hot, what was found; and where layout put it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.event import Event
from app.viewmodels.giving_way import GivingWay
from app.viewmodels.graph.heat import amount, heat_words, launch_cost, node_costs
from app.viewmodels.graph.layout import Layout
from app.viewmodels.graph.modules import find_modules, has_modules
from app.viewmodels.graph.repeats import Repeat
from app.viewmodels.graph.scene import Folds, Key, Scene, build_scene
from compiler.options import CompileOptions

_OPEN_AT_ONCE = 4  # copies of a layer that finding may open
_NOTHING = Scene(Compilation("", "", "", CompileOptions(), (), (), (), (), (), ()), (), Folds())


class GraphModel:
    """A scene and its layout, always of one another. `changed`: both came. `relayout`: others are needed."""

    def __init__(self) -> None:
        self.compilation: Compilation | None = None
        self.scene: Scene = _NOTHING
        self.layout: Layout | None = None
        self.folds = Folds()
        self.heat = "none"
        self.heat_values: np.ndarray = np.zeros(0)
        self.heat_top = 0.0
        self.times: dict[int, float] = {}
        self.samples: dict[str, float] = {}
        self.changed = Event()
        self.relayout = Event()
        self.recoloured = Event()
        self._frame_costs: dict[int, str] = {}
        self._generation = self._shown = 0
        self._texts: list[str] = []
        self._repeats: tuple[Repeat, ...] | None = None

    # What is drawn -----------------------------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether a newer layout is on its way."""
        return self._generation != self._shown

    # What happens to it ------------------------------------------------------------------------------------------

    def set_compilation(self, compilation: Compilation) -> None:
        """Show another graph; what was collapsed by kernel name stays collapsed."""
        before = self.compilation
        names = {before.calls[k.number].kernel for k in self.folds.collapsed if k.kind == "call"} if before else set()
        same = before is not None and before.source == compilation.source
        collapsed = frozenset(Key("call", call.index) for call in compilation.calls if call.kernel in names)
        self.compilation, self.times, self._texts, self._repeats = compilation, {}, [], None
        self.samples = {}
        by_module = self.folds.by_module and has_modules(compilation)
        if by_module:
            collapsed |= self._closed_modules(self._open_modules() if same else frozenset())
        self.folds = Folds(collapsed, self.folds.opened if same else frozenset(), self.folds.fold_repeats, by_module)
        self.scene, self.layout = _NOTHING, None
        self.heat_values = np.zeros(0)
        self._ask()

    def work(self) -> tuple[int, Callable[[], Scene]]:
        """What has to be done off the window's thread: a number to hand back, and the function that makes a scene."""
        compilation, folds, repeats = self.compilation, self.folds, self._repeats
        assert compilation is not None
        return self._generation, lambda: build_scene(compilation, folds, repeats, GivingWay())

    def set_scene(self, scene: Scene, layout: Layout) -> None:
        """Take a scene and its layout, unless something changed since they were asked for."""
        if layout.generation == self._generation:
            self.scene, self.layout, self._repeats = scene, layout, scene.repeats
            self._shown = self._generation
            self._recolour()
            self.changed.emit()

    def toggle(self, keys: Iterable[Key]) -> None:
        """Collapse frames, or expand them."""
        self._fold(collapsed=self.folds.collapsed ^ set(keys))

    @property
    def has_modules(self) -> bool:
        """Whether the graph can be folded by the modules of its model."""
        return self.compilation is not None and has_modules(self.compilation)

    def fold_by(self, what: str) -> None:
        """Fold by "layers" that repeat, or by the "modules" of the model, which are closed at first."""
        by_module = what == "modules" and self.has_modules
        if by_module != self.folds.by_module:
            self._fold(by_module=by_module, collapsed=self._closed_modules() if by_module else frozenset())

    def _closed_modules(self, but: frozenset[tuple[str, ...]] = frozenset()) -> frozenset[Key]:
        """Every module, closed, but for some."""
        assert self.compilation is not None
        paths = find_modules(self.compilation).paths
        return frozenset(Key("module", number) for number, path in enumerate(paths) if path not in but)

    def _open_modules(self) -> frozenset[tuple[str, ...]]:
        """The modules whose inside is on show."""
        modules = self.scene.modules
        if modules is None:
            return frozenset()
        return frozenset(p for p in modules.paths if Key("module", modules.numbers[p]) not in self.folds.collapsed)

    def collapse_all(self, collapse: bool) -> None:
        """Every kernel as one box, or none, and closed layers open; or every module, where those are shown."""
        if self.folds.by_module:
            self._fold(collapsed=self._closed_modules() if collapse else frozenset())
            return
        calls = self.compilation.calls if self.compilation else ()
        keys = frozenset(Key("call", call.index) for call in calls)
        self._fold(collapsed=keys if collapse else frozenset())

    def fold_repeats(self, fold: bool) -> None:
        """Repeated layers as one, or every copy in its own frame."""
        if self.folds.by_module:
            self.fold_by("layers")
        if fold:
            self._fold(opened=frozenset(), fold_repeats=True)
        else:
            every = frozenset((r, copy) for r, repeat in enumerate(self.scene.repeats) for copy in range(repeat.count))
            self._fold(opened=every)

    def open_copies(self, repeat: int, copies: Iterable[int]) -> None:
        """Show these copies of a layer by themselves."""
        self._fold(opened=self.folds.opened | {(repeat, copy) for copy in copies})

    def toggle_layer(self, key: Key) -> None:
        """Show each copy of a layer's frame by itself; or, where it is one copy already, fold them all."""
        if key.first == key.last:
            self._fold(opened=frozenset(entry for entry in self.folds.opened if entry[0] != key.number))
        else:
            self.open_copies(key.number, range(key.first, key.last + 1))

    def expose(self, nodes: Iterable[str]) -> bool:
        """Open what hides these nodes: collapsed frames, and layers of which only some copies are meant."""
        table = self.compilation.node_table if self.compilation else {}
        names = {name for name in nodes if name in self.scene.box_of}
        collapsed = set(self.folds.collapsed) - {Key("call", table[name].call) for name in names}
        copies: dict[Key, set[int]] = {}
        for name in names:
            if (modules := self.scene.modules) is not None:
                path = modules.of[name]
                around = (modules.numbers[path[:level]] for level in range(1, len(path) + 1))
                collapsed -= {Key("module", number) for number in around}
            if (place := self.scene.place_of.get(name)) is None:
                continue
            if (key := self.layer_of(self.scene.box_of[name])) is not None:
                collapsed.discard(key)
                copies.setdefault(key, set()).add(place[1])
            slot_call = self.scene.repeats[place[0]].copies[0][place[2]]
            collapsed.discard(Key("call", table[slot_call].call))
        opened = set(self.folds.opened)
        for key, wanted in copies.items():
            if len(wanted) < key.last - key.first + 1 and len(wanted) <= _OPEN_AT_ONCE:
                opened |= {(key.number, copy) for copy in wanted}
        if (collapsed, opened) == (set(self.folds.collapsed), set(self.folds.opened)):
            return False
        self._fold(collapsed=frozenset(collapsed), opened=frozenset(opened))
        return True

    def set_times(self, times: dict[int, float], samples: dict[str, float] | None = None) -> None:
        """Measured seconds of each call, and samples of each node where there are any."""
        self.times, self.samples = times, samples or {}
        self._recolour()

    def set_heat(self, heat: str) -> None:
        """Colour by bytes, FLOPs or time, or not."""
        self.heat = heat
        self._recolour()

    # What is asked of it -----------------------------------------------------------------------------------------

    @property
    def heat_note(self) -> str:
        """How the heat is to be read: measured where it is, apportioned or estimated where it is not."""
        return heat_words(self.heat, bool(self.times), bool(self.samples))

    def amount(self, value: float) -> str:
        """A cost in the unit of the heat on show."""
        return amount(self.heat, value)

    def frame_cost(self, frame: int) -> str:
        """What a frame costs, over all the copies it stands for; a kernel's time is measured, not divided up."""
        if self.heat == "none" or not self.heat_top or self.compilation is None:
            return ""
        if frame not in self._frame_costs:
            value = launch_cost(self.compilation, self.heat, self.times, self.scene.frames[frame].calls)
            self._frame_costs[frame] = self.amount(value)
        return self._frame_costs[frame]

    def boxes_of(self, nodes: frozenset[str]) -> np.ndarray:
        """A bool for each box: whether it holds any of these nodes."""
        result = np.zeros(len(self.scene.labels), bool)
        result[[self.scene.box_of[node] for node in nodes if node in self.scene.box_of]] = True
        return result

    def find(self, text: str) -> list[str]:
        """Nodes whose name, op, dtype or shape holds every word, in order; folded or not."""
        words = text.lower().split()
        if not words or self.compilation is None:
            return []
        if not self._texts:
            self._texts = [f"{n.name} {n.op} {n.dtype} {n.shape} {n.kind}".lower() for n in self.compilation.nodes]
        found = [all(word in entry for word in words) for entry in self._texts]
        return [node.name for node, good in zip(self.compilation.nodes, found) if good]

    def describe(self, box: int) -> str:
        """A box in words, for those who listen."""
        frame = self.scene.groups[box]
        parts = [self.scene.labels[box], self.scene.details[box]]
        if self.scene.kinds[box] == "op":
            parts.insert(1, f"op {self.scene.compilation.node_table[self.scene.box_nodes[box][0]].op}")
        else:
            words = {"group": "collapsed kernel", "layer": "collapsed layer", "module": "collapsed module"}
            parts.insert(1, words.get(self.scene.kinds[box], self.scene.kinds[box]))
        if frame >= 0:
            parts.append(f"in {self.scene.frames[frame].title}")
        into = sum(b == box for _, b in self.scene.edges)
        out = sum(a == box for a, _ in self.scene.edges)
        parts.append(f"{into} in, {out} out")
        if self.heat != "none" and box < len(self.heat_values) and self.heat_top:
            parts.append(f"{self.heat} {self.amount(float(self.heat_values[box]) ** 2 * self.heat_top)}")
        return ", ".join(parts)

    def layer_of(self, box: int) -> Key | None:
        """The layer a box is in, or is."""
        key, frame = self.scene.keys[box], self.scene.groups[box]
        if key is not None and key.kind == "layer":
            return key
        while frame >= 0 and self.scene.frames[frame].key.kind != "layer":
            frame = self.scene.frames[frame].parent
        return self.scene.frames[frame].key if frame >= 0 else None

    def frame_of(self, box: int) -> Key | None:
        """The innermost frame around a box."""
        frame = self.scene.groups[box]
        return self.scene.frames[frame].key if frame >= 0 else None

    def _fold(self, **changes: object) -> None:
        folds = replace(self.folds, **changes)  # type: ignore[arg-type]
        if folds != self.folds:
            self.folds = folds
            self._ask()

    def _ask(self) -> None:
        self._generation += 1
        self._recolour()
        if self.compilation is not None:
            self.relayout.emit()

    def _recolour(self) -> None:
        self._frame_costs = {}
        boxes = len(self.scene.labels)
        shown = self.compilation if self.heat != "none" else None
        costs = node_costs(shown, self.heat, self.times, self.samples) if shown is not None else np.zeros(0)
        values = np.zeros(boxes)
        if boxes and len(costs) == len(self.scene.node_boxes):
            values = np.bincount(self.scene.node_boxes, costs, boxes)
        self.heat_top = float(values.max()) if boxes else 0.0
        self.heat_values = np.sqrt(values / self.heat_top) if self.heat_top > 0 else np.zeros(boxes)
        self.recoloured.emit()
