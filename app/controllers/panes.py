"""IR panes: which text each shows and for which target, comparing it, folding it, stepping through differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtWidgets import QInputDialog

from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.source import SourceFeature
from app.controllers.texts import TextStore
from app.viewmodels.compilation import (
    EDITABLE,
    KERNEL_STAGES,
    LIBRARY,
    MODEL_SOURCE,
    MODEL_STAGES,
    Compilation,
    stage_title,
)
from app.viewmodels.frame.devices import TARGETS
from app.viewmodels.frame.messages import Message
from app.viewmodels.frame.selection import Spot
from app.viewmodels.text.ir_pane import PREVIOUS, USUAL_GPU, Against, IrPaneModel, TextKey
from app.views.frame.workbench import Workbench
from app.views.text.ir_pane import IrPane
from app.views.text.pane_menu import ask_line, go_to_definition, step_difference
from compiler.targets import emission_of

_USUAL = ("asm", "llvm", "source", "kgen", "kernel", "mo", "llvm-opt")
_STAGE_OF_PASS = {"machine": "asm", "link": "asm", "llvm-pass": "llvm-opt"}


class PanesFeature(Feature):
    """The panes of the workbench."""

    keys = (
        "IR panes",
        (
            ("arrows", "move by line"),
            ("Enter", "select the line's nodes"),
            ("D", "compare with the stage before"),
            ("+ -", "fold, unfold at the line"),
            ("Ctrl+wheel", "zoom"),
            ("Ctrl+C", "copy"),
            ("Ctrl+click", "go to where it is defined"),
        ),
    )

    def __init__(
        self, shared: Shared, workbench: Workbench, texts: TextStore, source: SourceFeature, docks: DocksFeature
    ) -> None:
        super().__init__(shared)
        self.workbench, self._texts, self._docks, self._source = workbench, texts, docks, source
        self._whose = ""  # what is on show, where that is not the open source's
        self.commands = (
            Command("go_to_line", "&Go to line...", "&Edit", 12, self._with_pane(ask_line), "Ctrl+G"),
            Command("go_to_definition", "Go to &definition", "&Edit", 13, self._with_pane(go_to_definition), "F12"),
            Command("edit_text", "&Edit the text of this pane", "&Edit", 31, self._with_pane(self.edit),
                    "Ctrl+Alt+E"),
            Command("add_pane", "New IR &pane", "&View", 23, self.add_pane, "Ctrl+T"),
            Command("pane_target", "Show this pane for another &target...", "&View", 24,
                    self._with_pane(self.pane_target)),
            Command("two_targets", "Machine code of t&wo targets side by side", "&View", 25,
                    self._with_pane(self.two_targets), "Ctrl+Shift+T"),
            Command("fold_all", "Fold all", "&View", 26, self._with_pane(lambda pane: pane.text.fold_all(True)),
                    "Ctrl+Shift+["),
            Command("unfold_all", "Unfold all", "&View", 27, self._with_pane(lambda pane: pane.text.fold_all(False)),
                    "Ctrl+Shift+]"),
            Command("compare_stage", "Compare pane with the stage &before", "&Compare", 10,
                    self._with_pane(self.compare_pane)),
            Command("compare_previous", "Compare pane with the &previous compilation", "&Compare", 11,
                    self._with_pane(lambda pane: self.compare_pane(pane, "previous"))),
            Command("compare_panes", "Compare pane with the pane besi&de it", "&Compare", 12,
                    self._with_pane(self.compare_next), "Ctrl+Shift+D"),
            Command("next_difference", "&Next difference", "&Compare", 20, lambda: self._step(1), "F7"),
            Command("previous_difference", "Pre&vious difference", "&Compare", 21, lambda: self._step(-1), "Shift+F7"),
        )  # fmt: skip
        workbench.pane_added.connect(self._added)
        workbench.pane_woken.connect(self._fill)
        workbench.pane_used.connect(lambda: self._spare.add(workbench.prepare()))
        source.erred.connect(self._show_source)
        self._state.opened.connect(lambda _: self.say_whose(True))
        self._state.compiled.connect(self._compiled)
        self.when_run(self._ran)

    def _with_pane(self, do: Callable[[IrPane], object]) -> Callable[[], None]:
        """A command on the current pane; nothing where there is none."""

        def command() -> None:
            if (pane := self.workbench.current_pane()) is not None:
                do(pane)

        return command

    def show_stage(self, stage: str, kernel: str = "") -> None:
        """Show a stage (or the stage a pass belongs to) in the first pane that is not locked."""
        stage = _STAGE_OF_PASS.get(stage, stage)
        pane = next((p for p in self.workbench.panes if not p.model.locked), None)
        if pane is not None and pane.stage.findData(stage) >= 0:
            pane.model.show(stage=stage, kernel=kernel or None)

    def show_kernel(self, kernel: str) -> None:
        """Turn every pane that is not locked to a kernel."""
        for pane in self.workbench.panes:
            if not pane.model.locked:
                pane.model.show(kernel=kernel)

    def _added(self, pane: IrPane) -> None:
        """A new pane gets its texts from the store."""
        pane.model.wanted.connect(self._texts.fetch)
        pane.others = lambda: [(self._title(p), p.model.key) for p in self.workbench.panes if p is not pane]
        pane.library_line.connect(self._library_line)
        pane.edit_wanted.connect(self.edit)
        pane.cancel_wanted.connect(lambda pane: self._texts.cancel(pane.model))
        pane.compare_wanted.connect(self.compare_pane)
        pane.beside_wanted.connect(self.open_beside)
        self._fill(pane)

    def _fill(self, pane: IrPane) -> None:
        if self._state.compilation is not None:
            pane.set_compilation(self._state.compilation)
            pane.set_run(self._state.run)
            pane.show_stale(self._whose)

    def _title(self, pane: IrPane) -> str:
        """A pane's text in words."""
        model = pane.model
        title = stage_title(model.stage, model.target or model.own_target)
        of = "" if not model.key.kernel else f" of {model.key.kernel.rsplit('/', 1)[-1]}"
        return f"{title}{of}{f' for {model.target}' if model.target else ''}"

    def compare_next(self, pane: IrPane) -> None:
        """A pane against the one beside it."""
        panes = self.workbench.panes
        if len(panes) < 2:
            self._refuse(pane, "there is no other pane to compare with")
            return
        other = panes[(panes.index(pane) + 1) % len(panes)]
        pane.model.compare(Against(other.model.key, f"against {self._title(other)}"))

    def _library_line(self, pane: IrPane, file: str, line: int) -> None:
        """A line of the kernel library: selects the nodes that it is at work for, as far as the panes' texts tell."""
        nodes: set[str] = set()
        for other in self.workbench.panes:
            document = other.text.document
            for entry in {int(document.line_sets[at]) for at in np.flatnonzero(document.lines_for(file, line))
                          if at < len(document.line_sets)}:  # fmt: skip
                nodes |= set(document.sets[entry])
        self._state.selection.select(nodes, pane, Spot(file, line, frozenset(nodes), True, (file, line)))

    def edit(self, pane: IrPane) -> None:
        """Put what a pane shows into the editor, at the line that was chosen there."""
        model, line = pane.model, pane.text.pressed[0] + 1
        if model.stage == LIBRARY:
            self._source.edit_library(model.file, line)
        elif model.stage in EDITABLE:
            self._source.show("" if model.stage == MODEL_SOURCE else model.kernel)
            self._source.pane.editor.go_to_line(line)
        else:
            self._refuse(pane, "this is made of the source: what is written (model, kernel, library) can be edited")
            return
        self._show_source()

    def say_whose(self, going_on: bool) -> None:
        """Another source is on its way, or was given up: until it is compiled panes say whose text they show."""
        what = "is being compiled" if going_on else "is not compiled"
        stale = self._state.stale
        self._whose = f"still {self._state.on_show.name}: {self._state.title} {what}" if stale else ""
        coming = f"{self._state.title} {what}" + "\u2026" * going_on if self._state.source else ""
        for pane in self.workbench.panes:
            pane.show_stale(self._whose, coming)

    def _compiled(self, compilation: Compilation) -> None:
        self._whose = ""
        if self._state.compilation is None:  # a turn for each: until then it says that its text is another's
            self._turns.add([lambda pane=pane: self._show_none(pane) for pane in self.workbench.panes])
            return
        for pane in self.workbench.panes:
            pane.set_compilation(compilation)

    def _show_none(self, pane: IrPane) -> None:
        """Nothing came of the open source, unless something has meanwhile."""
        if self._state.compilation is None:
            pane.set_compilation(self._state.on_show)

    def _ran(self) -> None:
        for pane in self.workbench.panes:
            pane.set_run(self._state.run)

    def _show_source(self) -> None:
        self.workbench.source_dock.show()
        self.workbench.source_dock.raise_()

    def add_pane(self) -> None:
        """One more IR pane, at the first stage no pane shows."""
        shown = {pane.model.stage for pane in self.workbench.panes}
        self._docks.show_work()
        self.workbench.add_pane(next((stage for stage in _USUAL if stage not in shown), "asm"))

    def pane_target(self, pane: IrPane) -> None:
        """Show a pane's kernel for another target, under the same selection."""
        names = [name for name, _ in TARGETS]
        target, good = QInputDialog.getItem(self._window, "Target of this pane", "Target:", names, 0, False)
        if good:
            pane.set_target(target)

    def two_targets(self, pane: IrPane) -> None:
        """The machine code of a pane's kernel for the CPU and for a GPU, side by side."""
        own = pane.model.own_target
        other = "cpu" if "ptx" in emission_of(own).stages else USUAL_GPU
        pane.model.show(stage="asm", target="")
        self.open_beside(pane, other)

    def open_beside(self, pane: IrPane, target: str) -> None:
        """The same kernel and stage for another target, in a pane beside this one."""
        model = pane.model
        target = "" if target == model.own_target else target
        panes = self.workbench.panes
        free = [p for p in panes if p is not pane and not p.model.locked]
        if free:  # the pane beside it, rather than ever narrower ones
            free[0].model.show(stage=model.stage, kernel=model.kernel, target=target)
        else:
            self.workbench.add_pane(model.stage, model=IrPaneModel(model.stage, model.kernel, target))

    def compare_pane(self, pane: IrPane, what: str = "stage") -> None:
        """A pane against the stage before its own, or the same stage of the previous compilation."""
        model, state = pane.model, self._state
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

    def _step(self, by: int) -> None:
        """In the pane with the keyboard, else in the first that shows a difference."""
        current = self.workbench.focused_pane() or self.workbench.current_pane()
        if current is None or current.model.diff is None:
            current = next((pane for pane in self.workbench.panes if pane.model.diff is not None), None)
        if current is not None:
            step_difference(current, by)

    def _refuse(self, pane: IrPane, words: str) -> None:
        pane.bar.show_message(Message("info", words, "pane"))
        pane.compare.blockSignals(True)
        pane.compare.setChecked(False)
        pane.compare.blockSignals(False)
