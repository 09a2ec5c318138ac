"""Events on lanes and what is drawn of them at a zoom: only what a pixel can show, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from app.viewmodels.compilation import Compilation, Nodes
from app.viewmodels.requests import RunTimes
from compiler.statistics import UNACCOUNTED, gaps_of
from compiler.trace import PassRecord
from profiler.analysis.memory import alive_bytes


@dataclass(frozen=True)
class Track:
    """A quantity over time, drawn below the lanes: `values[i]` holds from `times[i]` to `times[i + 1]`."""

    name: str
    times: np.ndarray
    values: np.ndarray
    note: str = ""

    @property
    def top(self) -> float:
        """The largest value."""
        return float(self.values.max()) if len(self.values) else 0.0

    def at(self, time: float) -> float | None:
        """The value at a time; None before the first and after the last."""
        index = int(np.searchsorted(self.times, time, "right")) - 1
        return float(self.values[index]) if 0 <= index < len(self.values) else None

    def steps(self, begin: float, end: float, pixels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left and right in pixels and the value of each step in sight; the largest where several share a pixel."""
        low = max(int(np.searchsorted(self.times, begin, "right")) - 1, 0)
        high = min(int(np.searchsorted(self.times, end, "right")), len(self.values))
        scale = pixels / max(end - begin, 1e-15)
        left, values = (self.times[low:high] - begin) * scale, self.values[low:high]
        right = (self.times[low + 1 : high + 1] - begin) * scale
        if len(left) > 2 * pixels:
            first = np.flatnonzero(np.diff(np.floor(left), prepend=-np.inf))
            values, left = np.maximum.reduceat(values, first), left[first]
            right = np.append(left[1:], right[-1])
        return left, right, values


class Timeline:
    """Events sorted by lane, then start; texts are shared through `names`. An empty lane name goes on the one above."""

    def __init__(
        self,
        lanes: Sequence[str],
        lane: np.ndarray,
        start: np.ndarray,
        duration: np.ndarray,
        name: np.ndarray,
        names: Sequence[str],
        nodes: Sequence[Nodes] = (),
        tracks: tuple[Track, ...] = (),
        kinds: np.ndarray | None = None,
        kind_names: Sequence[str] = (),
        quiet: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        order = np.lexsort((start, lane))
        self.lanes = list(lanes)
        self.lane, self.start, self.duration, self.name = lane[order], start[order], duration[order], name[order]
        self.names = list(names)
        self.nodes = [nodes[i] for i in order.tolist()] if len(nodes) else []
        self.kinds = self.name if kinds is None else kinds[order]  # what the colour stands for
        self.kind_names = list(kind_names)
        self.quiet = quiet  # kinds that are no work of their own, drawn without a colour: which of them each is
        self.tracks = tracks
        self.end = self.start + self.duration
        self._bounds = np.searchsorted(self.lane, np.arange(len(self.lanes) + 1))
        self._last_end = [
            np.maximum.accumulate(self.end[a:b]) if b > a else np.zeros(0)
            for a, b in zip(self._bounds[:-1], self._bounds[1:])
        ]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def span(self) -> tuple[float, float]:
        """From the first start to the last end."""
        if not len(self):
            return 0.0, 1.0
        begin = float(self.start.min())
        return begin, max(float(self.end.max()), begin + 1e-9)

    def slices(self, lane: int, begin: float, end: float, pixels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left and right in pixels and the event of each slice of a lane between two times, merged where several events
        fall on one pixel."""
        first, last = int(self._bounds[lane]), int(self._bounds[lane + 1])
        low = first + int(np.searchsorted(self._last_end[lane], begin, "left"))
        high = first + int(np.searchsorted(self.start[first:last], end, "right"))
        scale = pixels / max(end - begin, 1e-15)
        if high - low <= 2 * pixels:
            left = (self.start[low:high] - begin) * scale
            right = (self.end[low:high] - begin) * scale
            return left, np.maximum(right, left + 1), np.arange(low, high)
        # One search a pixel, not one step an event: where in the sorted starts does each pixel begin?
        edges = low + np.searchsorted(self.start[low:high], begin + np.arange(pixels + 1) / scale)
        edges[0], edges[-1] = low, high
        column = np.flatnonzero(np.diff(edges))
        right = (self.end[edges[column + 1] - 1] - begin) * scale
        return column.astype(float), np.maximum(right, column + 1.0), edges[column]

    def at(self, lane: int, time: float, slack: float = 0.0) -> int:
        """The event of a lane at a time, or -1; the innermost where they nest; else one that is `slack` away."""
        if not 0 <= lane < len(self.lanes):
            return -1
        first, last = int(self._bounds[lane]), int(self._bounds[lane + 1])
        for room in (0.0, slack) if slack else (0.0,):
            index = first + int(np.searchsorted(self.start[first:last], time + room, "right")) - 1
            for candidate in range(index, max(index - 64, first - 1), -1):
                if self.start[candidate] - room <= time <= self.end[candidate] + room:
                    return candidate
        return -1

    def label(self, event: int) -> str:
        """The text of an event."""
        return self.names[int(self.name[event])]

    def events_of(self, nodes: Iterable[str]) -> np.ndarray:
        """The events behind which any of these nodes is, in order."""
        found = [self._by_node[node] for node in nodes if node in self._by_node]
        return np.array(sorted(set(np.concatenate(found).tolist())), np.int64) if found else np.zeros(0, np.int64)

    @cached_property
    def _by_node(self) -> dict[str, np.ndarray]:
        table: dict[str, list[int]] = {}
        for event, entry in enumerate(self.nodes):
            for node in entry:
                table.setdefault(node, []).append(event)
        return {node: np.array(events, np.int64) for node, events in table.items()}


def compile_timeline(compilation: Compilation) -> Timeline:
    """One lane a worker, more where its events overlap; an event a pass; the size of the IR below."""
    passes = [row for row in compilation.passes if row.stage != "llvm-pass"]
    rows = [*passes, *_gaps(compilation)]
    workers = sorted({row.worker for row in rows})
    lanes: list[str] = []
    lane = np.zeros(len(rows), np.int64)
    for worker in workers:
        mine = [index for index, row in enumerate(rows) if row.worker == worker]
        depth = _stack([(rows[i].start, rows[i].start + rows[i].seconds) for i in mine])
        lane[mine] = np.array(depth, np.int64) + len(lanes)
        title = f"worker {worker}" if worker else "compiler"
        lanes += [title, *[""] * max(depth)] if depth else []
    texts = [row.name + (f" {row.kernel}" if row.kernel else "") for row in rows]
    numbers = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    stages = {stage: index for index, stage in enumerate(dict.fromkeys(row.stage for row in rows))}
    quiet = {stages[name]: which for which, name in enumerate(UNACCOUNTED.values()) if name in stages}
    kernels = compilation.kernel_table
    return Timeline(
        lanes,
        lane,
        np.array([r.start for r in rows], float),
        np.array([r.seconds for r in rows], float),
        np.array([numbers[text] for text in texts], np.int64),
        list(numbers),
        [kernels[row.kernel].nodes if row.kernel in kernels else () for row in rows],
        _ir_track(passes),
        np.array([stages[row.stage] for row in rows], np.int64),
        list(stages),
        quiet,
    )


def _gaps(compilation: Compilation) -> list[PassRecord]:
    """What no pass accounts for, as events: time that is blank would look as if it had not gone by."""
    found = gaps_of(compilation.passes, compilation.elapsed, compilation.imports) if compilation.passes else []
    return [PassRecord(UNACCOUNTED[gap.what], UNACCOUNTED[gap.what], "", gap.start, gap.seconds) for gap in found]


def run_timeline(compilation: Compilation, run: RunTimes) -> Timeline:
    """One lane a thread; an event a kernel call of the last repeat; the memory plan's bytes below."""
    numbers = {name: index for index, name in enumerate(dict.fromkeys(call.kernel for call in compilation.calls))}
    spans = [span for span in run.spans if span[1] < len(compilation.calls)]
    where = "stream" if run.device != "cpu" else "thread"
    return Timeline(
        [f"{where} {index}" for index in range(max(run.threads, 1 + max((s[0] for s in spans), default=0)))],
        np.array([s[0] for s in spans], np.int64),
        np.array([s[2] for s in spans], float),
        np.array([s[3] for s in spans], float),
        np.array([numbers[compilation.calls[s[1]].kernel] for s in spans], np.int64),
        list(numbers),
        [compilation.calls[s[1]].nodes for s in spans],
        _memory_track(compilation, spans),
    )


def _stack(spans: list[tuple[float, float]]) -> list[int]:
    """The first row that is free at each event's beginning."""
    depth = [0] * len(spans)
    free: list[float] = []
    for index in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1])):
        start, end = spans[index]
        row = next((r for r, until in enumerate(free) if until <= start + 1e-9), len(free))
        if row == len(free):
            free.append(end)
        free[row] = end
        depth[index] = row
    return depth


def _ir_track(rows: list[PassRecord]) -> tuple[Track, ...]:
    """How much IR there was: of each kernel, what the last pass that counted it left."""
    known = sorted((row for row in rows if row.bytes_after >= 0), key=lambda row: row.start + row.seconds)
    if not known:
        return ()
    parts: dict[str, int] = {}
    total = 0  # added up as they come: the sum of hundreds of kernels after each of thousands of passes would be felt
    times, values = [], []
    for row in known:
        total += row.bytes_after - parts.get(row.kernel, 0)
        parts[row.kernel] = row.bytes_after
        times.append(row.start + row.seconds)
        values.append(float(total))
    end = max(row.start + row.seconds for row in rows)
    note = "of each kernel, what the last pass that counted it left"
    return (Track("IR", np.array([*times, max(end, times[-1])]), np.array(values), note),)


def _memory_track(compilation: Compilation, spans: Sequence[tuple[int, int, float, float]]) -> tuple[Track, ...]:
    """The bytes of the arena in use while each launch runs: from the plan, at the measured times."""
    used = alive_bytes(compilation.blocks, len(compilation.calls))
    if not spans or not any(used):
        return ()
    begins: dict[int, float] = {}
    for _, call, start, _ in spans:
        begins[call] = min(begins.get(call, start), start)
    calls = sorted(begins, key=lambda call: begins[call])
    times = np.array([*(begins[call] for call in calls), max(s[2] + s[3] for s in spans)])
    values = np.array([used[call] for call in calls], float)
    return (Track("memory in use", times, values, "temporary memory by the plan, at the measured times"),)
