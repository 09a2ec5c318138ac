"""Jobs in child processes, seen from the window: a frozen request goes out, frozen replies come back as Qt signals.

A worker comes from a nursery, which has loaded the compiler, and is no copy of this process: Qt does not survive a
fork, and the user's main module is not imported twice. Threads of its own have it started, write into its pipe and wait
on it, so the window's thread never waits. Ending the process cancels whatever it was doing; replies of an ended or
replaced job are dropped here.
"""

from __future__ import annotations

import _thread
import contextlib
import itertools
import os
import queue
import threading
from collections.abc import Callable, Container, Iterator
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.viewmodels.pieces import Piece, join
from app.viewmodels.requests import Database, Failure, Progress, StageRequest
from app.worker.answers import PIECE, replies
from compiler.processes.frames import Unreadable
from compiler.processes.nursery import Born, Nursery
from compiler.processes.supervisor import Child
from profiler.records import DATABASE_VARIABLE, READONLY_VARIABLE

_numbers = itertools.count(1)
_nursery = Nursery("app.worker.main")
Done = Callable[[Any], None]


class _Deleted(Exception):
    """Qt has deleted the worker: nobody is there to hear of its process."""


class _Watcher(threading.Thread):
    """A thread whose maker does not wait until it has begun, which takes as long as it takes to get a core."""

    def __init__(self, work: Callable[[], object], name: str) -> None:
        super().__init__(target=work, name=name, daemon=True)
        self._there = threading.Event()
        _thread.start_new_thread(self.start, ())

    def run(self) -> None:
        self._there.set()
        super().run()

    @property
    def going_on(self) -> bool:
        """Whether it is to come, or has not ended."""
        return not self._there.is_set() or self.is_alive()

    def await_end(self, seconds: float) -> None:
        """Wait for it, so long for each."""
        if self._there.wait(seconds):
            self.join(seconds)


_leaving: list[_Watcher] = []  # of workers whose process was ended


class Worker(QObject):
    """A child process; `submit` from the window's thread, answers arrive there too."""

    _received = Signal(int, object)
    _ended = Signal(int)

    def __init__(self, purpose: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[int, tuple[Done, Done]] = {}
        self._texts: set[int] = set()  # those of them that ask for a text, which is quick
        self._lock = threading.Lock()
        self._came = threading.Condition()  # for whoever waits for answers without the event loop
        self._unanswered: set[int] = set()
        # A process that is busy does not read, and a pipe holds little: whoever writes into it may have to wait.
        self._outbox: queue.SimpleQueue[tuple[int, Database, Any] | None] = queue.SimpleQueue()
        self._process: Child | Born | None = None
        self._stopping = self._retired = False
        self._received.connect(self._take)
        self._ended.connect(self._lost)
        self._thread = _Watcher(lambda: self._run(purpose), f"worker-{purpose}")

    @property
    def busy(self) -> bool:
        """Whether a job is waiting for its answer."""
        return bool(self._waiting)

    @property
    def occupied(self) -> bool:
        """Whether a text asked for now would wait behind something longer than other texts."""
        return not self._waiting.keys() <= self._texts

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return not self._stopping and self._thread.going_on

    @property
    def starting(self) -> bool:
        """Whether its process is still to come."""
        process = self._process
        return self.alive and (process is None or (isinstance(process, Born) and not process.begun))

    def submit(self, request: Any, done: Done, progress: Done = lambda _: None) -> int:
        """Send a request; `done` gets the result or a Failure, unless the job is dropped before."""
        number = next(_numbers)
        self._waiting[number] = (done, progress)
        if isinstance(request, StageRequest):
            self._texts = {job for job in self._texts if job in self._waiting} | {number}
        with self._came:
            self._unanswered.add(number)
        database = Database(os.environ.get(DATABASE_VARIABLE), os.environ.get(READONLY_VARIABLE) == "1")
        self._outbox.put((number, database, request))
        return number

    def drop(self, number: int) -> None:
        """Ignore the answer of a job that nobody waits for any more."""
        self._waiting.pop(number, None)

    def await_answers(self, jobs: Container[int] | None, seconds: float) -> None:
        """Wait until these jobs are answered, or all of them, or the process has ended; so long at the most. Nothing is
        told meanwhile: for whoever closes, and only wants it done."""

        def answered() -> bool:
            return not any(jobs is None or number in jobs for number in self._unanswered)

        with self._came:
            self._came.wait_for(answered, seconds)

    def retire(self, kept: Container[int]) -> list[Done]:
        """Answer those jobs and end. Whoever waits for another is told nothing from here any more: these."""
        dropped = [done for number, (done, _) in self._waiting.items() if number not in kept]
        self._waiting = {number: job for number, job in self._waiting.items() if number in kept}
        self._retired = True
        self._end_retired()
        return dropped

    def stop(self) -> None:
        """End the process now, whatever it does, and wait for the threads that watch it and those let go before."""
        self.let_go()
        while _leaving:
            _leaving.pop().await_end(5)

    def let_go(self) -> None:
        """End the process now; the thread that watches it ends soon, and nobody waits for it."""
        self._waiting.clear()
        with self._lock:
            self._stopping = True
            process = self._process
        if process is not None:
            process.kill()
        _leaving[:] = [*(thread for thread in _leaving if thread.going_on), self._thread]

    def _run(self, purpose: str) -> None:
        with self._lock:
            if self._stopping:
                return
            # A group, so that what it starts can be ended with it; not a session: the kernel shares the processor
            # among sessions before it looks at who is nice, and a worker would count as much as the window.
            child = self._process = _nursery.child(replies())
        sender = threading.Thread(target=self._send, args=(child,), name=f"worker-{purpose}-out", daemon=True)
        sender.start()
        pieces: dict[int, list[Piece]] = {}
        with contextlib.suppress(EOFError, OSError, Unreadable, _Deleted):
            while not self._stopping:
                message = child.channel.receive()
                job, value = message.job, message.value
                _, _, field = message.kind.partition(PIECE)
                if field:
                    pieces.setdefault(job, []).append((field, value))
                    continue
                whole = value if isinstance(value, Progress) else join(pieces.pop(job, ()), value)
                if not isinstance(value, Progress):
                    self._note_answered(job)
                with self._telling():
                    self._received.emit(job, whole)
        child.kill()
        self._note_answered()
        self._outbox.put(None)
        sender.join()
        code = child.end()
        if not self._stopping:
            with contextlib.suppress(_Deleted), self._telling():
                self._ended.emit(code)

    def _note_answered(self, *jobs: int) -> None:
        """These are answered; none given: no other will be."""
        with self._came:
            self._unanswered = self._unanswered.difference(jobs) if jobs else set()
            self._came.notify_all()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Around a signal that the window's thread is to hear of."""
        try:
            yield
        except RuntimeError as error:  # from Qt: the window is gone, and took this with it
            self._stopping = True
            raise _Deleted from error

    def _send(self, child: Child | Born) -> None:
        while (entry := self._outbox.get()) is not None:
            job, database, request = entry
            try:
                child.channel.send(database)
                child.channel.send(request, job=job)
            except OSError:
                pass  # a process that just died is reported by the thread that reads
            except Exception as error:  # a request that cannot be sent is a bug of ours, and must not wait for ever
                failure = Failure(f"{type(error).__name__}: {error}", kind="bug")
                with contextlib.suppress(_Deleted), self._telling():
                    self._received.emit(job, failure)

    def _take(self, job: int, value: Any) -> None:
        waiting = self._waiting.get(job)
        if waiting is None:
            return
        done, progress = waiting
        if isinstance(value, Progress):
            progress(value)
            return
        del self._waiting[job]
        done(value)
        self._end_retired()

    def _end_retired(self) -> None:
        if self._retired and not self._waiting:
            self.let_go()

    def _lost(self, code: int) -> None:
        self._stopping = True
        jobs, self._waiting = self._waiting, {}
        why = f"signal {-code}" if code < 0 else f"status {code}"
        failure = Failure(f"the child process ended with {why}; the window is fine, try again", kind="crash")
        for done, _ in jobs.values():
            done(failure)
