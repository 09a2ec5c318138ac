"""Flows seen from the window: starts the measuring, takes each cell as it ends, stops without losing what is done."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.measuring_queue import MEASURING_FLOWS
from app.controllers.preferences import PreferencesFeature
from app.controllers.queued_worker import QueuedWorker
from app.controllers.source import SourceFeature
from app.flows.cells import Cell
from app.viewmodels.frame.event import Event
from app.viewmodels.requests import Failure, FlowProgress, FlowsBegun, FlowsRequest
from app.viewmodels.runs.flows import FlowsModel, no_first_result
from app.views.frame.status import Status
from app.views.parts.file_dialog import path_to_save
from app.views.parts.later import in_thread
from app.views.runs.flows import EXPORTS, FlowsView
from compiler.options import CompileOptions
from compiler.processes.identity import process_mark
from compiler.temporary import clear_abandoned, make_folder


class FlowsFeature(Feature):
    """One table at a time."""

    def __init__(
        self, shared: Shared, compiler: Compilations, preferences: PreferencesFeature, source: SourceFeature,
        status: Status, docks: DocksFeature,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._preferences, self._source, self._docks = preferences, source, docks
        self.model = FlowsModel()
        self.measured = Event()  # some cells, or all that were asked for
        self.view = FlowsView(self._look, self.model)
        self.bars = {"flows": self.view.bar}
        self._folder = ""
        self._compiler, self._queue = compiler, compiler.measuring
        self._job = QueuedWorker(self._queue, status, "flows", self)
        compiler.started.connect(self._disturbed)
        self.docks = (Dock("flows", "Flows", self.view, 80),)
        self.commands = (Command("measure_flows", "Measure &flows", "&Run", 12, self._measure_chosen),)
        self.view.measure_wanted.connect(self.measure_cells)
        self.view.again_wanted.connect(self.again)
        self.view.stop_wanted.connect(self.cancel)
        self.view.export_wanted.connect(self.export)

    def warm_up(self) -> None:
        """Take away folders that were left by those who were killed, and load what making one takes, off the window's
        thread: not when measuring begins."""
        in_thread(self, lambda _: (clear_abandoned(), process_mark()), lambda _: None)

    def _measure_chosen(self) -> None:
        self.measure_cells(self.view.chosen_cells(), self.view.repeat.value())

    def measure_cells(self, cells: tuple[Cell, ...], repeat: int) -> None:
        """Per-kernel against all-kernel for the open source, in these cells."""
        state = self._state
        if not state.source:
            self._messages.say("info", "open a source first: flows compile it both ways", "flows")
            return
        self._docks.show("flows")
        compilation = state.compilation
        unsized = compilation.unsized if compilation is not None and compilation.source == state.source else ()
        why = no_first_result(state.choices.target, unsized)
        notes = [why] if why and any(cell.execute for cell in cells) else []
        if notes:
            cells = tuple(cell for cell in cells if not cell.execute)
        if self._source.pane.edited:
            notes.append("flows measure the file on disk, not the edit in the source pane")
        if cells:
            jobs = self._preferences.now.jobs or None
            options = CompileOptions(state.choices.target, jobs=jobs)
            folders = (*self._preferences.now.kernel_folders, *self._source.libraries())
            self.measure(FlowsRequest(state.source, options, cells, repeat, libraries=folders))
        if notes:  # after the beginning, which clears what was said of the measuring before
            self._messages.say("info", "; ".join(notes), "flows")

    def export(self, kind: str) -> None:
        """The table of flows to a file, whole or not at all."""
        suffix = next(suffix for known, _, suffix in EXPORTS if known == kind)
        path, _ = path_to_save(self._window, "Export flows", f"flows.{suffix}")
        if path:
            self.write(path, self.model.text(kind), "flows")

    @property
    def busy(self) -> bool:
        """Whether cells are being measured."""
        return self._job.busy

    def measure(self, request: FlowsRequest) -> None:
        """Measure these cells, when what goes on has ended; flows under way are stopped first."""
        self.cancel()
        self._queue.ask(MEASURING_FLOWS, lambda: self._measure_now(request))

    def _measure_now(self, request: FlowsRequest) -> None:
        self._messages.clear("flows")
        try:
            self._folder = make_folder("flows", clear=False)
        except OSError as error:
            text = f"no folder can be made for the caches that are measured: {error.strerror or error}"
            self._messages.say("error", text, "flows")
            return
        request = replace(request, folder=self._folder)
        self.model.begin(request)
        cells = f"{len(request.cells)} cell{'s' * (len(request.cells) != 1)}"
        self._job.begin(f"Measuring {cells} of {request.source}", request, self._done, self._part)

    def again(self, cells: tuple[Cell, ...]) -> None:
        """Measure some cells of the table once more, with as many repeats as the last time."""
        if self.model.request is not None and cells:
            self.measure(replace(self.model.request, cells=cells))

    def cancel(self) -> bool:
        """Stop; finished cells stay. False when nothing is under way."""
        if not self._job.cancel():
            return False
        self._clear_folder()
        self.model.end(interrupted=True)
        self.measured.emit()
        self._messages.log("measuring flows was stopped; the finished cells are kept")
        return True

    def stop(self) -> None:
        """End the process at once, and take away what it left on disk."""
        self._job.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _clear_folder(self) -> None:
        """Take away the caches that were measured: hundreds of files, which would be felt."""
        if folder := self._folder:
            self._folder = ""
            in_thread(self, lambda _: shutil.rmtree(folder, ignore_errors=True), lambda _: None)

    def _disturbed(self, what: str) -> None:
        """Something else took the machine: whoever reads the table is told."""
        if self._job.busy:
            self.model.disturb()
            words = f"disturbed: {what[:1].lower()}{what[1:]} went on while cells were measured; measure them again"
            self._messages.say("warning", words, "flows")

    def _part(self, part: Any) -> None:
        if isinstance(part, FlowProgress):
            self.model.take(part.cell, part.sample)
            if self._compiler.busy:
                self.model.disturb()
        elif isinstance(part, FlowsBegun):
            self.model.machine, self.model.cores = part.machine, part.cores

    def _done(self, value: Any) -> None:
        self._clear_folder()
        failed = isinstance(value, Failure)
        self.model.end(interrupted=failed)
        self.measured.emit()
        if failed:
            self._messages.failure(value, "flows")
