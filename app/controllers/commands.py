"""What each menu entry and shortcut does. One method a command; views and controllers do the work."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from app.controllers.messages import Message
from app.controllers.view_commands import ViewCommands
from app.files import write_whole
from app.viewmodels.graph.what_if import WhatIf
from app.viewmodels.requests import CompileRequest, FlowsRequest
from app.viewmodels.runs.flows import no_first_result
from app.views.frame.menus import shortcut_groups
from app.views.runs.flows import EXPORTS
from app.worker.flow_cells import Cell
from compiler.errors import CompilerError
from compiler.options import CompileOptions


class Commands(ViewCommands):
    """Bound to one window; what concerns views and panes is in ViewCommands and PaneCommands."""

    _afresh = False  # whether the compilation being asked for is to do without the cache

    # File --------------------------------------------------------------------------------------------------------

    def browse(self) -> None:
        """Choose a file and open it."""
        kinds = "Graphs (*.py *.mlir *.onnx);;Databases of runs (*.db *.sqlite *.sqlite3)"
        path, _ = QFileDialog.getOpenFileName(self._w, "Open", "", kinds)
        if path:
            self._w.opening.open(path)

    def open_recent(self, position: int) -> None:
        """Open the recent source at a position."""
        recent = self._w.settings.recent()
        if position < len(recent):
            self._w.opening.open(recent[position])

    def fill_recent(self, menu: QMenu) -> None:
        """The sources opened lately, into the menu that is about to be shown."""
        menu.clear()
        for position, source in enumerate(self._w.settings.recent()[:9]):
            name = source.removeprefix("sample:").replace("&", "&&")
            menu.addAction(f"{name}\tCtrl+{position + 1}", lambda p=position: self.open_recent(p))
        if menu.isEmpty():
            menu.addAction("Nothing has been opened yet").setEnabled(False)

    def reload(self) -> None:
        """Read the source again and compile it."""
        text = self._w.opening.read()
        if text is not None:
            self._w.editing.reload(text)
            self.compile()

    def own_database(self) -> None:
        """Leave a database that was opened as a file."""
        self._w.preferences.visit_database("")

    def save_source(self) -> None:
        """Write the edited text to its file; a sample is never written over, and a kernel has no file yet."""
        path, pane = self._w.opening.path(self._w.state.source), self._w.source_pane
        sample = self._w.state.source.startswith("sample:")
        if path is None or pane.key or sample or path.suffix not in (".py", ".mlir") or not path.exists():
            self.save_source_as()
            return
        known = self._w.editing.edits.get("")
        if known is not None and known.original != self._w.opening.read() and not self._w.presenter.ask_overwrite(path):
            return
        if self._write(str(path), pane.text, "source"):
            self._w.editing.saved()

    def save_source_as(self) -> None:
        """Write the edited text to a file the user chooses; a graph's file is then the one that is open."""
        path, _ = QFileDialog.getSaveFileName(self._w, "Save source", self._w.suggested_file())
        if not path or not self._write(path, self._w.source_pane.text, "source"):
            return
        self._w.settings.trust(path)
        if self._w.source_pane.key:
            return
        self._w.editing.saved()
        if path != self._w.state.source and path.endswith((".py", ".mlir")):
            self._w.opening.open(path)

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

    # Compile and run ---------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Compile what is open, with the edited graph and the edited kernels in place of the originals."""
        state, pane = self._w.state, self._w.source_pane
        if not state.source:
            return
        self._w.messages.clear("source")
        if kernel := pane.key:
            others = tuple(entry for entry in state.choices.sources if entry[0] != kernel)
            edit = ((kernel, pane.text),) if pane.edited else ()
            if edit and edit[0] not in state.choices.sources:
                self._w.editing.time_after_compile(kernel)
            state.choose(sources=(*others, *edit))
        graph = self._w.editing.edits.get("")
        self._w.compiler.compile(self._request(graph.text if graph is not None and graph.edited else None))

    def compile_edit(self, _kernel: str, _text: str) -> None:
        """Compile what the source pane holds."""
        self.compile()

    def compile_opened(self) -> None:
        """Compile a source as it is on disk; a draft of it waits in the editor until the user compiles it."""
        self._w.compiler.compile(self._request(None))

    def _request(self, text: str | None = None) -> CompileRequest:
        now, state = self._w.preferences.now, self._w.state
        options = replace(state.choices, jobs=now.jobs or None, cache=now.use_cache and not self._afresh)
        return CompileRequest(state.source, options, text)

    def compile_unfused(self) -> None:
        """The same graph with every op its own kernel, to compare with."""
        if self._w.state.source:
            request = self._request()
            self._w.compiler.compile(replace(request, options=replace(request.options, fuse=False)))

    def compile_afresh(self) -> None:
        """Compile without the cache, so that every stage runs and shows its time."""
        self._afresh = True
        try:
            self.compile()
        finally:
            self._afresh = False

    def what_if(self, producer: str, consumer: str, fuse: bool) -> None:
        """Force an edge to be fused or cut, compile, and open the comparison."""
        self.what_if_edges(((producer, consumer),), fuse)

    def what_if_edges(self, pairs: tuple[tuple[str, str], ...], fuse: bool) -> None:
        """The same for several edges at once: those of every copy of a layer."""
        state, kept = self._w.state, self._w.state.choices
        cuts, fuses = kept.force_cut.difference(pairs), kept.force_fuse.difference(pairs)
        state.choose(force_cut=cuts if fuse else cuts.union(pairs), force_fuse=fuses.union(pairs) if fuse else fuses)
        self._w.compare_after = True
        self._w.compiler.compile(self._request())
        self._w.presenter.trying = WhatIf(kept, pairs, fuse)

    def edges_here(self) -> None:
        """The menu of the current node of the graph, with what can be fused or cut there."""
        self._w.workbench.graph_dock.raise_()
        self._w.graph_panel.view.setFocus()
        self._w.graph_panel.view.menu_here()

    def drop_edits(self) -> None:
        """Back to what the compiler would do by itself."""
        for kernel in [key for key in self._w.editing.edits.edited() if key]:
            self._w.editing.revert(kernel)
        self._w.state.choose(force_cut=frozenset(), force_fuse=frozenset(), sources=())
        self.compile()

    def cancel(self) -> bool:
        """End the job under way."""
        return self._w.compiler.cancel() or self._w.records.cancel() or self._w.flow_jobs.cancel()

    def run(self) -> None:
        """Run and time the compilation on show."""
        if self._w.state.compilation is not None:
            self._w.running.run()

    def measure_flows(self) -> None:
        """Per-kernel against all-kernel for the open source, over what the flows view has chosen."""
        self.measure_cells(self._w.flows.chosen_cells(), self._w.flows.repeat.value())

    def measure_cells(self, cells: tuple[Cell, ...], repeat: int) -> None:
        """Measure these cells of the open source."""
        state = self._w.state
        if not state.source:
            self._w.messages.post(Message("info", "open a source first: flows compile it both ways", "flows"))
            return
        self._w.show_bottom("flows")
        compilation = state.compilation
        unsized = compilation.unsized if compilation is not None and compilation.source == state.source else ()
        why = no_first_result(state.choices.target, unsized)
        notes = [why] if why and any(cell.execute for cell in cells) else []
        if notes:
            cells = tuple(cell for cell in cells if not cell.execute)
        if self._w.source_pane.edited:
            notes.append("flows measure the file on disk, not the edit in the source pane")
        jobs = self._w.settings.get("jobs", 0) or None
        if cells:
            options = CompileOptions(state.choices.target, jobs=jobs)
            self._w.flow_jobs.measure(FlowsRequest(state.source, options, cells, repeat))
        if notes:  # after the beginning, which clears what was said of the measuring before
            self._w.messages.post(Message("info", "; ".join(notes), "flows"))

    def export_flows(self, kind: str) -> None:
        """The table of flows to a file."""
        suffix = next(suffix for known, _, suffix in EXPORTS if known == kind)
        path, _ = QFileDialog.getSaveFileName(self._w, "Export flows", f"flows.{suffix}")
        if path:
            self._write(path, self._w.flow_jobs.model.text(kind), "flows")

    def _write(self, path: str, text: str, place: str) -> bool:
        """Write a text whole or not at all, and say how that went at the place it belongs to."""
        try:
            write_whole(path, text)
        except CompilerError as error:
            self._w.messages.post(Message("error", error.message, place))
            return False
        self._w.messages.post(Message("info", f"wrote {path}", place))
        return True

    def export_runs(self, runs: tuple[int, ...], kind: str) -> None:
        """Write a run or a comparison where the user says."""
        name = f"run-{'-'.join(map(str, runs))}.{'json' if kind == 'perfetto' else kind}"
        path, _ = QFileDialog.getSaveFileName(self._w, "Export", name)
        if path:
            self._w.records.export(runs, kind, path)

    def report(self) -> None:
        """The report of the run on show, or of the newest one: first as a preview."""
        run = self._w.state.run
        self._w.reporting.show(run.number if run is not None else 0)

    def settings(self) -> None:
        """Fonts, theme, defaults, storage."""
        self._w.preferences.show()

    def measure_ceilings(self) -> None:
        """This machine's ceilings, for the roofline."""
        self._w.show_bottom("roofline")
        self._w.running.measure_ceilings()

    # Help --------------------------------------------------------------------------------------------------------

    def welcome(self) -> None:
        """The page shown at the start."""
        self._w.show_welcome()

    def shortcuts(self) -> None:
        """Every key."""
        from app.views.frame.shortcut_sheet import ShortcutSheet

        ShortcutSheet(shortcut_groups(), self._w).show()

    def about(self) -> None:
        """What this is."""
        from app.views.frame.about import AboutDialog, versions  # asked for once in a while: not before the first paint

        AboutDialog(self._w.look, versions(), self._w).show()
