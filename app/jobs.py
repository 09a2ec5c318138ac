"""Jobs in child processes, seen from the window: a frozen request goes out, frozen replies come back as Qt signals.

A thread per process starts it and waits on its pipe, so the window's thread never waits. Ending the process cancels
whatever it was doing; replies of an ended or replaced job are dropped here.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

from app.controllers.worker import serve
from app.viewmodels.requests import Failure, Progress, Reply

_numbers = itertools.count(1)
Done = Callable[[Any], None]


class Worker(QObject):
    """A child process; `submit` from the window's thread, answers arrive there too."""

    _received = Signal(object)
    _ended = Signal(int)

    def __init__(self, warm: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[int, tuple[Done, Done]] = {}
        self._lock = threading.Lock()
        self._outbox: list[tuple[int, Any]] = []
        self._pipe: Any = None
        self._process: Any = None
        self._stopping = False
        self._received.connect(self._take)
        self._ended.connect(self._lost)
        self._thread = threading.Thread(target=self._run, args=(warm,), name=f"worker-{warm}", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a job is waiting for its answer."""
        return bool(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return not self._stopping and self._thread.is_alive()

    def submit(self, request: Any, done: Done, progress: Done = lambda _: None) -> int:
        """Send a request; `done` gets the result or a Failure, unless the job is dropped before."""
        number = next(_numbers)
        self._waiting[number] = (done, progress)
        with self._lock:
            if self._pipe is None:
                self._outbox.append((number, request))
                return number
            with contextlib.suppress(OSError):  # a process that just died is reported by its thread
                self._pipe.send((number, request))
        return number

    def drop(self, number: int) -> None:
        """Ignore the answer of a job that nobody waits for any more."""
        self._waiting.pop(number, None)

    def stop(self) -> None:
        """End the process now, whatever it does, and wait for the thread that watches it."""
        self._waiting.clear()
        with self._lock:
            self._stopping = True
            process = self._process
        if process is not None and process.is_alive():
            process.kill()
        self._thread.join(5)

    def _run(self, warm: str) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, warm), name=f"kernelglass-{warm}", daemon=True)
        with self._lock:
            if self._stopping:
                return
            process.start()
            self._process = process
            theirs.close()
            self._pipe = ours
            for entry in self._outbox:
                ours.send(entry)
            self._outbox.clear()
        with contextlib.suppress(EOFError, OSError):
            while True:
                reply = ours.recv()
                if self._stopping:
                    break
                self._received.emit(reply)
        process.join(5)
        ours.close()
        if not self._stopping:
            self._ended.emit(process.exitcode or 0)
        process.close()

    def _take(self, reply: Reply) -> None:
        waiting = self._waiting.get(reply.job)
        if waiting is None:
            return
        done, progress = waiting
        if isinstance(reply.value, Progress):
            progress(reply.value)
            return
        del self._waiting[reply.job]
        done(reply.value)

    def _lost(self, code: int) -> None:
        self._stopping = True
        jobs, self._waiting = self._waiting, {}
        why = f"signal {-code}" if code < 0 else f"status {code}"
        failure = Failure(f"the child process ended with {why}; the window is fine, try again", kind="crash")
        for done, _ in jobs.values():
            done(failure)


class Thread(QObject):
    """Short work that releases the GIL (indexing, searching) on Qt's pool; a newer task makes an older one stale."""

    _finished = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._generation = 0
        self._done: Done = lambda _: None
        self._finished.connect(self._take)

    def start(self, work: Callable[[Callable[[], bool]], Any], done: Done) -> None:
        """Run `work(cancelled)`; `done(result)` is called here unless another `start` or `cancel` came first."""
        self._generation += 1
        generation = self._generation
        self._done = done

        def task() -> None:
            result = work(lambda: self._generation != generation)
            with contextlib.suppress(RuntimeError):  # the window closed meanwhile
                self._finished.emit(generation, result)

        QThreadPool.globalInstance().start(QRunnable.create(task))

    def cancel(self) -> None:
        """Make whatever runs stale."""
        self._generation += 1

    def _take(self, generation: int, result: Any) -> None:
        if generation == self._generation:
            self._done(result)
