"""The graph as it is drawn: which boxes there are, how large, what is collapsed, where layout put them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from app.viewmodels.compilation import Compilation, NodeRecord
from app.viewmodels.event import Event
from app.viewmodels.layout import Layout
from app.viewmodels.requests import LayoutRequest

HEATS = ("none", "bytes", "flops", "time")
_CHAR, _PAD, _HIGH, _STEP = 7.1, 20.0, 42.0, 12.0


class GraphModel:
    """Boxes are nodes, or groups where collapsed. `changed`: a layout came. `relayout`: one is needed."""

    def __init__(self) -> None:
        self.compilation: Compilation | None = None
        self.collapsed: set[int] = set()
        self.labels: list[str] = []
        self.details: list[str] = []
        self.numbers: np.ndarray = np.zeros(0, np.int32)
        self.kinds: list[str] = []
        self.box_nodes: list[tuple[str, ...]] = []
        self.sizes: np.ndarray = np.zeros((0, 2))
        self.edges: list[tuple[int, int]] = []
        self.groups: list[int] = []
        self.box_of: dict[str, int] = {}
        self.layout: Layout | None = None
        self.heat = "none"
        self.heat_values: np.ndarray = np.zeros(0)
        self.times: dict[int, float] = {}
        self.changed = Event()
        self.relayout = Event()
        self.recoloured = Event()
        self._generation = 0

    def set_compilation(self, compilation: Compilation) -> None:
        """Show another graph; what was collapsed by kernel name stays collapsed."""
        names = {self.compilation.calls[call].kernel for call in self.collapsed} if self.compilation else set()
        self.compilation = compilation
        self.collapsed = {call.index for call in compilation.calls if call.kernel in names}
        self.times = {}
        self._build()

    def toggle(self, groups: Iterable[int]) -> None:
        """Collapse or expand groups."""
        self.collapsed ^= set(groups)
        self._build()

    def collapse_all(self, collapse: bool) -> None:
        """Every group as one box, or none."""
        calls = self.compilation.calls if self.compilation else ()
        self.collapsed = {call.index for call in calls if len(call.nodes) > 1} if collapse else set()
        self._build()

    def request(self) -> LayoutRequest:
        """What layout has to place."""
        sizes = tuple((float(w), float(h)) for w, h in self.sizes)
        return LayoutRequest(sizes, tuple(self.edges), tuple(self.groups), self._generation)

    def set_layout(self, layout: Layout) -> None:
        """Take a layout, unless the boxes changed since it was asked for."""
        if layout.generation == self._generation:
            self.layout = layout
            self.changed.emit()

    def set_times(self, times: dict[int, float]) -> None:
        """Measured seconds of each call."""
        self.times = times
        self._recolour()

    def set_heat(self, heat: str) -> None:
        """Colour by bytes, FLOPs or time, or not."""
        self.heat = heat
        self._recolour()

    @property
    def heat_note(self) -> str:
        """How the heat is to be read: measured where it is, apportioned or estimated where it is not."""
        if self.heat == "time":
            return (
                "measured per kernel, apportioned to its nodes by FLOPs"
                if self.times
                else "not measured: run first (F5)"
            )
        return {"bytes": "bytes moved, estimated from shapes", "flops": "FLOPs, estimated from shapes"}.get(
            self.heat, ""
        )

    def boxes_of(self, nodes: frozenset[str]) -> np.ndarray:
        """A bool for each box: whether it holds any of these nodes."""
        result = np.zeros(len(self.labels), bool)
        result[[self.box_of[node] for node in nodes if node in self.box_of]] = True
        return result

    def find(self, text: str) -> list[int]:
        """Boxes whose name, op, dtype or shape holds every word."""
        words = text.lower().split()
        table = [f"{a} {b}".lower() for a, b in zip(self.labels, self.details)]
        return [i for i, entry in enumerate(table) if words and all(word in entry for word in words)]

    def group_title(self, group: int) -> str:
        """The kernel that a group became."""
        return self.compilation.calls[group].kernel if self.compilation else ""

    def _build(self) -> None:
        compilation = self.compilation
        assert compilation is not None
        self._generation += 1
        self.labels, self.details, self.kinds, self.box_nodes, self.groups = [], [], [], [], []
        self.box_of = {}
        numbers: list[int] = []
        whole: dict[int, int] = {}
        sizes_of_group = {call.index: len(call.nodes) for call in compilation.calls}
        for node in compilation.nodes:
            if node.call in self.collapsed:
                if node.call not in whole:
                    call = compilation.calls[node.call]
                    whole[node.call] = len(self.labels)
                    self._add(call.kernel, f"{len(call.nodes)} nodes", "group", call.nodes, -1)
                    numbers.append(node.number)
                self.box_of[node.name] = whole[node.call]
                continue
            self.box_of[node.name] = len(self.labels)
            group = node.call if sizes_of_group.get(node.call, 0) > 0 else -1
            self._add(node.name, f"{node.dtype} {node.shape}".strip(), node.kind, (node.name,), group)
            numbers.append(node.number)
        self.numbers = np.array(numbers, np.int32)
        wide = [max(len(a) + 4, len(b)) * _CHAR + _PAD for a, b in zip(self.labels, self.details)]
        # Rounded, so that layers which differ only in the digits of a name are laid out once.
        self.sizes = np.array([(-(-w // _STEP) * _STEP, _HIGH) for w in wide]).reshape(-1, 2)
        pairs = {
            (self.box_of[source], self.box_of[node.name]): None
            for node in compilation.nodes
            for source in node.operands
            if source in self.box_of and self.box_of[source] != self.box_of[node.name]
        }
        self.edges = list(pairs)
        self.layout = None
        self._recolour()
        self.relayout.emit()

    def _add(self, label: str, detail: str, kind: str, nodes: tuple[str, ...], group: int) -> None:
        self.labels.append(label)
        self.details.append(detail)
        self.kinds.append(kind)
        self.box_nodes.append(nodes)
        self.groups.append(group)

    def _recolour(self) -> None:
        if self.compilation is None:
            return
        table = self.compilation.node_table
        if self.heat == "none":
            self.heat_values = np.zeros(len(self.box_nodes))
            self.recoloured.emit()
            return
        values = np.array([sum(self._cost(table[n]) for n in nodes if n in table) for nodes in self.box_nodes], float)
        top = values.max() if len(values) else 0.0
        self.heat_values = np.sqrt(values / top) if top > 0 else np.zeros(len(values))
        self.recoloured.emit()

    def _cost(self, node: NodeRecord) -> float:
        if self.heat == "bytes":
            return float(node.bytes) if node.kind == "op" else 0.0
        if self.heat == "flops":
            return float(node.flops)
        if self.heat == "time" and node.call in self.times and self.compilation is not None:
            table = self.compilation.node_table
            weight = sum(max(table[n].flops, 1) for n in self.compilation.calls[node.call].nodes if n in table)
            return self.times[node.call] * max(node.flops, 1) / max(weight, 1)
        return 0.0
