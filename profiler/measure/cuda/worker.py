"""CUDA work in a child process: a kernel that faults or never ends is reported, and the next request still works."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from compiler.processes.frames import NotWanted, TimeIsUp, Unreadable, Wait
from compiler.processes.supervisor import Child, status_name
from profiler.measure.cuda.messages import (
    ANSWERS,
    CANCELLED,
    DIED,
    FAILED,
    FAULT,
    TIMEOUT,
    CudaRequest,
    CudaResponse,
    Running,
)

_ENDING = 10.0  # seconds the driver gets to tear a process down


class CudaWorker:
    """A warm child for one device; started on the first request and again after one that had to be ended."""

    module = "profiler.measure.cuda.child"

    def __init__(self, device: int = 0) -> None:
        self.device = device
        self._child: Child | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> CudaWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return self._child.pid if self._child is not None and self._child.alive else None

    def run(
        self, request: CudaRequest, time_limit: float = 60.0, cancelled: Callable[[], bool] = lambda: False
    ) -> CudaResponse:
        """Run a request within `time_limit` seconds, the child's start included; what a kernel does never raises.

        A kernel cannot be told to stop: where it is cancelled, or this thread interrupted, its process is ended.
        """
        with self._lock:
            try:
                return self._answer(request, time_limit, cancelled)
            except BaseException:
                self._end()
                raise

    def _answer(self, request: CudaRequest, time_limit: float, cancelled: Callable[[], bool]) -> CudaResponse:
        wait = Wait(monotonic() + time_limit, cancelled)
        child = self._started()
        last = Running("", 0)
        try:
            with suppress(ConnectionError):  # it died before it read all of it, which reading tells
                child.channel.send(request, wait=wait)
            while isinstance(found := child.channel.receive(wait).value, Running):
                last = found
        except (TimeIsUp, NotWanted) as stopped:
            self._end()
            late = isinstance(stopped, TimeIsUp)
            error = f"no end within {time_limit:g} s; its process was ended" if late else CANCELLED
            failure = TIMEOUT if late else CANCELLED
            return CudaResponse(FAILED, failure=failure, error=error, kernel=last.kernel, calls=last.call)
        except (EOFError, Unreadable):
            return self._died(child, last)
        if found.failure == FAULT:
            self._end()
        return found

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end(_ENDING)

    def _started(self) -> Child:
        if self._child is None or not self._child.alive:
            self._end()
            self._child = Child(self.module, ANSWERS, self.device, keep_errors=True)
        return self._child

    def _died(self, child: Child, last: Running) -> CudaResponse:
        name = status_name(self._end(_ENDING))
        words = child.last_words
        error = f"the process that ran it ended with {name}{f': {words}' if words else ''}"
        return CudaResponse(
            FAILED, failure=DIED, error=error, error_name=name, kernel=last.kernel, log=child.errors, calls=last.call
        )

    def _end(self, patience: float = 0.0) -> int:
        child, self._child = self._child, None
        return child.end(patience) if child is not None else 0
