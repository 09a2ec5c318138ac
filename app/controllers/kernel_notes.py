"""Notes on kernels: read with each compilation, written by a command, shown wherever kernels are."""

from __future__ import annotations

from PySide6.QtWidgets import QInputDialog

from app.controllers.explorer import ExplorerFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.records import RecordsController
from app.sources import stored_name
from app.viewmodels.runs.notebook import KernelNotesRequest, NoteKernelRequest
from app.views.frame.workbench import Workbench


class KernelNotesFeature(Feature):
    """The notes on the kernels on show."""

    def __init__(
        self, shared: Shared, records: RecordsController, explorer: ExplorerFeature, workbench: Workbench
    ) -> None:
        super().__init__(shared)
        self._records, self._explorer, self._workbench = records, explorer, workbench
        self.commands = (Command("note_kernel", "&Note on this kernel...", "&Edit", 32, self.ask),)
        self.notes: dict[str, str] = {}
        self.when_compiled(self._read)
        records.moved.connect(self._read)

    def kernel(self) -> str:
        """The kernel that is meant: the selected nodes', else the current pane's."""
        compilation, selection = self._state.compilation, self._state.selection
        if compilation is None:
            return ""
        found = compilation.kernels_of(selection.nodes)
        pane = self._workbench.current_pane()
        return found[0] if len(found) == 1 else pane.model.kernel if pane is not None else ""

    def ask(self) -> None:
        """Write a note, or change it; an empty text takes it away."""
        kernel = self.kernel()
        if not kernel:
            self._messages.say("info", "choose a kernel first: a note is on one", "window")
            return
        text, good = QInputDialog.getMultiLineText(
            self._window, "Note on a kernel", f"{kernel}:", self.notes.get(kernel, "")
        )
        if good:
            self.write_note(kernel, text.strip())

    def write_note(self, kernel: str, text: str) -> None:
        """Keep a note in the database."""
        compilation = self._state.compilation
        if compilation is not None:
            source = stored_name(compilation.source)
            self._records.ask(NoteKernelRequest(source, kernel, text), lambda _: self._read(), writes=True)

    def _read(self) -> None:
        compilation = self._state.compilation
        if compilation is None:
            self._told({})
        else:
            self._records.ask(KernelNotesRequest(stored_name(compilation.source)), self._told)

    def _told(self, notes: dict[str, str]) -> None:
        self.notes = notes
        self._explorer.show_notes(notes)
