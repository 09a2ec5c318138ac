"""The kernel library as a view: from an entry to its source and to the kernels made of it, and from these back."""

from __future__ import annotations

from typing import Any

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.viewmodels.compilation import LIBRARY
from app.viewmodels.requests import Failure
from app.viewmodels.text.kernel_list import KernelListRequest, ListedKernel, listed, rows_of
from app.views.frame.workbench import Workbench
from app.views.text.kernel_list import KernelListView
from compiler.language.kernel import KernelEntry


class KernelListFeature(Feature):
    """The list is asked for when it comes to sight, and again after each compilation while it is there."""

    def __init__(self, shared: Shared, compiler: Compilations, workbench: Workbench, docks: DocksFeature) -> None:
        super().__init__(shared)
        self._compiler, self._workbench, self._docks = compiler, workbench, docks
        self._rows: list[ListedKernel] = []
        self._listed: object = None  # the compilation that the rows are of
        self.view = KernelListView()
        self.docks = (Dock("library", "Kernel library", self.view, 95),)
        self.commands = (
            Command("kernel_library", "Kernel &library", "&View", 28, self.show),
            Command("library_entry", "Library entr&y of this kernel", "&View", 29, self.show_entry),
        )
        self.view.wanted.connect(self._ask)
        self.view.opened.connect(self.open_source)
        self.view.used.connect(self.select_kernels)
        self.when_compiled(self._compiled)
        self._state.selection.changed.connect(lambda *_: self._mark())

    def show(self) -> None:
        """Bring the list to the front."""
        self._docks.show_work()
        self._docks.show("library")

    def show_entry(self) -> None:
        """From a kernel in the window to what it is made of: of the pane with the keyboard, else of the selection."""
        self.show()
        self._ask()
        self._mark(self._kernels())

    def open_source(self, row: ListedKernel) -> None:
        """From an entry to its line: in a pane that shows the library, else in the first that is not locked."""
        panes = [pane for pane in self._workbench.panes if not pane.model.locked]
        pane = next((p for p in panes if p.model.stage == LIBRARY), next(iter(panes), None))
        if pane is None:
            self._messages.say("info", "every pane is locked; unlock one, or add a pane (Ctrl+T)", "window")
            return
        pane.model.show(stage=LIBRARY, target="")
        if pane.model.file != row.entry.file:
            pane.model.show_file(row.entry.file)
        pane.show_line(LIBRARY, "", row.entry.line - 1)

    def select_kernels(self, row: ListedKernel) -> None:
        """From an entry to the nodes of the model's kernels that are made of it."""
        compilation = self._state.compilation
        if compilation is not None:
            found = (compilation.kernel_table[name].nodes for name in row.used_by if name in compilation.kernel_table)
            self._state.selection.select([node for nodes in found for node in nodes], self)

    def _kernels(self) -> list[str]:
        """The kernels that the user is at."""
        compilation, pane = self._state.compilation, self._workbench.current_pane()
        if compilation is None:
            return []
        chosen = compilation.kernels_of(self._state.selection.nodes)
        shown = [pane.model.kernel] if pane is not None and pane.model.kernel in compilation.kernel_table else []
        return chosen or shown

    def _compiled(self) -> None:
        if self.view.isVisible():
            self._ask()

    def _ask(self) -> None:
        compilation = self._state.compilation
        if compilation is None or compilation is self._listed:
            return
        self._listed = compilation

        def arrived(value: Any) -> None:
            if compilation is self._state.compilation:
                self._show(
                    [] if isinstance(value, Failure) else value, value.message if isinstance(value, Failure) else ""
                )

        self._compiler.ask(KernelListRequest(), arrived)

    def _show(self, entries: list[KernelEntry], words: str) -> None:
        self._rows = listed(entries, self._state.compilation)
        self.view.show_rows(self._rows, words)
        self._mark(self._kernels())

    def _mark(self, kernels: list[str] | None = None) -> None:
        """The rows behind the selection; none where nothing is selected, unless kernels are named."""
        compilation = self._state.compilation
        if compilation is not None and self._rows:
            chosen = compilation.kernels_of(self._state.selection.nodes) if kernels is None else kernels
            self.view.view.select_records(rows_of(self._rows, chosen))
