"""Flows seen from the window: starts the measuring, takes each cell as it ends, stops without losing what is done."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.controllers.jobs import Worker
from app.controllers.messages import Message, Messages
from app.viewmodels.requests import Failure, FlowProgress, FlowsBegun, FlowsRequest
from app.viewmodels.runs.flows import FlowsModel
from app.worker.flow_cells import Cell


class FlowsController(QObject):
    """One worker, made when it is needed and ended with the measuring."""

    started = Signal(str)
    progressed = Signal(str, float)
    ended = Signal(bool)

    def __init__(self, model: FlowsModel, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model, self._messages = model, messages
        self._worker: Worker | None = None
        self._folder = ""

    @property
    def busy(self) -> bool:
        """Whether cells are being measured."""
        return self._worker is not None

    def measure(self, request: FlowsRequest) -> None:
        """Measure these cells; what is under way is stopped first."""
        self.cancel()
        self._messages.clear("flows")
        try:
            self._folder = tempfile.mkdtemp(prefix="kernelglass-")
        except OSError as error:
            text = f"no folder can be made for the caches that are measured: {error.strerror or error}"
            self._messages.post(Message("error", text, "flows"))
            return
        worker = self._worker = Worker("store", self)
        request = replace(request, folder=self._folder)
        self.model.begin(request)
        self.started.emit(f"Measuring {len(request.cells)} cell{'s' * (len(request.cells) != 1)} of {request.source}")
        worker.submit(request, lambda value: self._done(worker, value), lambda part: self._part(worker, part))

    def again(self, cells: tuple[Cell, ...]) -> None:
        """Measure some cells of the table once more, with as many repeats as the last time."""
        if self.model.request is not None and cells:
            self.measure(replace(self.model.request, cells=cells))

    def cancel(self) -> bool:
        """Stop; finished cells stay. False when nothing is under way."""
        if self._worker is None:
            return False
        self.stop()
        self.model.end(interrupted=True)
        self._messages.log("measuring flows was stopped; the finished cells are kept")
        self.ended.emit(False)
        return True

    def stop(self) -> None:
        """End the process at once, and take away what it left on disk."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def _part(self, worker: Worker, part: Any) -> None:
        if worker is not self._worker:
            return
        if isinstance(part, FlowProgress):
            self.model.take(part.cell, part.sample)
        elif isinstance(part, FlowsBegun):
            self.model.machine, self.model.cores = part.machine, part.cores
        self.progressed.emit(part.stage, part.done)

    def _done(self, worker: Worker, value: Any) -> None:
        if worker is not self._worker:
            return
        self.stop()
        failed = isinstance(value, Failure)
        self.model.end(interrupted=failed)
        self.ended.emit(not failed)
        if failed:
            self._messages.failure(value, "flows")
