"""What each menu entry and shortcut does. One method a command; views and controllers do the work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QMessageBox

from app.messages import Message
from app.theme.fonts import CODE_PIXELS
from app.viewmodels.compilation import KERNEL_STAGES, MODEL_STAGES, Compilation
from app.viewmodels.diff import diff_documents
from app.viewmodels.requests import CompileRequest, Failure, FlowsRequest, RunRequest
from app.views.ir_pane import IrPane
from app.views.menus import shortcut_groups
from app.views.shortcut_sheet import ShortcutSheet
from app.views.toolbar import TARGETS

if TYPE_CHECKING:
    from app.main_window import MainWindow


class Commands:
    """Bound to one window."""

    def __init__(self, window: MainWindow) -> None:
        self._w = window

    # File --------------------------------------------------------------------------------------------------------

    def browse(self) -> None:
        """Choose a file and open it."""
        path, _ = QFileDialog.getOpenFileName(self._w, "Open", "", "Graphs (*.py *.mlir *.onnx)")
        if path:
            self._w.opening.open(path)

    def open_recent(self, position: int) -> None:
        """Open the recent source at a position."""
        recent = self._w.settings.recent()
        if position < len(recent):
            self._w.opening.open(recent[position])

    def reload(self) -> None:
        """Read the source again and compile it."""
        text = self._w.opening.read()
        if text is not None:
            self._w.source_pane.set_text(text, self._w.language())
            self.compile()

    def save_source(self) -> None:
        """Write the edited text to a file the user chooses; a sample is never written over."""
        path, _ = QFileDialog.getSaveFileName(self._w, "Save source", self._w.suggested_file())
        if not path:
            return
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._w.source_pane.text)
        except OSError as error:
            self._w.messages.post(Message("error", f"cannot write {path}: {error.strerror or error}", "source"))
            return
        self._w.settings.trust(path)
        self._w.messages.log(f"saved {path}")

    def export_graph(self) -> None:
        """Write the graph as SVG or PNG."""
        path, _ = QFileDialog.getSaveFileName(self._w, "Export graph", "graph.svg", "Vector (*.svg);;Picture (*.png)")
        if path:
            panel = self._w.graph_panel
            good = panel.save_png(path) if path.endswith(".png") else panel.save_svg(path)
            text = f"exported {path}" if good else f"cannot write {path}"
            self._w.messages.post(Message("info" if good else "error", text, "" if good else "graph"))

    def copy_kernels(self) -> None:
        """The kernel table to the clipboard."""
        QGuiApplication.clipboard().setText(self._w.kernels.view.model.tsv())

    def quit(self) -> None:
        """Close the window."""
        self._w.close()

    # Edit --------------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Open the find bar of the view with the keyboard."""
        pane = self._focused_pane()
        if pane is not None:
            pane.find_bar.open()
        elif self._w.graph_panel.isAncestorOf(QApplication.focusWidget() or self._w) or not self._w.workbench.panes:
            self._w.graph_panel.open_find()
        else:
            self._w.workbench.panes[0].find_bar.open()

    def find_everywhere(self) -> None:
        """Ask for a word and search it in every pane and in the graph."""
        text, good = QInputDialog.getText(self._w, "Find everywhere", "Find in the graph and in all panes:")
        if good and text:
            self._w.graph_panel.open_find()
            self._w.graph_panel.field.setText(text)
            for pane in self._w.workbench.panes:
                pane.find_bar.open()
                pane.find_bar.field.setText(text)
                pane.find_bar.search()

    def go_to_line(self) -> None:
        """Ask for a line of the current pane."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.ask_line()

    def back(self) -> None:
        """The selection before."""
        self._w.state.selection.back()

    def forward(self) -> None:
        """The selection after."""
        self._w.state.selection.forward()

    def escape(self) -> None:
        """Cancel what runs, else clear the selection."""
        if not self.cancel():
            self._w.state.selection.clear()

    # View --------------------------------------------------------------------------------------------------------

    def palette(self) -> None:
        """Every command, by a few letters."""
        self._w.palette_popup.open(self._w.all_actions())

    def toggle_explorer(self) -> None:
        """Show or hide the explorer."""
        self._w.explorer_dock.setVisible(not self._w.explorer_dock.isVisible())

    def toggle_inspector(self) -> None:
        """Show or hide the inspector."""
        self._w.inspector_dock.setVisible(not self._w.inspector_dock.isVisible())

    def toggle_bottom(self) -> None:
        """Show or hide the views at the bottom."""
        shown = any(dock.isVisible() for dock in self._w.bottom_docks.values())
        for dock in self._w.bottom_docks.values():
            dock.setVisible(not shown)

    def add_pane(self) -> None:
        """One more IR pane, at the first stage no pane shows."""
        shown = {pane.model.stage for pane in self._w.workbench.panes}
        stage = next(
            (s for s in ("asm", "llvm", "source", "kgen", "kernel", "mo", "llvm-opt") if s not in shown), "asm"
        )
        self._w.show_work()
        self._w.workbench.add_pane(stage)

    def pane_target(self) -> None:
        """Show the current pane's kernel for another target, beside this one and under the same selection."""
        pane = self._w.workbench.current_pane()
        if pane is None:
            return
        names = [name for name, _ in TARGETS]
        target, good = QInputDialog.getItem(self._w, "Target of this pane", "Target:", names, 0, False)
        if good:
            pane.set_target(target)

    def fold_all(self) -> None:
        """Fold every region of the current pane."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.text.fold_all(True)

    def unfold_all(self) -> None:
        """Unfold the current pane."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.text.fold_all(False)

    def zoom_in(self) -> None:
        """Larger code."""
        self._w.look.zoom_code(self._w.look.code_pixels + 1)

    def zoom_out(self) -> None:
        """Smaller code."""
        self._w.look.zoom_code(self._w.look.code_pixels - 1)

    def zoom_reset(self) -> None:
        """The usual size."""
        self._w.look.zoom_code(CODE_PIXELS)

    def theme_dark(self) -> None:
        """Dark."""
        self._theme("dark")

    def theme_light(self) -> None:
        """Light."""
        self._theme("light")

    def theme_system(self) -> None:
        """As the system has it."""
        self._theme("system")

    def _theme(self, name: str) -> None:
        self._w.look.apply(name)
        self._w.settings.set("theme", name)

    def save_layout(self) -> None:
        """Keep the arrangement under a name."""
        name, good = QInputDialog.getText(self._w, "Save layout", "Name:")
        if good and name.strip():
            self._w.settings.save_layout(name.strip(), self._w.layout_states())

    def load_layout(self) -> None:
        """Choose a kept arrangement."""
        names = self._w.settings.layout_names()
        if not names:
            self._w.messages.post(Message("info", "no layout has been saved yet (View, Save layout as)", "window"))
            return
        name, good = QInputDialog.getItem(self._w, "Load layout", "Layout:", names, 0, False)
        if good:
            self._w.restore_layout(self._w.settings.layout(name))

    def reset_layout(self) -> None:
        """The arrangement the program came with."""
        self._w.reset_layout()

    def full_screen(self) -> None:
        """Toggle."""
        self._w.showNormal() if self._w.isFullScreen() else self._w.showFullScreen()

    # Compile and run ---------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Compile what is open, with the edited text where there is one."""
        state = self._w.state
        if not state.source:
            return
        self._w.messages.clear("source")
        pane = self._w.source_pane
        if pane.key and pane.edited:
            self.compile_edit(pane.key, pane.text)
            return
        text = pane.text if not pane.key and pane.edited else None
        self._w.compiler.compile(CompileRequest(state.source, state.choices, text))

    def compile_edit(self, kernel: str, text: str) -> None:
        """Compile an edited graph (no kernel) or an edited kernel in place of the generated one."""
        state = self._w.state
        if kernel:
            sources = tuple(entry for entry in state.choices.sources if entry[0] != kernel)
            state.choose(sources=(*sources, (kernel, text)))
            self._w.compiler.compile(CompileRequest(state.source, state.choices, None))
        else:
            self._w.compiler.compile(CompileRequest(state.source, state.choices, text))

    def compile_unfused(self) -> None:
        """The same graph with every op its own kernel, to compare with."""
        state = self._w.state
        if state.source:
            self._w.compiler.compile(CompileRequest(state.source, replace(state.choices, fuse=False)))

    def what_if(self, producer: str, consumer: str, fuse: bool) -> None:
        """Force an edge to be fused or cut, compile, and open the comparison."""
        state, edge = self._w.state, (producer, consumer)
        cuts = tuple(e for e in state.choices.force_cut if e != edge)
        fuses = tuple(e for e in state.choices.force_fuse if e != edge)
        state.choose(force_cut=cuts if fuse else (*cuts, edge), force_fuse=(*fuses, edge) if fuse else fuses)
        self._w.compare_after = True
        self._w.compiler.compile(CompileRequest(state.source, state.choices))

    def drop_edits(self) -> None:
        """Back to what the compiler would do by itself."""
        self._w.state.choose(force_cut=(), force_fuse=(), sources=())
        self.compile()

    def cancel(self) -> bool:
        """End the job under way."""
        return self._w.compiler.cancel() or self._w.records.cancel()

    def run(self) -> None:
        """Run and time the compilation on show."""
        if self._w.state.compilation is not None:
            self._w.messages.clear("run")
            self._w.show_bottom("run")
            self._w.compiler.run(RunRequest(repeats=self._w.settings.get("repeats", 0)))

    def measure_flows(self) -> None:
        """Per-kernel against all-kernel for the open source."""
        if self._w.state.source:
            self._w.show_bottom("flows")
            self._w.records.measure_flows(FlowsRequest(self._w.state.source, self._w.state.choices.target))

    def export_runs(self, runs: tuple[int, ...], kind: str) -> None:
        """Write a run or a comparison where the user says."""
        name = f"run-{'-'.join(map(str, runs))}.{'json' if kind == 'perfetto' else kind}"
        path, _ = QFileDialog.getSaveFileName(self._w, "Export", name)
        if path:
            self._w.records.export(runs, kind, path)

    def report(self) -> None:
        """The HTML report of the run on show."""
        run = self._w.state.run
        if run is None or not run.number:
            self._w.messages.post(Message("info", "run first (F5): a report is of a run that was kept", "window"))
            return
        self.export_runs((run.number,), "html")

    # Compare -----------------------------------------------------------------------------------------------------

    def compare_stage(self) -> None:
        """The current pane against the stage before."""
        if (pane := self._w.workbench.current_pane()) is not None:
            self.compare_pane(pane)

    def compare_previous(self) -> None:
        """The current pane against the compilation before this one."""
        pane, previous = self._w.workbench.current_pane(), self._w.state.previous
        if pane is None:
            return
        if previous is None:
            self._w.messages.post(
                Message("info", "there is no earlier compilation of this source to compare with", "window")
            )
            return
        kernel = pane.model.kernel if pane.model.kernel in previous.kernel_table else ""
        self._compare(pane, previous, pane.model.stage, kernel)

    def compare_pane(self, pane: IrPane) -> None:
        """A pane against the stage before its own."""
        compilation = self._w.state.compilation
        order = MODEL_STAGES if pane.model.stage in MODEL_STAGES else KERNEL_STAGES
        position = order.index(pane.model.stage) if pane.model.stage in order else 0
        if compilation is None or position == 0:
            pane.bar.show_message(Message("info", "there is no stage before this one to compare with", "pane"))
            pane.compare.setChecked(False)
            return
        self._compare(pane, compilation, order[position - 1], pane.model.kernel)

    def _compare(self, pane: IrPane, compilation: Compilation, stage: str, kernel: str) -> None:
        key = pane.model.key

        def arrived(value: object) -> None:
            if pane.model.key != key or pane not in self._w.workbench.panes:
                return
            if isinstance(value, Failure):
                pane.bar.show_message(Message("error", value.message, "pane"))
                return
            try:
                pane.show_diff(diff_documents(value, pane.model.document))  # type: ignore[arg-type]
            except ValueError as error:
                pane.bar.show_message(Message("warning", str(error), "pane"))

        self._w.texts.document(
            compilation, (stage, "" if stage in MODEL_STAGES else kernel, pane.model.target), arrived
        )

    def next_difference(self) -> None:
        """F7."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.step_difference(1)

    def previous_difference(self) -> None:
        """Shift+F7."""
        if (pane := self._w.workbench.current_pane()) is not None:
            pane.step_difference(-1)

    # Help --------------------------------------------------------------------------------------------------------

    def welcome(self) -> None:
        """The page shown at the start."""
        self._w.show_welcome()

    def shortcuts(self) -> None:
        """Every key."""
        ShortcutSheet(shortcut_groups(), self._w).show()

    def about(self) -> None:
        """What this is."""
        QMessageBox.about(self._w, "Kernelglass", "Kernelglass: a graph-to-kernel compiler you can look through.")

    def _focused_pane(self) -> IrPane | None:
        focused = QApplication.focusWidget()
        return next((p for p in self._w.workbench.panes if focused is not None and p.isAncestorOf(focused)), None)
