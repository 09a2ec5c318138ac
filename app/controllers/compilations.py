"""Compiling, running and asking for texts: which worker process holds which compilation, and what is under way."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.controllers.jobs import Worker
from app.viewmodels.frame.messages import Messages
from app.viewmodels.requests import (
    CompileRequest,
    Failure,
    FindRequest,
    KeepRequest,
    OpenRunRequest,
    PassesRequest,
    Progress,
    RunRequest,
    RunTimes,
    StageRequest,
    TimeEditRequest,
)
from app.viewmodels.state import State


class Compilations(QObject):
    """One worker holds the current compilation, one the compilation before it, and one waits, warm, for the next."""

    started = Signal(str)
    progressed = Signal(str, float)
    ended = Signal(bool)
    failed = Signal(object)
    edit_timed = Signal(object)

    def __init__(self, state: State, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state, self._messages = state, messages
        self._current: Worker | None = None
        self._previous: Worker | None = None
        self._spare: Worker | None = None
        self._pending: Worker | None = None
        self._request: CompileRequest | OpenRunRequest | None = None
        self._what = ""
        self._aside = 0  # a job of the current worker whose answer may be dropped when something else is wanted
        self._closed = False
        self.begun = 0.0

    @property
    def busy(self) -> str:
        """What is under way, or nothing."""
        return self._what

    def warm_up(self) -> None:
        """Start the process that the next compilation will use."""
        if not self._closed and (self._spare is None or not self._spare.alive):
            self._spare = Worker("compile", self)

    def compile(self, request: CompileRequest) -> None:
        """Compile; what is under way is cancelled, what is on show stays until the new one is there."""
        if self._closed:
            return
        self.cancel(quiet=True)
        self.warm_up()
        worker, self._spare = self._spare, None
        assert worker is not None
        self._pending = worker
        self._begin(f"Compiling {request.source}")
        worker.submit(request, lambda value: self._compiled(worker, request, value), self._progress)

    def open_run(self, run: int) -> None:
        """Show a stored run: its records come from the database, and nothing is compiled."""
        self.cancel(quiet=True)
        self.warm_up()
        worker, self._spare = self._spare, None
        assert worker is not None
        self._pending = worker
        self._begin(f"Opening run {run}")
        worker.submit(OpenRunRequest(run), lambda value: self._opened_run(worker, value), self._progress)

    def run(self, request: RunRequest) -> None:
        """Run the current compilation in the process that holds it."""
        if self._current is None or self._what:
            return
        worker = self._current
        self._begin("Running")
        worker.submit(request, lambda value: self._ran(worker, value), self._progress)

    def text(self, request: StageRequest, done: Callable[[Any], None], previous: bool = False) -> None:
        """The text of a stage of the current (or previous) compilation, or a Failure."""
        worker = self._previous if previous else self._current
        if worker is None or not worker.alive:
            done(Failure("this compilation is gone; compile again (Ctrl+Enter)"))
            return
        worker.submit(request, done)

    def passes(self, request: PassesRequest, done: Callable[[Any], None]) -> None:
        """Every pass of one kernel of the current compilation: takes a while, and can be cancelled."""
        worker = self._current
        if worker is None or not worker.alive:
            done(Failure("this compilation is gone; compile again (Ctrl+Enter)"))
            return
        if self._what:  # it waits behind what the worker does now
            worker.submit(request, done)
            return
        self._begin(f"Passes of {request.kernel}")

        def arrived(value: Any) -> None:
            if self._aside == number:
                self._aside = 0
                self._end(not isinstance(value, Failure))
            done(value)

        number = self._aside = worker.submit(request, arrived, self._progress)

    def find(self, request: FindRequest, done: Callable[[Any], None]) -> None:
        """Search the stages of one kernel, also those no pane shows."""
        if self._current is not None and self._current.alive:
            self._current.submit(request, done)

    def keep(self, stages: bool, done: Callable[[Any], None], previous: bool = False) -> None:
        """Put the current (or previous) compilation into the database; `done` gets its number or a Failure."""
        worker = self._previous if previous else self._current
        if worker is None or not worker.alive:
            done(Failure("this compilation is gone; compile again (Ctrl+Enter)"))
            return
        worker.submit(KeepRequest(stages), done)

    def time_edit(self, request: TimeEditRequest) -> None:
        """Time an edited kernel against the generated one."""
        if self._current is None or self._what:
            return
        worker = self._current
        self._begin(f"Timing {request.kernel} against the original")
        worker.submit(request, lambda value: self._timed(worker, value), self._progress)

    def cancel(self, quiet: bool = False) -> bool:
        """End what is under way at once; False when nothing is."""
        if not self._what:
            return False
        what, self._what = self._what, ""
        aside, self._aside = self._aside, 0
        if aside and quiet and self._current is not None:  # nobody waits for it; it may end by itself
            self._current.drop(aside)
        elif self._pending is not None:
            self._pending.stop()
            self._pending = None
        elif self._current is not None:  # a run: end its process, then get the compilation back
            self._current.stop()
            self._revive()
        if not quiet:
            self._messages.log(f"{what}: cancelled after {time.perf_counter() - self.begun:.1f} s")
        self.ended.emit(False)
        QTimer.singleShot(0, self.warm_up)
        return True

    def stop(self) -> None:
        """End every process: the window is closing."""
        self._what, self._closed = "", True
        for worker in (self._pending, self._current, self._previous, self._spare):
            if worker is not None:
                worker.stop()
        self._pending = self._current = self._previous = self._spare = None

    def _begin(self, what: str) -> None:
        self._what, self.begun = what, time.perf_counter()
        self.started.emit(what)

    def _end(self, good: bool) -> None:
        self._what = ""
        self.ended.emit(good)

    def _progress(self, progress: Progress) -> None:
        self.progressed.emit(progress.stage, progress.done)

    def _compiled(self, worker: Worker, request: CompileRequest, value: Any) -> None:
        if worker is not self._pending:
            return
        self._pending = None
        if isinstance(value, Failure):
            self._give_back(worker)
            self._drop_stale()
            self._end(False)
            self.failed.emit(value)
            self.warm_up()
            return
        if self._previous is not None:
            self._previous.stop()
        self._previous, self._current, self._request = self._current, worker, request
        self._end(True)
        self._state.set_compilation(value)
        QTimer.singleShot(1500, self._warm_up_later)

    def _opened_run(self, worker: Worker, value: Any) -> None:
        if worker is not self._pending:
            return
        self._pending = None
        self._end(not isinstance(value, Failure))
        if isinstance(value, Failure):
            self._give_back(worker)
            self._messages.failure(value, "runs")
            return
        if self._previous is not None:
            self._previous.stop()
        compilation, result = value
        self._previous, self._current, self._request = self._current, worker, OpenRunRequest(result.number)
        self._state.set_compilation(compilation)
        self._state.set_run(result)
        QTimer.singleShot(1500, self._warm_up_later)

    def _drop_stale(self) -> None:
        """Nothing came of the open source: the processes that hold another's model go with it."""
        if self._state.drop_stale():
            for worker in (self._current, self._previous):
                if worker is not None:
                    worker.stop()
            self._current = self._previous = self._request = None

    def _give_back(self, worker: Worker) -> None:
        """A worker whose job failed may serve the next one, unless one waits already."""
        if worker.alive and self._spare is None and not self._closed:
            self._spare = worker
        else:
            worker.stop()

    def _warm_up_later(self) -> None:
        if self._current is not None:
            self.warm_up()

    def _timed(self, worker: Worker, value: Any) -> None:
        if worker is not self._current or not self._what:
            return
        self._end(not isinstance(value, Failure))
        self.edit_timed.emit(value)
        if not worker.alive:
            self._revive()

    def _ran(self, worker: Worker, value: Any) -> None:
        if worker is not self._current or not self._what:
            return
        self._end(not isinstance(value, Failure))
        if isinstance(value, RunTimes):
            self._state.set_run(value)
            return
        self._messages.failure(value, "run")
        if not worker.alive:
            self._revive()

    def _revive(self) -> None:
        """The process that held the compilation is gone: compile the same again, unseen, so that texts can be had."""
        request = self._request
        self.warm_up()
        if request is None or self._spare is None:
            return
        worker, self._spare = self._spare, None
        self._current = worker
        worker.submit(
            request, lambda value: self._messages.failure(value, "window") if isinstance(value, Failure) else None
        )
