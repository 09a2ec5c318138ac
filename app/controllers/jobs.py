"""Jobs in child processes, seen from the window: a frozen request goes out, frozen replies come back as Qt signals.

A worker is a fresh interpreter, not a copy of this one: Qt does not survive a fork, and the user's main module is not
imported twice. Threads of its own start it, write into its pipe and wait on it, so the window's thread never waits.
Ending the process cancels whatever it was doing; replies of an ended or replaced job are dropped here.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

from app.viewmodels.pieces import Piece, join
from app.viewmodels.requests import DATABASE_VARIABLE, Failure, Progress, Reply

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
        # A process that is busy does not read, and a pipe holds little: whoever writes into it may have to wait.
        self._outbox: queue.SimpleQueue[tuple[int, str | None, Any] | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
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
        self._outbox.put((number, os.environ.get(DATABASE_VARIABLE), request))
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
        if process is not None and process.poll() is None:
            _end_group(process)
        self._thread.join(5)

    def _run(self, warm: str) -> None:
        ours, theirs = socket.socketpair()
        pipe = Connection(ours.detach())
        with self._lock, theirs:
            if self._stopping:
                pipe.close()
                return
            process = subprocess.Popen(
                # -P: a folder one works in may have an `app` of its own, which must not be taken for ours.
                [sys.executable, "-P", "-m", "app.worker.main", str(theirs.fileno()), warm],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                # A group, so that what it starts can be ended with it; not a session: the kernel shares the processor
                # among sessions before it looks at who is nice, and a worker would count as much as the window.
                process_group=0,
            )
            self._process = process
        sender = threading.Thread(target=self._send, args=(pipe,), name=f"worker-{warm}-out", daemon=True)
        sender.start()
        with contextlib.suppress(EOFError, OSError):
            pieces: list[Piece] = []
            while True:
                reply = pipe.recv()
                if self._stopping:
                    break
                if isinstance(reply, Piece):
                    pieces.append(reply)
                    continue
                mine = [piece for piece in pieces if piece.job == reply.job] if reply.final else []
                if mine:
                    reply = Reply(reply.job, join(mine, reply.value))
                    pieces = [piece for piece in pieces if piece.job != reply.job]
                self._received.emit(reply)
        _end_group(process)
        code = process.wait()
        self._outbox.put(None)
        sender.join()
        pipe.close()
        if not self._stopping:
            self._ended.emit(code)

    def _send(self, pipe: Any) -> None:
        while (entry := self._outbox.get()) is not None:
            try:
                pipe.send(entry)
            except OSError:
                pass  # a process that just died is reported by the thread that reads
            except Exception as error:  # a request that cannot be sent is a bug of ours, and must not wait for ever
                self._received.emit(Reply(entry[0], Failure(f"{type(error).__name__}: {error}", kind="bug")))

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


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a worker and whatever it started: it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


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
            done, self._done = self._done, lambda _: None  # what it holds may be large
            done(result)


def in_thread(parent: QObject, work: Callable[[Callable[[], bool]], Any], done: Done) -> None:
    """Run one piece of work on Qt's pool and call `done` with what came of it, unless `parent` is gone by then."""
    thread = Thread(parent)

    def finished(result: Any) -> None:
        thread.deleteLater()
        done(result)

    thread.start(work, finished)
