"""A process that measures when it is its turn: it owns its place in the measuring queue and its words in the status
bar, so that whatever measures beside compilations is started, stopped and cancelled in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from app.controllers.jobs import Worker
from app.controllers.measuring_queue import MeasuringQueue
from app.viewmodels.requests import Failure
from app.views.frame.status import Status


class QueuedWorker(QObject):
    """One process, made for each job and ended with it; nothing else is measured meanwhile."""

    def __init__(self, queue: MeasuringQueue, status: Status, place: str, parent: QObject) -> None:
        super().__init__(parent)
        self._queue, self._status, self._place = queue, status, place
        self._worker: Worker | None = None
        queue.watch(lambda: self._worker)

    @property
    def busy(self) -> bool:
        """Whether a job is under way."""
        return self._worker is not None

    def begin(
        self, words: str, request: Any, done: Callable[[Any], object], part: Callable[[Any], object] = lambda _: None
    ) -> None:
        """Start a job, now; `done` gets its result or a Failure, unless it is stopped before."""
        self.stop()
        worker = self._worker = Worker("store", self)
        self._status.start(words, self._place)

        def came(progress: Any) -> None:
            if worker is self._worker:
                part(progress)
                self._status.set_progress(progress.stage, progress.done, self._place)

        def over(value: Any) -> None:
            if worker is self._worker:
                self._end(not isinstance(value, Failure))
                done(value)

        worker.submit(request, over, came)

    def cancel(self) -> bool:
        """End a job at once, and let what waits begin; False when there is none."""
        if self._worker is None:
            return False
        self._end(good=False)
        return True

    def stop(self) -> None:
        """End the process at once: the window closes."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _end(self, good: bool) -> None:
        self.stop()
        self._status.end(good, self._place)
        self._queue.go_on()
