"""The database seen from the window: runs, comparisons, exports; and measuring this machine, which takes long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.controllers.jobs import Worker
from app.viewmodels import requests
from app.viewmodels.frame.messages import Messages
from app.viewmodels.runs.bisecting import BisectRequest
from app.viewmodels.text.ir_pane import TextKey

_LAST = 2.0  # seconds that what is being written has to be, when the window closes
MOVED = "moved"
"""The kind of a Failure: nobody is to be told of it, but whoever waits may want to ask again."""


class RecordsController(QObject):
    """One worker answers quick questions; another, made when needed, does what takes long and can be cancelled."""

    runs_listed = Signal(object)
    compilations_listed = Signal(object)
    compared = Signal(object)
    leaving = Signal()  # the database that was open, for another
    moved = Signal()
    ceilings_measured = Signal(object)
    started = Signal(str)
    progressed = Signal(str, float)
    ended = Signal(bool)

    def __init__(self, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self._quick: Worker | None = None
        self._long: Worker | None = None
        self._listing = 0
        self._writes: set[int] = set()  # unanswered questions that change what was open when they were asked
        self._retired: list[Worker] = []  # which still do
        self._closed = False
        self._moves = 0  # from one database to another

    @property
    def busy(self) -> bool:
        """Whether a long measurement is under way."""
        return self._long is not None

    def list_runs(self) -> None:
        """Ask for the runs; an older question is forgotten."""
        if self._quick is not None:
            self._quick.drop(self._listing)
        self._listing = self.put(requests.ListRunsRequest(), self._tell(self.runs_listed.emit, "runs"))
        self.put(requests.ListCompilationsRequest(), self._tell(self.compilations_listed.emit, "runs"))

    def compare(self, runs: tuple[int, ...]) -> None:
        """Compare runs."""
        self.put(requests.CompareRunsRequest(runs), self._tell(self.compared.emit, "compare"))

    def compare_compilations(self, numbers: tuple[int, ...]) -> None:
        """Compare compilations: options, time by stage, where the IR first differs."""
        request = requests.CompareRunsRequest(compilations=numbers)
        self.put(request, self._tell(self.compared.emit, "compare"))

    def stored_text(self, compilation: int, key: TextKey, done: Callable[[Any], None]) -> None:
        """The text of a stage of a stored compilation; `done` gets it or a Failure."""
        self.put(requests.StoredStageRequest(compilation, key.stage, key.kernel), done)

    def export(self, runs: tuple[int, ...], kind: str, path: str) -> None:
        """Write a run or a comparison to a file."""
        done = self._tell(lambda p: self._messages.say("info", f"wrote {p}", "window"), "window")
        self.put(requests.ExportRequest(runs, kind, path), done, writes=True)

    def ask(
        self, request: Any, good: Callable[[Any], object], place: str = "window", writes: bool = False
    ) -> None:  # fmt: skip
        """A quick question of another controller; what fails is said at `place`. What `writes` is done in the database
        it was meant for, though another is opened meanwhile; nobody hears what else was asked of the one before."""
        self.put(request, self._tell(good, place), writes)

    def put(self, request: Any, done: Callable[[Any], None], writes: bool = False) -> int:
        """The same for whoever wants to hear of a Failure too: `done` gets it in the answer's place, also of the kind
        MOVED, where another database was opened before the answer. Its number; a window that is closed asks nothing,
        though views of it may still be painted."""
        if self._closed:
            return 0
        if not writes:
            return self._asker().submit(request, done)

        def written(value: Any) -> None:
            self._writes.discard(number)
            done(value)

        number = self._asker().submit(request, written)
        self._writes.add(number)
        return number

    def measure_ceilings(self, device: str = "cpu") -> None:
        """What a device of this machine can do."""
        words = "Measuring this machine" if device == "cpu" else f"Measuring {device}"
        self._measure(requests.CeilingsRequest(device=device), words, self.ceilings_measured.emit, "roofline")

    def bisect(
        self, runs: tuple[int, int], told: Callable[[Any], object], good: Callable[[Any], object]
    ) -> None:  # fmt: skip
        """What makes the second run wrong or slower: `told` hears what is known, `good` the result."""
        self._measure(BisectRequest(runs), f"Bisecting run {runs[1]}", good, "compare", told)

    def make_again(self, runs: tuple[int, int], pairs: int) -> None:
        """Two runs made again, in turns, and compared, unless another database is open by then."""
        before = self._moves

        def made(new: tuple[int, int]) -> None:
            if before != self._moves:
                words = f"runs {new[0]} and {new[1]} were made again, in the database that was open before"
                self._messages.say("info", words, "compare")
                return
            self.list_runs()
            self.compare(new)

        words = f"Measuring runs {runs[0]} and {runs[1]} again, in turns"
        self._measure(requests.AgainRequest(runs, pairs), words, made, "compare")

    def cancel(self) -> bool:
        """End a long measurement; False when there is none."""
        if self._long is None:
            return False
        self._long.stop()
        self._long = None
        self.ended.emit(False)
        return True

    @property
    def writing(self) -> bool:
        """Whether something is being written."""
        return bool(self._writes) or any(worker.busy for worker in self._retired)

    def stop(self) -> None:
        """End the processes, once they have written what was asked for, or a while has passed; there will be no
        others."""
        self._closed = True
        end = time.monotonic() + _LAST
        asked = [(self._quick, self._writes)] if self._quick is not None else []
        for worker, jobs in (*asked, *((worker, None) for worker in self._retired)):
            worker.await_answers(jobs, max(end - time.monotonic(), 0))
        for worker in (self._quick, self._long, *self._retired):
            if worker is not None:
                worker.stop()
        self._quick = self._long = None
        self._retired.clear()
        self._writes.clear()

    def forget(self) -> None:
        """The database has moved: a fresh process asks the new one."""
        self._moves += 1
        self.leaving.emit()
        quick, self._quick = self._quick, None
        if quick is not None:
            kept, self._writes = self._writes, set()
            dropped = quick.retire(kept)
            self._retired = [worker for worker in (*self._retired, quick) if worker.alive]
            for done in dropped:
                done(requests.Failure("another database was opened before this was answered", kind=MOVED))
        self.moved.emit()

    def _asker(self) -> Worker:
        if self._quick is None or not self._quick.alive:
            self._quick = Worker("store", self)
        return self._quick

    def _tell(self, good: Callable[[Any], object], place: str) -> Callable[[Any], None]:
        def done(value: Any) -> None:
            if not isinstance(value, requests.Failure):
                good(value)
            elif value.kind != MOVED:
                self._messages.failure(value, place)

        return done

    def _measure(
        self, request: Any, what: str, good: Callable[[Any], object], place: str,
        told: Callable[[Any], object] = lambda _: None,
    ) -> None:  # fmt: skip
        self.cancel()
        worker = self._long = Worker("store", self)
        tell = self._tell(good, place)

        def done(value: Any) -> None:
            if worker is self._long:
                self._long = None
                worker.stop()
                self.ended.emit(not isinstance(value, requests.Failure))
                tell(value)

        def progress(value: Any) -> None:
            self.progressed.emit(value.stage, value.done)
            told(value)

        self.started.emit(what)
        worker.submit(request, done, progress)
