"""What the window does when something happened: each method takes one event to the views it concerns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QMenu, QMessageBox

from app.messages import Message
from app.viewmodels.comparison import comparison_view
from app.viewmodels.compilation import Compilation, CompileChoices
from app.viewmodels.formats import seconds
from app.viewmodels.requests import Failure, RunResult
from app.viewmodels.run_figures import call_figures, kernel_times, node_costs
from app.viewmodels.timeline import compile_timeline, run_timeline
from app.views.ir_pane import IrPane
from app.views.widgets import MessageBar

if TYPE_CHECKING:
    from app.main_window import MainWindow

_STAGE_OF_PASS = {"machine": "asm", "link": "asm", "llvm-pass": "llvm-opt"}


class Presenter:
    """Bound to one window."""

    def __init__(self, window: MainWindow) -> None:
        self._w = window

    def opened(self, source: str, text: str) -> None:
        """A source was opened: show it and compile it."""
        self._w.show_work()
        title = source.removeprefix("sample:") if source.startswith("sample:") else Path(source).name
        self._w.setWindowTitle(f"{title} - Kernelglass")
        self._w.choices.set_source(source, title)
        self._w.source_pane.which.set_entries([("", title)])
        self._w.source_pane.set_text(text, self._w.language())
        kept = self._w.state.choices  # what-if edits belong to the source they were made for
        self._w.state.choices = CompileChoices(kept.target, kept.flow, kept.opt_level)
        self._w.welcome.set_recent(self._w.settings.recent())
        self._w.graph_panel.view.reset_view()
        self._w.commands.compile()

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
        can_run = self._w.state.compilation is not None and self._w.state.compilation.choices.target == "cpu"
        self._w.choices.set_enabled(bool(self._w.state.source), can_run)
        self._w.status.finish("Done" if good else "Stopped")

    def compiled(self, compilation: Compilation) -> None:
        """A compilation arrived: every view gets it."""
        self._w.graph.set_compilation(compilation)
        self._w.graph_panel.title.setText(compilation.name)
        for view in (self._w.kernels, self._w.inspector, self._w.funnel, self._w.memory, self._w.ledger):
            view.set_compilation(compilation)
        for pane in self._w.workbench.panes:
            pane.set_compilation(compilation)
        self._w.passes.set_passes(compilation.passes)
        self._w.timeline.set_timeline(compile_timeline(compilation))
        self._w.run_view.clear()
        kernels = [(kernel.name, f"kernel {kernel.name}") for kernel in compilation.kernels]
        self._w.source_pane.which.set_entries([("", self._w.source_pane.which.itemText(0)), *kernels])
        self._w.status.finish(f"Compiled {compilation.name} in {seconds(compilation.seconds)}")
        self._w.status.facts.setText(f"{len(compilation.kernels)} kernels  \u00b7  {compilation.choices.label}")
        self._w.choices.set_enabled(True, compilation.choices.target == "cpu")
        self._w.messages.log(
            f"compiled {compilation.name} ({compilation.choices.label}) in {seconds(compilation.seconds)}"
        )
        if self._w.compare_after:
            self._w.compare_after = False
            QTimer.singleShot(0, self._w.commands.compare_previous)

    def ran(self, run: RunResult) -> None:
        """A run ended: its times go to every view that shows costs."""
        compilation = self._w.state.compilation
        assert compilation is not None
        self._w.run_view.set_run(compilation, run)
        self._w.inspector.set_run(run)
        self._w.kernels.set_times(kernel_times(run))
        self._w.graph.set_times(
            {index: sorted(times)[len(times) // 2] for index, (_, times) in enumerate(run.calls) if times}
        )
        self._w.run_lanes.set_timeline(run_timeline(compilation, run))
        self._w.roofline.set_calls(call_figures(compilation, run))
        costs = node_costs(compilation, run)
        for pane in self._w.workbench.panes:
            pane.set_costs(costs)
        self._w.records.list_runs()
        if run.ok is False:
            self._w.messages.post(Message("error", f"the check failed: {'; '.join(run.checks)}", "run"))

    def compared(self, document: dict) -> None:
        """A comparison arrived."""
        self._w.compare_view.set_comparison(comparison_view(document))
        self._w.show_bottom("compare")

    def compile_failed(self, failure: Failure) -> None:
        """Compiling failed: say so where the user is looking, and go to the line."""
        edited = self._w.source_pane.key
        known = Path(failure.file).stem
        in_source = bool(failure.line) and (known in self._w.source_pane.which.itemText(0) or known == edited)
        self._w.messages.failure(failure, "source" if in_source else "window")
        if in_source:
            self._w.workbench.source_dock.show()
            self._w.workbench.source_dock.raise_()
            self._w.source_pane.editor.mark_error(failure.line)

    def changed_on_disk(self) -> None:
        """Somebody else wrote the open file."""
        if self._w.source_pane.edited:
            self._w.messages.post(
                Message("warning", "the file changed on disk; your edit is kept (Ctrl+R reloads)", "source")
            )
        else:
            self._w.commands.reload()

    def edit(self, key: str) -> None:
        """Show the graph's text or a kernel's in the editor."""
        compilation = self._w.state.compilation
        if key and compilation is not None and key in compilation.kernel_table:
            self._w.source_pane.set_text(compilation.kernel_table[key].source, "python")
        else:
            self._w.source_pane.set_text(self._w.opening.read() or "", self._w.language())

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

    def edge_menu(self, producer: str, consumer: str, place: QPoint) -> None:
        """The menu of an edge, or of the ground where both names are empty."""
        menu = QMenu(self._w)
        decision = next(
            (
                d
                for d in (self._w.state.compilation.ledger if self._w.state.compilation else ())
                if (d.producer, d.consumer) == (producer, consumer)
            ),
            None,
        )
        if decision is not None:
            text = "Cut here" if decision.accepted else "Fuse here"
            menu.addAction(
                f"{text}: {producer} \u2192 {consumer}",
                lambda: self._w.commands.what_if(producer, consumer, not decision.accepted),
            )
            menu.addSeparator()
        menu.addAction("Fit", self._w.graph_panel.view.fit)
        menu.addAction("Collapse all groups", lambda: self._w.graph.collapse_all(True))
        menu.addAction("Expand all groups", lambda: self._w.graph.collapse_all(False))
        menu.addAction("Export...", self._w.commands.export_graph)
        menu.popup(place)

    def pane_added(self, pane: IrPane) -> None:
        """A new pane gets its texts from the store."""
        pane.model.wanted.connect(self._w.texts.fetch)
        pane.compare_wanted.connect(self._w.commands.compare_pane)
        if self._w.state.compilation is not None:
            pane.set_compilation(self._w.state.compilation)

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
        }

    def said(self, message: Message) -> None:
        """A message was posted: show it in its place."""
        if message.place in (bars := self.bars()):
            bars[message.place].show_message(message)

    def unsaid(self, place: str) -> None:
        """What a place said is over."""
        if place in (bars := self.bars()):
            bars[place].hide()

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
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.exec()
        return box.clickedButton() is trust
