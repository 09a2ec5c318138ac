"""The commands of IR panes: adding, targets, folding, comparing, stepping through differences, finding everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication, QInputDialog

from app.controllers.messages import Message
from app.viewmodels.compilation import KERNEL_STAGES, MODEL_STAGES, stage_title
from app.viewmodels.requests import Failure
from app.viewmodels.text.ir_pane import PREVIOUS, USUAL_GPU, Against, IrPaneModel, TextKey
from app.views.frame.toolbar import TARGETS
from app.views.text.ir_pane import IrPane
from compiler.targets import emission_of

if TYPE_CHECKING:
    from app.main_window import MainWindow

_USUAL = ("asm", "llvm", "source", "kgen", "kernel", "mo", "llvm-opt")


class PaneCommands:
    """Bound to one window."""

    def __init__(self, window: MainWindow) -> None:
        self._w = window

    def add_pane(self) -> None:
        """One more IR pane, at the first stage no pane shows."""
        shown = {pane.model.stage for pane in self._w.workbench.panes}
        self._w.show_work()
        self._w.workbench.add_pane(next((stage for stage in _USUAL if stage not in shown), "asm"))

    def pane_target(self) -> None:
        """Show the current pane's kernel for another target, under the same selection."""
        pane = self._w.workbench.current_pane()
        if pane is None:
            return
        names = [name for name, _ in TARGETS]
        target, good = QInputDialog.getItem(self._w, "Target of this pane", "Target:", names, 0, False)
        if good:
            pane.set_target(target)

    def two_targets(self) -> None:
        """The current kernel's machine code for the CPU and for a GPU, side by side."""
        pane = self._w.workbench.current_pane()
        if pane is None:
            return
        own = pane.model.own_target
        other = "cpu" if "ptx" in emission_of(own).stages else USUAL_GPU
        pane.model.show(stage="asm", target="")
        self.open_beside(pane, other)

    def open_beside(self, pane: IrPane, target: str) -> None:
        """The same kernel and stage for another target, in a pane beside this one."""
        model = pane.model
        target = "" if target == model.own_target else target
        panes = self._w.workbench.panes
        free = [p for p in panes if p is not pane and not p.model.locked]
        if free:  # the pane beside it, rather than ever narrower ones
            free[0].model.show(stage=model.stage, kernel=model.kernel, target=target)
        else:
            self._w.workbench.add_pane(model.stage, model=IrPaneModel(model.stage, model.kernel, target))

    def fold_all(self) -> None:
        """Fold every region of the current pane."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.text.fold_all(True)

    def unfold_all(self) -> None:
        """Unfold the current pane."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.text.fold_all(False)

    def go_to_line(self) -> None:
        """Ask for a line of the current pane."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.ask_line()

    def find_everywhere(self) -> None:
        """Search the graph and every stage of every kernel; what is selected in a pane is the word to look for."""
        pane = self._focused_pane()
        chosen = pane.text.shown.selected_text() if pane is not None and pane.text.shown.selected is not None else ""
        self._w.show_bottom("find")
        self._w.find_view.open(chosen.strip() if "\n" not in chosen else "")

    def compare_stage(self) -> None:
        """The current pane against the stage before."""
        if (pane := self._w.workbench.current_pane()) is not None:
            self.compare_pane(pane)

    def compare_previous(self) -> None:
        """The current pane against the compilation before this one."""
        if (pane := self._w.workbench.current_pane()) is not None:
            self.compare_pane(pane, "previous")

    def compare_pane(self, pane: IrPane, what: str = "stage") -> None:
        """A pane against the stage before its own, or the same stage of the previous compilation."""
        model, state = pane.model, self._w.state
        if what == "previous":
            known = state.previous is not None and (
                model.stage in MODEL_STAGES or model.kernel in state.previous.kernel_table
            )
            if not known:
                self._refuse(pane, "there is no earlier compilation of this kernel to compare with")
                return
            key = TextKey(model.stage, model.kernel, model.target, PREVIOUS).clean()
            assert state.previous is not None
            model.compare(Against(key, f"against the compilation before ({state.previous.label})"))
            return
        order = MODEL_STAGES if model.stage in MODEL_STAGES else KERNEL_STAGES
        position = order.index(model.stage) if model.stage in order else 0
        if state.compilation is None or position == 0:
            self._refuse(pane, "there is no stage before this one to compare with")
            return
        before = order[position - 1]
        key = TextKey(before, model.kernel, model.target, model.origin).clean()
        model.compare(Against(key, f"against {stage_title(before, model.target or model.own_target)}"))

    def compare_compilations(self) -> None:
        """The compilation on show against the one before it: options, then each kernel's IR side by side."""
        if self._w.state.previous is None:
            words = "there is no earlier compilation of this source to compare with"
            self._w.messages.post(Message("info", words, "window"))
            return
        numbers: dict[bool, int] = {}

        def kept(previous: bool, value: object) -> None:
            if isinstance(value, Failure):
                self._w.messages.failure(value, "compare")
                return
            numbers[previous] = int(value)  # type: ignore[call-overload]
            if len(numbers) == 2:
                self._w.records.compare_compilations((numbers[True], numbers[False]))

        for previous in (True, False):
            self._w.compiler.keep(True, lambda value, p=previous: kept(p, value), previous)

    def next_difference(self) -> None:
        """F7."""
        self._step(1)

    def previous_difference(self) -> None:
        """Shift+F7."""
        self._step(-1)

    def _step(self, by: int) -> None:
        """In the pane with the keyboard, else in the first that shows a difference."""
        current = self._focused_pane() or self._w.workbench.current_pane()
        if current is None or current.diff is None:
            current = next((pane for pane in self._w.workbench.panes if pane.diff is not None), None)
        if current is not None:
            current.step_difference(by)

    def _refuse(self, pane: IrPane, words: str) -> None:
        pane.bar.show_message(Message("info", words, "pane"))
        pane.compare.blockSignals(True)
        pane.compare.setChecked(False)
        pane.compare.blockSignals(False)

    def _focused_pane(self) -> IrPane | None:
        focused = QApplication.focusWidget()
        return next((p for p in self._w.workbench.panes if focused is not None and p.isAncestorOf(focused)), None)
