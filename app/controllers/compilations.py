"""Compiling, running and asking for texts: which worker process holds which compilation, and what is under way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.controllers.jobs import Worker
from app.controllers.measuring_queue import RUNNING, MeasuringQueue
from app.viewmodels.compilation import Compilation, NodeRecord
from app.viewmodels.frame.messages import Messages
from app.viewmodels.requests import (
    CompileRequest,
    Failure,
    FindRequest,
    GraphPart,
    KernelCome,
    OpenRunRequest,
    PassesRequest,
    Progress,
    ReadRequest,
    RunRequest,
    RunTimes,
    StageRequest,
    TimeEditRequest,
)
from app.viewmodels.state import State
from app.views.parts.later import next_turn


class Compilations(QObject):
    """One worker holds the current compilation, one the compilation before it, and one waits, warm, for the next."""

    started = Signal(str)
    progressed = Signal(str, float)
    ended = Signal(bool)
    failed = Signal(object)
    graph_built = Signal(object)  # the open source's graph while it is compiled, as a compilation without kernels
    kernel_came = Signal(str, int)  # and its kernels, as they come
    edit_timed = Signal(object)

    def __init__(self, state: State, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state, self._messages = state, messages
        self._current: Worker | None = None
        self._previous: Worker | None = None
        self._spare: Worker | None = None
        self._reader: Worker | None = None  # makes texts of single kernels: for other targets, or while others are busy
        self._postponed: list[Callable[[], object]] = []  # what the reader is to do after a measurement
        self._measures = False
        self._pending: Worker | None = None
        self._request: CompileRequest | OpenRunRequest | None = None
        self._asked: CompileRequest | OpenRunRequest | None = None  # what is under way
        self._nodes: list[NodeRecord] = []  # of its graph, as far as they have come
        self._what = self._unsaid = ""
        self._aside = 0  # a job of the current worker whose answer may be dropped when something else is wanted
        self._closed = False
        self.begun = 0.0
        self.measuring = MeasuringQueue(self)
        self.measuring.watch(lambda: self._what)
        self.ended.connect(self.measuring.go_on)
        self.measuring.waits.connect(lambda what: messages.log(f"{what}: waits until what goes on has ended"))
        self.measuring.forgotten.connect(lambda what: messages.log(f"{what}: dropped, as it waited for another model"))

    @property
    def busy(self) -> str:
        """What is under way, or nothing. A failure that is still to be said is under way."""
        return self._what or self._unsaid

    @property
    def starting(self) -> bool:
        """Whether the process that the next compilation will use is still on its way."""
        return self._spare is not None and self._spare.starting

    def warm_up(self) -> None:
        """Start the process that the next compilation will use."""
        if not self._closed and (self._spare is None or not self._spare.alive):
            self._spare = Worker("compile", self)

    def compile(self, request: CompileRequest) -> None:
        """Compile; what is under way is cancelled, what is on show stays until the new one is there."""
        if not self._closed:
            self._replace(request, f"Compiling {self._state.title}", self._compiled)

    def open_run(self, run: int) -> None:
        """Show a stored run: its records come from the database, and nothing is compiled."""
        self._replace(OpenRunRequest(run), f"Opening run {run}", self._opened_run)

    def open_compilation(self, number: int) -> None:
        """Show a stored compilation, with or without runs."""
        self._replace(OpenRunRequest(0, number), f"Opening compilation {number}", self._opened_run)

    def run(self, request: RunRequest) -> None:
        """Run the current compilation in the process that holds it."""
        self._measure(request, RUNNING, self._ran)

    def text(
        self, request: StageRequest, done: Callable[[Any], None], progress: Callable[[Progress], None] = lambda _: None,
        previous: bool = False,
    ) -> None:  # fmt: skip
        """The text of a stage of the current (or previous) compilation, or a Failure. It waits behind no compilation;
        only a measurement, which it would disturb, has it wait."""
        if self._measures:
            progress(Progress(f"comes when this is over: {self._what}"))
        if not previous and (self._is_elsewhere(request.target) or self._can_be_read(request)):
            self._when_unmeasured(lambda: self._reading().submit(request, done, progress))
        elif (worker := self._holder(done, previous)) is not None:
            worker.submit(request, done, progress)

    def end_reading(self) -> None:
        """End the process that makes texts: they were cancelled."""
        reader, self._reader = self._reader, None
        self._postponed.clear()
        if reader is not None:
            reader.let_go()

    def passes(self, request: PassesRequest, done: Callable[[Any], None]) -> None:
        """Every pass of one kernel of the current compilation: takes a while, and can be cancelled."""
        worker = self._holder(done)
        if worker is None:
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

    def ask(self, request: Any, done: Callable[[Any], None], previous: bool = False) -> None:
        """Ask what the process of the current (or previous) compilation knows; `done` gets the answer or a Failure."""
        if (worker := self._holder(done, previous)) is not None:
            worker.submit(request, done)

    def time_edit(self, request: TimeEditRequest) -> None:
        """Time an edited kernel against the generated one."""
        self._measure(request, f"Timing {request.kernel} against the original", self.edit_timed.emit)

    def cancel(self, quiet: bool = False) -> bool:
        """End what is under way at once; False when nothing is."""
        if not self._what:
            return False
        what, self._what = self._what, ""
        aside, self._aside = self._aside, 0
        if aside and quiet and self._current is not None:  # nobody waits for it; it may end by itself
            self._current.drop(aside)
        elif self._pending is not None:
            self._pending.let_go()
            self._pending = None
        elif self._current is not None:  # a run: end its process, then get the compilation back
            self._current.let_go()
            self._revive()
        if not quiet:
            self._messages.log(f"{what}: cancelled after {time.perf_counter() - self.begun:.1f} s")
        self._measured()
        self.ended.emit(False)
        QTimer.singleShot(0, self.warm_up)
        return True

    def stop(self) -> None:
        """End every process: the window is closing."""
        self._what, self._closed = "", True
        self.measuring.forget()
        for worker in (self._pending, self._current, self._previous, self._spare, self._reader):
            if worker is not None:
                worker.stop()
        self._pending = self._current = self._previous = self._spare = self._reader = None

    def _begin(self, what: str) -> None:
        self._what, self.begun = what, time.perf_counter()
        self.started.emit(what)

    def _end(self, good: bool) -> None:
        self._what = ""
        self._measured()
        self.ended.emit(good)

    def _measured(self) -> None:
        """Nothing is measured any more: what was put off is done."""
        self._measures = False
        postponed, self._postponed = self._postponed, []
        for do in postponed:
            do()

    def _progress(self, progress: Progress) -> None:
        if isinstance(progress, GraphPart):
            self._nodes += progress.nodes
            if progress.last and isinstance(self._asked, CompileRequest):
                options, nodes, self._nodes = self._asked.options, tuple(self._nodes), []
                source = self._asked.source
                self.graph_built.emit(Compilation(source, "", progress.name, options, (), nodes, (), (), (), ()))
            return
        if isinstance(progress, KernelCome):
            self.kernel_came.emit(progress.kernel, progress.kernels)
        self.progressed.emit(progress.stage, progress.done)

    def _holder(self, done: Callable[[Any], None], previous: bool = False) -> Worker | None:
        """The process that holds the current (or previous) compilation; where it is gone, `done` is told so."""
        worker = self._previous if previous else self._current
        if worker is None or not worker.alive:
            done(Failure("this compilation is gone; compile again (Ctrl+Return)"))
            return None
        return worker

    def _is_elsewhere(self, target: str) -> bool:
        """Whether a text needs a compilation of its own, for another target than the current one's."""
        request = self._request
        return bool(target) and isinstance(request, CompileRequest) and target != request.options.target

    def _can_be_read(self, request: StageRequest) -> bool:
        """Whether a text can be made elsewhere while the process that holds the compilation is busy."""
        made_there = request.stage == "mgp" or request.step >= 0  # by its host program, or of passes it has kept
        busy = self._current is not None and (self._current.occupied or not self._current.alive)
        return busy and not made_there and not self._measures and isinstance(self._request, CompileRequest)

    def _when_unmeasured(self, do: Callable[[], object]) -> None:
        """Now, or when the measurement under way is over."""
        if self._measures:
            self._postponed.append(do)
        else:
            do()

    def _reading(self) -> Worker:
        """The process that makes texts of single kernels: no text waits behind a compilation, a search or a pass."""
        if self._reader is None or not self._reader.alive:
            self._reader = self._take_spare()
            assert isinstance(self._request, CompileRequest)
            self._reader.submit(ReadRequest(self._request), lambda _: None)
            QTimer.singleShot(1500, self._warm_up_later)
        return self._reader

    def _take_spare(self) -> Worker:
        self.warm_up()
        worker, self._spare = self._spare, None
        assert worker is not None
        return worker

    def _replace(self, request: CompileRequest | OpenRunRequest, what: str, done: Callable[[Any], None]) -> None:
        """Ask the waiting process for another compilation, which becomes the current one when it is there."""
        self.measuring.forget()  # what waits would measure what is on show then
        self.cancel(quiet=True)
        worker = self._pending = self._take_spare()
        if isinstance(request, CompileRequest):
            request = replace(request, preview=self._state.stale or self._state.compilation is None)
        self._asked, self._nodes = request, []
        self._begin(what)

        def arrived(value: Any) -> None:
            if worker is not self._pending:
                return
            self._pending = None
            if isinstance(value, Failure):
                self._give_back(worker)
            else:
                if self._previous is not None:
                    self._previous.let_go()
                self.end_reading()
                self._previous, self._current, self._request = self._current, worker, request
                QTimer.singleShot(1500, self._warm_up_later)
            done(value)

        worker.submit(request, arrived, self._progress)

    def _measure(self, request: RunRequest | TimeEditRequest, what: str, done: Callable[[Any], None]) -> None:
        """Have the process of the current compilation measure it, unless it has something under way."""
        if self._current is not None and not self._what:
            self.measuring.ask(what, lambda: self._measure_now(request, what, done))

    def _measure_now(self, request: RunRequest | TimeEditRequest, what: str, done: Callable[[Any], None]) -> None:
        worker = self._current
        if worker is None or self._what:
            return
        self._begin(what)
        self._measures = True

        def arrived(value: Any) -> None:
            if worker is self._current and self._what:
                self._end(not isinstance(value, Failure))
                done(value)
                if not worker.alive:
                    self._revive()

        worker.submit(request, arrived, self._progress)

    def _compiled(self, value: Any) -> None:
        if isinstance(value, Failure):
            self._drop_stale()
            self._end(False)
            # In a turn of its own: to take away what was on show and to say what is wrong are felt together.
            self._unsaid = "Saying what is wrong"
            next_turn(self, lambda: self._say(value))
            self.warm_up()
        else:
            self._end(True)
            self._state.set_compilation(value)

    def _say(self, failure: Failure) -> None:
        self._unsaid = ""
        self.failed.emit(failure)

    def _opened_run(self, value: Any) -> None:
        self._end(not isinstance(value, Failure))
        if isinstance(value, Failure):
            self._messages.failure(value, "runs")
        else:
            compilation, result = value
            self._state.set_compilation(compilation)
            if result is not None:
                self._state.set_run(result)

    def _drop_stale(self) -> None:
        """Nothing came of the open source: the processes that hold another's model go with it."""
        if self._state.drop_stale():
            for worker in (self._current, self._previous):
                if worker is not None:
                    worker.let_go()
            self.end_reading()
            self._current = self._previous = self._request = None

    def _give_back(self, worker: Worker) -> None:
        """A worker whose job failed may serve the next one, unless one waits already."""
        if worker.alive and self._spare is None and not self._closed:
            self._spare = worker
        else:
            worker.let_go()

    def _warm_up_later(self) -> None:
        if self._current is not None:
            self.warm_up()

    def _ran(self, value: Any) -> None:
        if isinstance(value, RunTimes):
            self._state.set_run(value)
        else:
            self._messages.failure(value, "run")

    def _revive(self) -> None:
        """The process that held the compilation is gone: compile the same again, unseen, so that texts can be had."""
        if self._request is None or self._closed:
            return
        self._current = self._take_spare()
        self._current.submit(
            self._request, lambda value: self._messages.failure(value, "window") if isinstance(value, Failure) else None
        )
