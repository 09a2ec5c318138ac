"""Events on lanes and what is drawn of them at a zoom: only what a pixel can show, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.viewmodels.compilation import Compilation, Nodes
from app.viewmodels.requests import RunResult


@dataclass(frozen=True)
class Slices:
    """What to draw of one lane: left and right in pixels, the event behind each, and how many it stands for."""

    left: np.ndarray
    right: np.ndarray
    event: np.ndarray
    count: np.ndarray


class Timeline:
    """Events sorted by lane, then start; texts and colours are shared through `names`."""

    def __init__(
        self,
        lanes: Sequence[str],
        lane: np.ndarray,
        start: np.ndarray,
        duration: np.ndarray,
        name: np.ndarray,
        names: Sequence[str],
        nodes: Sequence[Nodes] = (),
    ) -> None:
        order = np.lexsort((start, lane))
        self.lanes = list(lanes)
        self.lane, self.start, self.duration, self.name = lane[order], start[order], duration[order], name[order]
        self.names = list(names)
        self.nodes = [nodes[i] for i in order.tolist()] if len(nodes) else []
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

    def slices(self, lane: int, begin: float, end: float, pixels: int) -> Slices:
        """The events of a lane between two times, merged where several fall on one pixel."""
        first, last = int(self._bounds[lane]), int(self._bounds[lane + 1])
        low = first + int(np.searchsorted(self._last_end[lane], begin, "left"))
        high = first + int(np.searchsorted(self.start[first:last], end, "right"))
        scale = pixels / max(end - begin, 1e-15)
        if high - low <= 2 * pixels:
            left = (self.start[low:high] - begin) * scale
            right = (self.end[low:high] - begin) * scale
            return Slices(left, np.maximum(right, left + 1), np.arange(low, high), np.ones(high - low, np.int64))
        # One search a pixel, not one step an event: where in the sorted starts does each pixel begin?
        edges = low + np.searchsorted(self.start[low:high], begin + np.arange(pixels + 1) / scale)
        edges[0], edges[-1] = low, high
        column = np.flatnonzero(np.diff(edges))
        events = edges[column]
        right = (self.end[edges[column + 1] - 1] - begin) * scale
        return Slices(column.astype(float), np.maximum(right, column + 1.0), events, np.diff(edges)[column])

    def at(self, lane: int, time: float) -> int:
        """The event of a lane at a time, or -1; the innermost where they nest."""
        if not 0 <= lane < len(self.lanes):
            return -1
        first, last = int(self._bounds[lane]), int(self._bounds[lane + 1])
        index = first + int(np.searchsorted(self.start[first:last], time, "right")) - 1
        for candidate in range(index, max(index - 64, first - 1), -1):
            if self.start[candidate] <= time <= self.end[candidate]:
                return candidate
        return -1

    def label(self, event: int) -> str:
        """The text of an event."""
        return self.names[int(self.name[event])]


def compile_timeline(compilation: Compilation) -> Timeline:
    """One lane a worker and kind of pass; an event a pass."""
    rows = [row for row in compilation.passes if row.stage != "llvm-pass"]
    keys = sorted(
        {(row.lane, row.stage) for row in rows},
        key=lambda key: (key[0], min(r.start for r in rows if (r.lane, r.stage) == key)),
    )
    lanes = [f"{stage}, worker {worker}" if worker else stage for worker, stage in keys]
    lane = [keys.index((row.lane, row.stage)) for row in rows]
    texts = [row.name + (f" {row.kernel}" if row.kernel else "") for row in rows]
    names = list(dict.fromkeys(texts))
    nodes = [
        compilation.kernel_table[row.kernel].nodes if row.kernel in compilation.kernel_table else () for row in rows
    ]
    return Timeline(
        lanes,
        np.array(lane, np.int64),
        np.array([r.start for r in rows], float),
        np.array([r.seconds for r in rows], float),
        np.array([names.index(text) for text in texts], np.int64),
        names,
        nodes,
    )


def run_timeline(compilation: Compilation, run: RunResult) -> Timeline:
    """One lane a thread; an event a kernel call of the last repeat."""
    names = list(dict.fromkeys(call.kernel for call in compilation.calls))
    spans = [span for span in run.spans if span[1] < len(compilation.calls)]
    return Timeline(
        [f"thread {index}" for index in range(run.threads)],
        np.array([s[0] for s in spans], np.int64),
        np.array([s[2] for s in spans], float),
        np.array([s[3] for s in spans], float),
        np.array([names.index(compilation.calls[s[1]].kernel) for s in spans], np.int64),
        names,
        [compilation.calls[s[1]].nodes for s in spans],
    )
