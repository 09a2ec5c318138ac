"""Comparisons of runs and compilations: their view, and two sides of one in two panes, level and scrolled together."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.records import RecordsController
from app.viewmodels.compilation import MODEL_STAGES
from app.viewmodels.requests import AgainRequest, Failure, KeepRequest
from app.viewmodels.runs.comparison import ComparisonView, KernelVerdict, comparison_view
from app.viewmodels.text.ir_pane import Against, TextKey
from app.views.frame.workbench import Workbench
from app.views.parts.later import next_turn
from app.views.runs.compare import CompareView
from app.views.text.ir_pane import IrPane


class ComparisonFeature(Feature):
    """The comparison that was asked for last."""

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, docks: DocksFeature,
        workbench: Workbench,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler, self._records, self._docks = compiler, records, docks
        state = self._state
        self.view = CompareView(self._look, state.selection)
        self.bars = {"compare": self.view.bar}
        self.pair = Pair(workbench, self)
        self._elsewhere: ComparisonView | None = None  # of a database that was left
        self.docks = (Dock("compare", "Compare", self.view, 90),)
        self.commands = (
            Command("compare_compilations", "Compare with the previous &compilation, kernel by kernel", "&Compare", 13,
                    self.compare_with_previous),
            Command("measure_again", "Measure both runs &again, in turns", "&Compare", 25, self.measure_again),
        )  # fmt: skip
        self.pairs = AgainRequest.pairs
        self._again = False  # whether both runs are being measured again
        records.ended.connect(lambda _: self._ended())
        self.view.again_wanted.connect(self.measure_again)
        self.view.pair_wanted.connect(self._show_pair)
        self.view.ended.connect(self.pair.end)
        records.compared.connect(lambda document: state.set_comparison(comparison_view(document)))
        state.compared.connect(self._compared)
        state.compiled.connect(lambda _: self.pair.end())
        records.moved.connect(self._left)

    def compare_with_previous(self) -> None:
        """The compilation on show against the one before it: options, then each kernel's IR side by side."""
        if self._state.previous is None:
            words = "there is no earlier compilation of this source to compare with"
            self._messages.say("info", words, "window")
            return
        numbers: dict[bool, int] = {}

        def kept(previous: bool, value: object) -> None:
            if isinstance(value, Failure):
                self._messages.failure(value, "compare")
                return
            numbers[previous] = int(value)  # type: ignore[call-overload]
            if len(numbers) == 2:
                self._records.compare_compilations((numbers[True], numbers[False]))

        for previous in (True, False):
            self._compiler.ask(KeepRequest(True), lambda value, p=previous: kept(p, value), previous)

    def runs(self, otherwise: str) -> tuple[int, int] | None:
        """The two runs of the comparison on show, in the database that is open; where there are none, that is said."""
        comparison = self._state.comparison
        if comparison is None or comparison.runs is None:
            self._messages.say("info", f"compare two runs first: {otherwise}", "window")
            return None
        if comparison is self._elsewhere:
            words = "this comparison is of the database that was open before: compare two runs of this one first"
            self._messages.say("info", words, "compare")
            return None
        return comparison.runs

    def measure_again(self) -> None:
        """Make both runs of the comparison on show again, in turns, and compare the new ones."""
        runs, asked = self.runs("both are then measured again, in turns"), self._state.comparison
        if runs is None or self._again:
            return

        def start() -> None:
            if self._state.comparison is asked and asked is not self._elsewhere:
                self._again = True
                self.view.again.setEnabled(False)
                self._messages.clear("compare")
                self._records.make_again(runs, self.pairs)

        self._docks.show("compare")
        self._compiler.measuring.ask("Measuring again", start)

    def _ended(self) -> None:
        self._again = False
        self.view.again.setEnabled(True)

    def _compared(self, comparison: ComparisonView) -> None:
        self._messages.clear("compare")
        self.pair.again = True
        self._docks.show("compare")
        next_turn(self, lambda: self._show(comparison))  # to bring it to the front and to fill it are felt together

    def _show(self, comparison: ComparisonView) -> None:
        if comparison is self._state.comparison:  # else another has come since
            self.view.set_comparison(comparison)

    def _left(self) -> None:
        """Another database is open: what it has under the same numbers is something else."""
        self._elsewhere = self._state.comparison
        self.pair.end()

    def _show_pair(self, row: KernelVerdict, stage: str) -> None:
        comparison = self._state.comparison
        if comparison is not None and comparison is self._elsewhere:
            words = "this comparison is of the database that was open before: compare again to see its texts"
            self._messages.say("info", words, "compare")
        elif comparison is not None and not self.pair.show(comparison, row, stage):
            words = f"{row.name}: the IR of both sides was not kept, so there is nothing to lay side by side"
            self._messages.say("info", words, "compare")


class Pair(QObject):
    """Shows the first and the last side of a comparison; the panes are a pair until either shows something else."""

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._pair: tuple[IrPane, IrPane] | None = None
        self._linked: set[tuple[IrPane, IrPane]] = set()
        self._before: dict[IrPane, tuple[str, str, str]] = {}  # what panes showed, to be had back
        self._stage = ""  # of both sides
        self.again = False  # whether texts on show may be others by now, under the same numbers
        self._moving = False

    def show(self, comparison: ComparisonView, row: KernelVerdict, stage: str) -> bool:
        """Open both sides at a stage; False where a side has no text of it."""
        first, last = comparison.sides[0], comparison.sides[-1]
        whole = stage in MODEL_STAGES
        names = ("", "") if whole else (row.names[0], row.names[-1])
        if not (first.compilation and last.compilation) or not (whole or all(names)):
            return False
        keys = [
            TextKey(stage, name, origin=f"c{side.compilation}").clean()
            for side, name in ((first, names[0]), (last, names[1]))
        ]
        self.open(keys[0], keys[1], (first.label, last.label))
        return True

    def open(self, first: TextKey, last: TextKey, labels: tuple[str, str]) -> None:
        """Two texts side by side, level and scrolled together."""
        before, after = self._workbench.free_panes(2)
        self._link(before, after)
        for pane in (before, after):
            if not pane.model.origin:
                self._before[pane] = (pane.model.stage, pane.model.kernel, pane.model.target)
        self._stage = first.stage
        again, self.again = self.again, False
        before.model.show_key(first, labels[0], Against(last, "", "before"), again)
        after.model.show_key(last, labels[1], Against(first, "", "after"), again)

    def end(self) -> None:
        """Both panes back to what they showed of the compilation before."""
        before, self._before, self._pair = self._before, {}, None
        for pane, (stage, kernel, target) in before.items():
            if pane in self._workbench.panes and pane.model.stage == self._stage:  # unless it was turned elsewhere
                known = {pane.kernel.itemData(at) for at in range(pane.kernel.count())}
                pane.model.show(stage, kernel if kernel in known or not known else None, target)

    def _link(self, before: IrPane, after: IrPane) -> None:
        self._pair = (before, after)
        if self._pair in self._linked:
            return
        self._linked.add(self._pair)
        for pane in self._pair:
            pane.strip.closed.connect(lambda: self.end() if self._before else None)
        for one, other in ((before, after), (after, before)):
            for name in ("verticalScrollBar", "horizontalScrollBar"):
                bar = getattr(one.text, name)()
                bar.valueChanged.connect(lambda value, o=one, t=other, n=name: self._scrolled(o, t, n, value))

    def _scrolled(self, one: IrPane, other: IrPane, name: str, value: int) -> None:
        panes = self._workbench.panes
        if self._moving or self._pair is None or not {one, other} <= set(self._pair) or other not in panes:
            return
        if one.model.origin and other.model.origin and one.model.diff and other.model.diff:
            self._moving = True
            getattr(other.text, name)().setValue(value)
            self._moving = False
