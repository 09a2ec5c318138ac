"""The run view: the distribution of times, each launch's figures, what was counted, the check against the reference."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QLineEdit,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import count, seconds, size
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.launch_groups import WAYS, launch_rows
from app.viewmodels.runs.run_figures import (
    CHECKS,
    WHOLE,
    CallFigures,
    between_figures,
    call_figures,
    counted_rows,
    whole_figures,
)
from app.views.parts.controls import column, paragraph, push_button, spin_box
from app.views.parts.header import Header
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, Elided, MessageBar, label
from app.views.runs.distribution_plot import DistributionPlot
from profiler.units import percent, rate

_SIZE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\d{1,18})\s*")


def read_sizes(text: str) -> tuple[tuple[str, int], ...]:
    """`M=256, N=64` as pairs; ValueError where it is something else."""
    found = []
    for part in filter(str.strip, text.split(",")):
        match = _SIZE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is not NAME=SIZE, as in M=256")
        found.append((match[1], int(match[2])))
    return tuple(found)


def counter_value(entry: tuple[str, float | None, str, str]) -> str:
    """A counter as people read it."""
    _, value, unit, _ = entry
    if value is None:
        return "not available"
    if unit == "s":
        return seconds(value)
    if unit == "B":
        return size(value)
    return f"{count(value)} {unit}".strip()


class RunView(QWidget):
    """What to run with on top; below, launches and counters beside the plot of the chosen row."""

    run_wanted = Signal()
    tune_wanted = Signal()

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._rows: list[CallFigures] = []
        self._run: RunTimes | None = None
        self._calls: list[CallFigures] = []
        self.bar = MessageBar(look, "run")
        self.plot = DistributionPlot(look)
        self._make_tables()
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty_page())
        self._stack.addWidget(self._result_page())
        column(self, self.bar, self._controls(), self._stack, main=self._stack)
        self._selection.changed.connect(self._selected)

    def _controls(self) -> QWidget:
        self.run = push_button("Run", self.run_wanted, "Run and time (F5)", "Run and time", "primary")
        tip = "Tune this model: try what its kernels leave to choose, on this device"
        self.tune = push_button("Tune", self.tune_wanted, tip, "Tune this model", "small")
        self.device = label("on the CPU", "muted")
        self.threads = spin_box("Threads", 0, 1024, " threads", "all cores", "CPU threads")
        tip = "How many calls are timed; by default until the median is known well, or a second"
        self.repeats = spin_box("Calls to time", 0, 1_000_000, " calls", "until sure", tip)
        self.sizes = QLineEdit()
        self.sizes.setAccessibleName("Sizes of symbolic dims")
        self.sizes.setPlaceholderText("sizes, as in M=256")
        self.sizes.setToolTip("Sizes of symbolic dims, as in M=256, N=64")
        self.sizes.setMinimumWidth(160)
        self.sizes.returnPressed.connect(self.run_wanted)
        self.sizes.setMaximumWidth(320)
        controls = Header(self.run, self.device, self.threads, self.repeats, self.sizes, None, self.tune)
        return controls.spare(self.device).spaced()

    def _make_tables(self) -> None:
        self.view = RecordView(
            "Launches",
            [
                Column("#", lambda c: c.index + 1, lambda v: str(v) if v > 0 else "", right=True, width=36),
                Column("Kernel", lambda c: c.kernel, tip=lambda c: c.why or c.kernel),
                Column("Launches", lambda c: c.launches, lambda v: str(v) if v > 1 else "", right=True, width=88,
                       room=780),
                Column("Median", lambda c: c.median * 1e6, _signed, right=True, unit="us", width=80),
                Column("Quartiles", lambda c: c.quartiles,
                       lambda v: f"{seconds(v[0])} to {seconds(v[1])}" if v[1] else "",
                       right=True, width=164, room=880),
                Column("Share", lambda c: c.share * 100, lambda v: percent(v / 100), right=True, width=64),
                Column("Bandwidth", lambda c: c.point.gbytes or 0.0, lambda v: rate(v, "GB/s") if v else "",
                       right=True, width=108, room=440),
                Column("Work", lambda c: c.point.gflops or 0.0, lambda v: rate(v, "GFLOP/s") if v else "", right=True,
                       width=130, room=620),
                Column("Threads", lambda c: c.uneven, lambda v: f"uneven, {v:.1f}\u00d7" if v else "", width=96,
                       room=700, colour=lambda c: self._look.theme.warning if c.uneven else None),
            ],
            stretch=1,
            key=lambda row: row.index,
        )  # fmt: skip
        self.view.current.connect(self._chosen)
        self.by = Choice("Put launches together", WAYS, flat=True)
        self.by.chosen.connect(lambda _: self._list())
        self.counters = RecordView(
            "Counters",
            [
                Column("Counter", lambda c: c[0], width=190),
                Column("Value", lambda c: c[1], right=True, words=counter_value, width=130),
                Column("Note", lambda c: c[3]),
            ],
            stretch=2,
            empty="This run counted nothing besides time.",
        )

    def _empty_page(self) -> QWidget:
        page = QWidget()
        words = paragraph(
            "Not run yet. Times are taken over many calls on random inputs, in a process of their own, and every "
            "result is checked against NumPy.",
            (0, 0, 0, 0),
        )
        QVBoxLayout(page).addWidget(words)
        return page

    def _result_page(self) -> QWidget:
        self.summary = Elided()
        self.summary.setContentsMargins(10, 5, 10, 3)
        self.notes = paragraph()
        self.notes.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.notes.setContentsMargins(10, 8, 10, 8)
        self.notes.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setExpanding(False)
        self.tabs.tabBar().setAccessibleName("Launches, counters, notes")
        self.tabs.addTab(self.view, "Launches")
        self.tabs.addTab(self.counters, "Counters")
        self.tabs.addTab(self.notes, "Notes")
        self.tabs.setCornerWidget(Header(None, self.by))
        self.tabs.currentChanged.connect(lambda at: self.by.setVisible(at == 0))
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.tabs)
        split.addWidget(self.plot)
        split.setSizes([620, 360])
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        page = QWidget()
        column(page, self.summary, split, main=split)
        return page

    def clear(self) -> None:
        """Another compilation: nothing was run yet."""
        self._stack.setCurrentIndex(0)

    def set_times(self, compilation: Compilation, run: RunTimes) -> None:
        """Its times, which is what one waits for."""
        self._run, self._calls = run, call_figures(compilation, run)
        self._list()
        self.summary.setText(self._words(run))
        self._stack.setCurrentIndex(1)
        self._show_times(self._rows[0])

    def set_counters(self, run: RunTimes) -> None:
        """What else was counted and noted, on pages of their own."""
        counters = [*counted_rows(run), *run.counters]
        self.counters.set_records(sorted(counters, key=lambda counter: counter[1] is None))  # what is known first
        missing = sum(value is None for _, value, _, _ in counters)
        self.tabs.setTabText(1, f"Counters ({len(counters) - missing} of {len(counters)})")
        notes = [*(f"check: {words}" for words in run.checks), *run.notes]
        self.notes.setText("\n".join(notes) or "Nothing to note.")
        self.tabs.setTabText(2, f"Notes ({len(notes)})")

    def _list(self) -> None:
        """The launches as they are to be put together, under the whole model."""
        if self._run is not None:
            rest = between_figures(self._run)
            rows = launch_rows(self._calls, self._run, self.by.value)
            self._rows = [whole_figures(self._run), *rows, *([rest] if rest else [])]
            self.view.set_records(self._rows)

    def _words(self, run: RunTimes) -> str:
        whole = self._rows[0]
        sizes = ", ".join(f"{name}={value}" for name, value in run.dims)
        taken = run.summary
        surely = f" ({percent(taken.coverage)}: {seconds(taken.low)} to {seconds(taken.high)})" if taken else ""
        middle = "median of process medians" if taken and taken.processes > 1 else "median"
        best = f", best {seconds(taken.minimum)}" if taken else ""
        where = f"{run.threads} thread{'s' * (run.threads != 1)}" if run.device == "cpu" else run.device
        kept = f"run {run.number}" if run.number else "not kept"
        return (
            f"{seconds(whole.median)} {middle}{surely}, {len(run.totals)} calls; {CHECKS[run.ok]}; {where}"
            f"{', ' + sizes if sizes else ''}{best}; {kept}"
        )

    def _chosen(self, row: CallFigures) -> None:
        self._show_times(row if row.times else self._rows[0])
        if row.nodes:
            self._selection.select(row.nodes, self)

    def _show_times(self, row: CallFigures) -> None:
        name = WHOLE if row.index < 0 else f"{row.index + 1} {row.kernel}"
        self.plot.set_times(name, row.times, row.summary)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if origin is not self:
            self.view.select_records([row for row in self._rows if not nodes.isdisjoint(row.nodes)])


def _signed(microseconds: float) -> str:
    """A time; what was taken off has its sign."""
    return f"-{seconds(-microseconds / 1e6)}" if microseconds < 0 else seconds(microseconds / 1e6)
