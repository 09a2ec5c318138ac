"""The comparison: what differs in options and machine first, then a verdict for each kernel with its interval."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QSizePolicy, QSplitter, QStackedLayout, QWidget

from app.theme.look import Look
from app.theme.tokens import BAR
from app.viewmodels.compilation import STAGE_TITLES, STAGES
from app.viewmodels.frame.selection import Selection
from app.viewmodels.runs.comparison import SAME_FUSION, ComparisonView, KernelVerdict
from app.views.parts.controls import Fitting, column, paragraph, push_button
from app.views.parts.header import Header
from app.views.parts.plain import plain_tip
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, Elided, MessageBar, flat_button, label
from app.views.runs.bisect_strip import BisectStrip

_VERDICT = {"faster": "\u25bc faster", "slower": "\u25b2 slower", "no measurable difference": "no difference",
            "cannot tell": "? cannot tell"}  # fmt: skip
_NARROW = 1100  # pixels below which the facts and the verdicts do not fit beside each other
_STAGES = [stage for stage in STAGES if stage != "sass"]


class CompareView(Fitting, QWidget):
    """A row selects its kernel's nodes and opens both sides at the stage at which their IR first differs."""

    pair_wanted = Signal(object, str)  # the row, and the stage to show both sides at
    ended = Signal()
    bisect_wanted = Signal()
    again_wanted = Signal()

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self.comparison: ComparisonView | None = None
        self.bar = MessageBar(look, "compare")
        self.title = label("", "heading")
        self.title.setContentsMargins(0, 0, 12, 0)
        self.notes = Elided(role="muted")
        self.stage = Choice("Stage of both panes", [(s, STAGE_TITLES[s]) for s in _STAGES], flat=True)
        self.stage.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.stage.chosen.connect(lambda stage: self._open(stage))
        self.facts = RecordView("What differs", [Column("What differs", lambda f: f.what)], stretch=0)
        self.view = RecordView("Comparison", [Column("Kernel", lambda r: r.name)])
        self.view.current.connect(self._chosen)
        self.method = Elided(role="faint")
        self.method.setContentsMargins(10, 0, 10, 0)
        self.method.setFixedHeight(22)
        self.differs = Elided(role="muted")  # the facts in a line, where there is no room for their table
        self.differs.setContentsMargins(8, 0, 8, 0)
        self.differs.setFixedHeight(24)
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setChildrenCollapsible(False)
        self.split.addWidget(self.facts)
        self.split.addWidget(self.view)
        self.split.setStretchFactor(0, 0)
        self.split.setStretchFactor(1, 1)
        self.split.splitterMoved.connect(lambda: setattr(self, "_moved", True))
        self._moved = False  # by the user: then it stays where it was put
        back = flat_button(look, "close", "Both panes back to the compilation on show", self.ended.emit)
        words = label("IR of both sides:", "faint")
        words.setContentsMargins(8, 0, 0, 0)
        tip = "Which fusion or pass makes the last run wrong, or slower than the first"
        self.bisect = push_button("Bisect", self.bisect_wanted, tip, role="small")
        tip = "Both runs once more, in turns: whatever drifts, drifts for both, so that finer differences are told"
        self.again = push_button("Measure again", self.again_wanted, tip, role="small")
        self.title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        words.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        for button in (self.again, self.bisect):
            button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)  # as high as other buttons
        self.bisection = BisectStrip(look)
        for part in (self.bar, self.bisection):
            part.installEventFilter(self)
        top = Header(self.title, self.notes, self.again, self.bisect, words, self.stage, back).spaced().spare(words)
        full = QWidget()
        column(full, top, self.bisection, self.differs, self.split, self.method)
        empty = paragraph(
            "Nothing is compared yet. Select two or more runs or compilations in the explorer (Runs) and press "
            "Compare; cut or fuse an edge in the graph; or time an edited kernel.",
            (40, 10, 40, 10),
        )
        holder = QWidget()
        self._stack = QStackedLayout(holder)
        self._stack.addWidget(empty)
        self._stack.addWidget(full)
        column(self, self.bar, holder, main=holder)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):  # of what takes room from the rows
            self._fit()
        return super().eventFilter(watched, event)

    def _room(self) -> int:
        """The pixels from top to bottom that are left for lines of words, where two rows are to be seen."""
        above = sum(part.sizeHint().height() for part in (self.bar, self.bisection) if not part.isHidden())
        heads, rows = self.view.table.horizontalHeader().sizeHint(), self.view.table.verticalHeader()
        return self.height() - above - BAR - heads.height() - 2 * rows.defaultSectionSize()

    def _fit(self) -> None:
        """The facts beside the verdicts where both have room, else in a line above them."""
        some, narrow = bool(self.comparison and self.comparison.differences), self.width() < _NARROW
        self.facts.setVisible(not narrow and some)
        room, line = self._room(), self.differs.height()
        self.differs.setVisible(narrow and some and room >= line)
        self.method.setVisible(room >= self.method.height() + line)
        if not self._moved:
            facts = max(230, min(int(self.width() * 0.26), 460))
            self.split.setSizes([facts, max(self.width() - facts, 1)])

    def set_comparison(self, comparison: ComparisonView) -> None:
        """Show it, opened at the first stage whose IR differs."""
        self.comparison = comparison
        for button in (self.again, self.bisect):
            button.setVisible(comparison.runs is not None)
        self._stack.setCurrentIndex(1)
        self.title.setText(comparison.title)
        self._set_columns(comparison)
        facts = (f"{fact.what}: {' | '.join(fact.values)}" for fact in comparison.differences)
        self.differs.setText("What differs:  " + "   \u00b7   ".join(facts))
        self._fit()
        self.facts.set_records(comparison.differences)
        self.view.set_records(comparison.rows)
        notes = [*comparison.warnings, *comparison.break_even]
        if not comparison.differences:
            notes.insert(0, "same options, same machine, same versions")
        self.notes.setText("; ".join(notes))
        self.method.setText(f"Verdicts: {comparison.method}" if comparison.method else "Compilations have no verdicts.")
        told = (self.differs.text() if comparison.differences else "", self.method.text())
        self.title.setToolTip(plain_tip("\n".join(filter(None, told))))  # a low view has no room for these lines
        first = comparison.first_difference()
        if first is not None:
            row = self.view.model.row_of(first)
            self.view.select_records([first])
            self.view.table.scrollTo(self.view.model.index(max(row, 0), 0))
            self._show(first, first.differs_at)

    def _set_columns(self, comparison: ComparisonView) -> None:
        labels = [side.label for side in comparison.sides]
        facts = [Column("What differs", lambda f: f.what)]
        facts += [Column(text, lambda f, at=at: f.values[at]) for at, text in enumerate(labels)]
        self.facts.model.set_columns(facts)
        whole = lambda r: "the same graph, fused in the same way" if r.note == SAME_FUSION else _differs(r)  # noqa: E731
        roomy, several = self.width() > 1000, len(labels) > 2
        # The first column never gives way: it says what the row is about.
        columns = [Column("Kernel", lambda r: r.name, width=(180 if roomy else 150) if comparison.timed else 320)]
        timed = list(enumerate(labels)) if comparison.timed else []
        for at, text in timed[1:]:
            columns += self._verdict_columns(at, f"{text}: " if several else "", 46 * several, 32 * roomy)
        columns += [Column(text, lambda r, at=at: r.times[at], right=True, width=84) for at, text in timed]
        columns.append(Column("IR differs at", _differs, tip=whole, width=100))
        self.view.set_columns(columns, stretch=len(columns) - 1)
        heads = self.facts.table.horizontalHeader()
        heads.setTextElideMode(Qt.TextElideMode.ElideRight)
        heads.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        self.facts.table.setColumnWidth(0, 150 if self.width() > 1400 else 110)
        for at in range(1, len(facts)):
            heads.setSectionResizeMode(at, QHeaderView.ResizeMode.Stretch)

    def _verdict_columns(self, at: int, prefix: str, wider: int, roomier: int) -> list[Column]:
        def of(row: KernelVerdict):
            return row.verdicts[at] if at < len(row.verdicts) else None

        return [
            Column(
                f"{prefix}Verdict",
                lambda r: _VERDICT.get(v.words, v.words) if (v := of(r)) else "one side only",
                colour=lambda r: self._colour(v.words if (v := of(r)) else ""),
                tip=lambda r: v.told if (v := of(r)) else "only one of the sides has this kernel",
                width=116 + wider,
            ),
            Column(
                f"{prefix}Ratio",
                lambda r: v.ratio if (v := of(r)) else None,
                lambda v: "" if v is None else f"{v:.2f}\u00d7",
                right=True,
                tip=lambda _: self._compared(),
                width=82 + wider,
            ),
            Column(
                f"{prefix}95% interval",
                lambda r: v.interval if (v := of(r)) else "",
                right=True,
                tip=lambda _: self._compared(),
                width=108 + wider + roomier,
            ),
        ]

    def _compared(self) -> str:
        """What a ratio is the ratio of."""
        method = self.comparison.method if self.comparison is not None else ""
        return f"Of what the verdict compares, and not of the medians beside it, which count every call: {method}"

    def _chosen(self, row: KernelVerdict) -> None:
        if row.nodes:
            self._selection.select(row.nodes, self)
        self._show(row, row.differs_at or self.stage.value)

    def _open(self, stage: str) -> None:
        for row in self.view.selected()[:1]:
            self._show(row, stage)

    def _show(self, row: KernelVerdict, stage: str) -> None:
        self.stage.set_value(stage)
        self.stage.setMinimumWidth(self.stage.sizeHint().width())
        self.pair_wanted.emit(row, stage)

    def _colour(self, verdict: str) -> str | None:
        theme = self._look.theme
        colours = {"faster": theme.good, "slower": theme.bad, "cannot tell": theme.warning}
        return colours.get(verdict)


def _differs(row: KernelVerdict) -> str:
    return STAGE_TITLES.get(row.differs_at, row.differs_at) or row.note.replace("compiled", "same IR")
