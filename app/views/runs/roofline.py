"""The roofline: what each launch reaches, under this machine's measured ceilings."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QWidget

from app.theme.look import Look, tint
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import CeilingsTold
from app.viewmodels.runs.point_labels import Box, beside, dot, lies_in, meet, place_labels
from app.viewmodels.runs.roofline import RoofPoint, nearby, points
from app.viewmodels.runs.run_figures import CallFigures
from app.views.parts.controls import column, push_button
from app.views.parts.header import Header
from app.views.parts.later import one_shot
from app.views.parts.plots import make_plot, name_axes
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, Elided, MessageBar, label
from profiler.analysis.roofline import levels_of, peak_for, peaks_of
from profiler.records import GBYTES, GFLOPS, Ceiling
from profiler.units import figure, percent, rate

OWN = ""
"""Each kernel under the peak of the dtype it computes in."""
DTYPES = ((OWN, "own dtype"), ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"))
_ABOVE = (
    "Faster than memory: what it reads lay in a cache, as a launch before it left it, or memory was measured too slow"
)
_DOT = 11  # pixels across
_ALONG = (1.08, 1.5, 2.1, 3.0)  # where along the roof of a memory it is named, by where what is in sight begins
_NAMES, _POINTS = 1, 2  # what lies over what: lines, then their names, then launches, which no name may hide


class RooflineView(QWidget):
    """A table of the launches beside the plot; a click on a row or a point selects its nodes."""

    measure_wanted = Signal()

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._known: dict[str, tuple[Ceiling, ...]] = {}
        self.calls: list[CallFigures] = []
        self.device = "cpu"
        self._elsewhere = ""
        self._brought: tuple[Ceiling, ...] = ()
        self._plot: Any = None
        self._undrawn = False
        self._taken: list[Box] = []  # by launches, their numbers and names of roofs, in pixels
        self._come = one_shot(self, self._draw)  # into sight, with something to draw
        self.bar = MessageBar(look, "roofline")
        self.note = Elided(role="muted")
        self.dtype = Choice("Peak to compare with", DTYPES, flat=True)
        self.dtype.chosen.connect(lambda _: self._refresh())
        tip = "Copies by memory level and multiply-adds by dtype, by our own kernels: half a minute"
        self.measure = push_button("Measure this machine", self.measure_wanted, tip)
        self.view = RecordView(
            "Roofline",
            [
                Column("#", lambda p: p.call.index + 1, right=True, width=34),
                Column("Kernel", lambda p: p.call.kernel),
                Column("FLOP/B", lambda p: p.intensity, figure, right=True, width=76, room=400),
                Column("GFLOP/s", lambda p: p.gflops, figure, right=True, width=84),
                Column("Of roof", lambda p: None if p.share is None else p.share * 100,
                       lambda v: "" if v is None else percent(v / 100), right=True, width=74,
                       tip=lambda p: _ABOVE if p.above_memory else ""),
                Column("Bound", lambda p: p.bound, width=84, room=460),
            ],
            stretch=1,
            empty="Run (F5), and measure this machine once, to see how near each kernel comes to what is possible.",
            key=lambda point: point.call.index,
        )  # fmt: skip
        self.view.current.connect(lambda point: selection.select(point.call.nodes, self))
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.addWidget(self.view)
        controls = Header(self.note, label("peak", "muted"), self.dtype, self.measure, wide=self.note).spaced()
        column(self, self.bar, controls, self._split, main=self._split)
        look.changed.connect(self._draw)
        selection.changed.connect(self._selected)
        self._refresh()

    def set_ceilings(self, told: CeilingsTold) -> None:
        """What a device can do."""
        self._known[told.device] = told.ceilings
        self._refresh()

    def set_calls(
        self, calls: list[CallFigures], device: str = "cpu", elsewhere: str = "", ceilings: tuple[Ceiling, ...] = ()
    ) -> None:
        """The launches of a run on a device; one made `elsewhere` brings what was measured there."""
        self.calls, self.device = calls, device
        self._elsewhere, self._brought = elsewhere, ceilings
        self._refresh()

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """The ceilings that hold for what is on show: those of the device it ran on."""
        return self._brought if self._elsewhere else self._known.get(self.device, ())

    def _refresh(self) -> None:
        self.points: list[RoofPoint] = points(self.calls, self.ceilings, self.dtype.value)
        self.view.set_records(self.points)
        where = "this machine" if self.device == "cpu" else self.device
        self.measure.setText(f"Measure {where}")
        self.measure.setEnabled(not self._elsewhere)
        if self.ceilings:
            known = [f"{c.name} {rate(c.value, c.unit)}" for c in self.ceilings]
            counted = ["bytes as the device counted them"] * any(point.measured for point in self.points)
            self.note.setText(";  ".join([*counted, *known]))
        else:
            self.note.setText(f"The ceilings of {self._elsewhere or where} have not been measured yet.")
        self._draw()

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if origin is not self:
            self.view.select_records([p for p in self.points if not nodes.isdisjoint(p.call.nodes)])

    def paintEvent(self, event) -> None:
        super().paintEvent(event)
        if self._undrawn:
            self._come.start()

    def prepare(self) -> None:
        """Make the plot, which takes long enough to be felt: before there is something to show, where there is time."""
        if self._plot is None:
            from app.views.parts.plot import LogAxis

            self._plot = make_plot("Roofline plot", 60, **{side: LogAxis(side) for side in ("bottom", "left")})
            self._plot.hide()
            self._plot.box.sigResized.connect(lambda _: self._come.start())  # what can be named, and where
            self._split.addWidget(self._plot)
            self._split.setSizes([380, 420])
            self._split.setStretchFactor(1, 1)

    def _draw(self) -> None:
        # Drawing it takes long enough to be felt: not for nobody. What is behind another tab is "visible", to Qt.
        self._undrawn = self.visibleRegion().isEmpty()
        if self._undrawn or (not self.points and not self.ceilings):
            return
        import pyqtgraph

        theme = self._look.theme
        self.prepare()
        plot: Any = self._plot
        plot.show()
        plot.clear()
        plot.setBackground(theme.panel)
        low, high = self._range()
        self._taken = []
        if self.points:  # before names of roofs, which give way to launches
            self._draw_points(pyqtgraph)
        self._draw_roofs(pyqtgraph, low, high)
        plot.box.setXRange(float(np.log10(low)), float(np.log10(high)), padding=0)
        bottom, top = self._heights()
        plot.box.setYRange(float(np.log10(bottom)), float(np.log10(top)), padding=0)
        name_axes(plot, theme, "FLOP per byte", "GFLOP/s")

    def _range(self) -> tuple[float, float]:
        """The intensities on show: the launches', and the ridge where memory stops being what limits."""
        found = [p.intensity for p in self.points]
        memory, peaks = levels_of(self.ceilings).get("memory"), peaks_of(self.ceilings)
        if memory:
            found += [peaks[name] / memory for name in self._held_against()]
        return min(found, default=0.1) / 4, max(found, default=10.0) * 6

    def _held_against(self) -> list[str]:
        """The peaks that launches are held against: of their own dtypes, or of the one that was chosen."""
        own = {point.peak for point in self.points if point.peak}
        if self.dtype.value == OWN and own:
            return sorted(own)
        top = peak_for(self.dtype.value or "f32", peaks_of(self.ceilings))
        return [top[0]] if top else []

    def _heights(self) -> tuple[float, float]:
        """The GFLOP/s on show."""
        found = [*peaks_of(self.ceilings).values()] + [p.gflops for p in self.points]
        return min(found, default=1.0) / 3, max(found, default=10.0) * 2.5

    def _draw_roofs(self, pyqtgraph: Any, low: float, high: float) -> None:
        theme, plot = self._look.theme, self._plot
        tops, levels = peaks_of(self.ceilings), levels_of(self.ceilings)
        highest = max(tops.values(), default=np.inf)
        ends = {level: end for level, value in levels.items() if (end := min(highest / value, high)) > low}
        for level, end in ends.items():
            value = levels[level]
            strong = level == "memory"
            pen = pyqtgraph.mkPen(theme.text if strong else theme.muted, width=2 if strong else 1)
            plot.plot(np.log10([low, end]), np.log10([low * value, end * value]), pen=pen)
        widest = max(levels.values(), default=np.inf)
        self._taken += [self._flat(max(value / widest, low), high, value) for value in tops.values()]
        above, below = (0.0, 1.0), (0.0, 0.0)
        named = nearby((level, levels[level]) for level in ends)
        for names, value in sorted(named, key=lambda entry: entry[0] != "memory"):
            sides = (below, above) if names == "memory" else (above, below)
            along = [at for step in _ALONG if (at := low * step) < min(highest / value, high)]
            places = [(at, at * value, side) for at in along for side in sides]
            self._name(pyqtgraph, f"{names} {rate(value, GBYTES)}", places)
        chosen = self._held_against()
        for dtype, value in sorted(tops.items(), key=lambda entry: entry[0] not in chosen):
            strong = dtype in chosen
            style = Qt.PenStyle.SolidLine if strong else Qt.PenStyle.DashLine
            pen = pyqtgraph.mkPen(theme.text if strong else theme.muted, width=2 if strong else 1, style=style)
            begin = max(value / widest, low)
            if begin < high:
                plot.plot(np.log10([begin, high]), np.log10([value, value]), pen=pen)
                places = [(high, value, (1.0, 1.1)), (high, value, (1.0, -0.1)), (begin, value, (0.0, 1.1))]
                self._name(pyqtgraph, f"{dtype} {rate(value, GFLOPS)}", places)

    def _pixels(self) -> tuple[float, float]:
        """How many there are for ten times as much, across and down."""
        (low, high), (bottom, top), box = self._range(), self._heights(), self._plot.box
        return box.width() / np.log10(high / low), box.height() / np.log10(top / bottom)

    def _room(self) -> Box:
        """What is in sight, in pixels, and one more: names at its edges end there."""
        (low, high), (bottom, top), (across, down) = self._range(), self._heights(), self._pixels()
        left, over = np.log10(low) * across, -np.log10(top) * down
        return left - 1, over - 1, np.log10(high) * across + 1, -np.log10(bottom) * down + 1

    def _flat(self, begin: float, end: float, value: float) -> Box:
        """What a level line covers, in pixels."""
        (left, right), over = (np.log10([begin, end]) * self._pixels()[0]), -np.log10(value) * self._pixels()[1]
        return left, over - 1, right, over + 1

    def _dots(self) -> list[tuple[float, float]]:
        """Where the launches are, in pixels."""
        across, down = self._pixels()
        return [(np.log10(p.intensity) * across, -np.log10(p.gflops) * down) for p in self.points]

    def _name(self, pyqtgraph: Any, words: str, places: list[tuple[float, float, tuple[float, float]]]) -> None:
        """Name a line at the first place where the name lies on no launch and no other name; nowhere where none is."""
        theme, (across, down) = self._look.theme, self._pixels()
        text = _close_words(pyqtgraph, words, theme.muted, tint(theme.panel, 210))
        wide, tall = text.boundingRect().width(), text.boundingRect().height()
        for x, y, anchor in places:
            left, over = np.log10(x) * across - anchor[0] * wide, -np.log10(y) * down - anchor[1] * tall
            box = left, over, left + wide, over + tall
            if lies_in(box, self._room()) and not any(meet(box, other) for other in self._taken):
                self._taken.append(box)
                text.setAnchor(anchor)
                text.setPos(float(np.log10(x)), float(np.log10(y)))
                text.setZValue(_NAMES)  # above the lines that are still to come
                self._plot.addItem(text)
                return

    def _draw_points(self, pyqtgraph: Any) -> None:
        theme, plot = self._look.theme, self._plot
        scatter = pyqtgraph.ScatterPlotItem(
            [float(np.log10(p.intensity)) for p in self.points],
            [float(np.log10(p.gflops)) for p in self.points],
            size=_DOT,
            brush=[pyqtgraph.mkBrush(theme.series_colour(p.call.index)) for p in self.points],
            pen=pyqtgraph.mkPen(theme.text),
            data=self.points,
            hoverable=True,
            tip=lambda x, y, data: f"{data.call.index + 1} {data.call.kernel}: {rate(data.gflops, GFLOPS)}",
        )
        scatter.sigClicked.connect(
            lambda _, hit, *__: len(hit) and self._selection.select(hit[0].data().call.nodes, self)
        )
        scatter.setZValue(_POINTS)
        plot.addItem(scatter)
        self._name_points(pyqtgraph)

    def _name_points(self, pyqtgraph: Any) -> None:
        """Each point's number beside it, on a side where it can be read."""
        texts = [_close_words(pyqtgraph, str(p.call.index + 1), self._look.theme.text) for p in self.points]
        sizes = [(text.boundingRect().width(), text.boundingRect().height()) for text in texts]
        dots, away = self._dots(), _DOT / 2 + 1
        sides = place_labels(dots, sizes, away, self._room())
        for point, text, spot, size, side in zip(self.points, texts, dots, sizes, sides):
            self._taken += [dot(*spot, _DOT / 2), beside(*spot, size, side, away)]
            text.setAnchor([0.5 - step * (0.5 + away / room) for step, room in zip(side, size)])
            text.setPos(float(np.log10(point.intensity)), float(np.log10(point.gflops)))
            text.setZValue(_POINTS)
            self._plot.addItem(text)


def _close_words(pyqtgraph: Any, words: str, colour: str, behind: Any = None) -> Any:
    """Words close to what they name, with little behind them that would hide lines: there are 4 pixels around Qt's."""
    text = pyqtgraph.TextItem(words, color=colour, fill=behind)
    text.textItem.document().setDocumentMargin(1)
    text.updateTextPos()
    return text
