"""What the window does when something happened: each method takes one event to the views it concerns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QAbstractButton, QMessageBox

from app.controllers.messages import Message
from app.controllers.spread_work import Turns
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import seconds
from app.viewmodels.graph.what_if import WhatIf
from app.viewmodels.requests import Failure, RunTimes
from app.viewmodels.runs.comparison import KernelVerdict, comparison_view
from app.viewmodels.runs.run_figures import call_figures, kernel_times, launch_times, run_words
from app.viewmodels.timeline.timeline import compile_timeline, run_timeline
from app.views.graph.menu import graph_menu
from app.views.graph.view import GraphSpot
from app.views.parts.widgets import MessageBar
from app.views.text.ir_pane import IrPane
from compiler.options import CompileOptions

if TYPE_CHECKING:
    from app.main_window import MainWindow

_STAGE_OF_PASS = {"machine": "asm", "link": "asm", "llvm-pass": "llvm-opt"}


class Presenter:
    """Bound to one window."""

    def __init__(self, window: MainWindow) -> None:
        self._w = window
        self._turns = Turns(window)
        self.trying: WhatIf | None = None  # what is being compiled to see what comes of it

    def opened(self, source: str, text: str) -> None:
        """A source was opened: show it and compile it."""
        self._w.show_work()
        title = source.removeprefix("sample:") if source.startswith("sample:") else Path(source).name
        self._w.setWindowTitle(f"{title} - Kernelglass")
        self._w.choices.set_source(source, title)
        self._w.editing.open(source, title, text)
        kept = self._w.state.choices  # what-if edits belong to the source they were made for
        self._w.state.choices = CompileOptions(kept.target, kept.flow, kept.opt_level, kept.debug)
        self._w.welcome.set_recent(self._w.settings.recent())
        self._w.graph_panel.view.reset_view()
        self._w.commands.compile_opened()

    def choice(self, name: str, value: object) -> None:
        """A choice of the tool bar changed."""
        self._w.state.choose(**{name: value})
        if self._w.state.source:
            self._w.commands.compile()

    def started(self, what: str) -> None:
        """A job began."""
        self._w.status.start(what)
        self._w.choices.set_enabled(bool(self._w.state.source), False)

    def ended(self, good: bool) -> None:
        """A job is over."""
        self._w.choices.set_enabled(bool(self._w.state.source), self._w.state.compilation is not None)
        self._w.status.end(good)
        if self.trying is not None and not good:  # what cannot be compiled must not stay chosen
            self._forget_trial()

    def _forget_trial(self) -> None:
        trial, self.trying = self.trying, None
        if trial is not None:
            self._w.compare_after = False
            self._w.state.choose(force_cut=trial.before.force_cut, force_fuse=trial.before.force_fuse)

    @property
    def busy(self) -> bool:
        """Whether views still wait to be given what arrived."""
        return self._turns.busy

    def compiled(self, compilation: Compilation) -> None:
        """A compilation arrived: every view gets it."""
        self._w.graph.set_compilation(compilation)
        self._w.graph_panel.title.setText(compilation.name)
        for pane in self._w.workbench.panes:
            pane.set_compilation(compilation)
        views = (self._w.kernels, self._w.inspector, self._w.memory, self._w.funnel, self._w.ledger)
        self._turns.start(
            (
                lambda: self._w.timeline.set_timeline(compile_timeline(compilation)),
                *(lambda view=view: view.set_compilation(compilation) for view in views),
                self._w.run_view.clear,
            )
        )
        self._w.status.finish(f"Compiled {compilation.name} in {seconds(compilation.seconds)}")
        self._w.status.facts.setText(f"{len(compilation.kernels)} kernels  \u00b7  {compilation.label}")
        self._w.choices.set_enabled(True, True)
        self._w.preferences.ask_storage()
        self._w.messages.log(f"compiled {compilation.name} ({compilation.label}) in {seconds(compilation.seconds)}")
        if self.trying is not None and (why := self.trying.refused(compilation)):
            self._w.messages.post(Message("warning", why, "graph"))
            self._forget_trial()
        self.trying = None
        if self._w.compare_after:
            self._w.compare_after = False
            QTimer.singleShot(0, self._w.commands.compare_compilations)

    def ran(self, run: RunTimes) -> None:
        """A run ended: its times go to every view that shows costs."""
        self._turns.then(lambda: self._show_run(run))

    def _show_run(self, run: RunTimes) -> None:
        compilation = self._w.state.compilation
        assert compilation is not None
        self._w.run_view.set_run(compilation, run)
        self._w.inspector.set_run(run)
        self._w.kernels.set_times(kernel_times(run))
        self._w.graph.set_times(launch_times(run))
        self._w.run_lanes.set_timeline(run_timeline(compilation, run))
        self._w.roofline.set_calls(call_figures(compilation, run), run.device, run.elsewhere, run.ceilings)
        for pane in self._w.workbench.panes:
            pane.set_run(run)
        self._w.records.list_runs()
        self._w.status.finish(run_words(run))
        if not run.number and (why := next((note for note in run.notes if "not kept" in note), "")):
            self._w.messages.post(Message("warning", why, "run"))
        if run.ok is False:
            self._w.messages.post(Message("error", f"the check failed: {'; '.join(run.checks)}", "run"))

    def compared(self, document: dict) -> None:
        """A comparison arrived."""
        self._w.messages.clear("compare")
        self._w.show_bottom("compare")
        self._w.compare_view.set_comparison(comparison_view(document))

    def compile_failed(self, failure: Failure) -> None:
        """Compiling failed: say so where the user is looking, and go to the line."""
        edited = self._w.source_pane.key
        known = Path(failure.file).stem
        in_source = bool(failure.line) and (known in self._w.source_pane.which.itemText(0) or known == edited)
        in_source |= bool(edited) and failure.message.startswith(f"{edited}:")  # of the kernel as a whole
        self._w.messages.failure(failure, "source" if in_source else "window")
        if in_source:
            self._w.workbench.source_dock.show()
            self._w.workbench.source_dock.raise_()
            self._w.source_pane.editor.mark_error(failure.line)

    def changed_on_disk(self) -> None:
        """Somebody wrote the open file; what was saved from here is known already."""
        known = self._w.editing.edits.get("")
        if known is not None and known.original == self._w.opening.read():
            return
        if self._w.source_pane.edited:
            self._w.messages.post(
                Message("warning", "the file changed on disk; your edit is kept (Ctrl+R reloads)", "source")
            )
        else:
            self._w.commands.reload()

    def show_runs(self) -> None:
        """Bring the list of runs to the front."""
        self._w.show_work()
        self._w.explorer_dock.show()
        self._w.explorer.setCurrentWidget(self._w.runs)

    def show_stage(self, stage: str, kernel: str = "") -> None:
        """Show a stage (or the stage a pass belongs to) in the first pane that is not locked."""
        stage = _STAGE_OF_PASS.get(stage, stage)
        pane = next((p for p in self._w.workbench.panes if not p.model.locked), None)
        if pane is not None and pane.stage.findData(stage) >= 0:
            pane.model.show(stage=stage, kernel=kernel or None)

    def show_kernel(self, kernel: str) -> None:
        """Turn every pane that is not locked to a kernel."""
        for pane in self._w.workbench.panes:
            if not pane.model.locked:
                pane.model.show(kernel=kernel)

    def graph_menu(self, spot: GraphSpot, place: QPoint) -> None:
        """The menu of a place in the graph."""
        commands = self._w.commands
        view = self._w.graph_panel.view
        menu = graph_menu(self._w, view, spot, commands.what_if_edges, commands.export_graph)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)

    def pane_added(self, pane: IrPane) -> None:
        """A new pane gets its texts from the store."""
        pane.model.wanted.connect(self._w.texts.fetch)
        pane.compare_wanted.connect(self._w.commands.compare_pane)
        pane.beside_wanted.connect(self._w.commands.open_beside)
        if self._w.state.compilation is not None:
            pane.set_compilation(self._w.state.compilation)
            pane.set_run(self._w.state.run)

    def pair(self, row: KernelVerdict, stage: str) -> None:
        """Both sides of a comparison at a stage, in two panes."""
        comparison = self._w.compare_view.comparison
        if comparison is not None and not self._w.pairs.show(comparison, row, stage):
            words = f"{row.name}: the IR of both sides was not kept, so there is nothing to lay side by side"
            self._w.messages.post(Message("info", words, "compare"))

    def bars(self) -> dict[str, MessageBar]:
        """The message bar of each place."""
        return {
            "window": self._w.bar,
            "source": self._w.source_pane.bar,
            "graph": self._w.graph_panel.bar,
            "run": self._w.run_view.bar,
            "runs": self._w.runs.bar,
            "compare": self._w.compare_view.bar,
            "flows": self._w.flows.bar,
            "roofline": self._w.roofline.bar,
            "report": self._w.report.bar,
            **({"settings": self._w.preferences.dialog.bar} if self._w.preferences.dialog is not None else {}),
        }

    def said(self, message: Message) -> None:
        """A message was posted: show it in its place."""
        if message.place in (bars := self.bars()):
            bars[message.place].show_message(message)

    def unsaid(self, place: str) -> None:
        """What a place said is over."""
        if place in (bars := self.bars()):
            bars[place].hide()

    def may_close(self) -> bool:
        """Ask what becomes of edits that are not saved; False where the user wants to stay."""
        titles = self._w.editing.titles()
        if not titles:
            return True
        answer = self.ask_edits(titles)
        if answer == "save":
            self._w.commands.save_source()
            return not self._w.editing.titles() or self.may_close()
        if answer == "discard":
            self._w.editing.edits.drop()
        return answer in ("keep", "discard")

    def ask_edits(self, titles: list[str]) -> str:
        """What to do with unsaved edits: save, keep (they come back next time), discard or stay."""
        box = QMessageBox(self._w)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("Unsaved edits")
        box.setText(f"Edited and not saved: {', '.join(titles)}.")
        box.setInformativeText("Kept edits are in the editor again when this source is opened next time.")
        roles = QMessageBox.ButtonRole
        buttons: dict[QAbstractButton, str] = {
            box.addButton("Keep for next time", roles.AcceptRole): "keep",
            box.addButton("Save...", roles.ActionRole): "save",
            box.addButton("Discard", roles.DestructiveRole): "discard",
            box.addButton(QMessageBox.StandardButton.Cancel): "stay",
        }
        box.exec()
        return buttons.get(box.clickedButton(), "stay")

    def ask_overwrite(self, path: Path) -> bool:
        """Ask before a file is written over that somebody else changed since it was read."""
        box = QMessageBox(self._w)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("The file changed on disk")
        box.setText(f"{path.name} was changed by another program since it was opened here.")
        box.setInformativeText("Saving writes your text over that change.")
        over = box.addButton("Write over it", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.exec()
        return box.clickedButton() is over

    def ask_trust(self, path: str) -> bool:
        """Ask before a Python file is run."""
        box = QMessageBox(self._w)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Trust this file?")
        box.setText(f"{Path(path).name} is Python code, and opening it runs it.")
        box.setInformativeText(
            f"{path}\n\nTrust it only if you know where it came from. MLIR and ONNX files are never run."
        )
        trust = box.addButton("Trust and open", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))  # Enter in haste must not run it
        box.exec()
        return box.clickedButton() is trust
