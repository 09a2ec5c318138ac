"""LLVM in several processes. llvmlite guards LLVM with one lock, so threads would only wait for each other.

Workers are started when the work is worth it, kept warm, and take units from one queue, the dearest first, while this
process still makes the others; in the end it takes from the queue as well. A worker that dies is replaced and its unit
is tried once more. Where this process has a single thread a worker is a fork, which has LLVM loaded already; elsewhere
it is a fresh interpreter.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Self

from compiler.backend.tasks import SECONDS_PER_BYTE, Done, Task, run_task
from compiler.errors import CompilerError, LoweringError

if TYPE_CHECKING:
    from compiler.processes.frames import Channel

FORK_SECONDS, SPAWN_SECONDS = 0.03, 0.6
_ATTEMPTS = 2


class WorkerDied(Exception):
    """The process at the other end is gone."""


class Worker:
    """A process that compiles what it is sent."""

    def __init__(self, number: int, others: Sequence[Worker]) -> None:
        from compiler.processes.messages import Refusal
        from compiler.processes.supervisor import Child, Fork

        answers = {"Done": Done, "Refusal": Refusal}
        self.number = number
        self._process = (
            Fork(serve, answers, KNOWN, [other.descriptor for other in others])
            if _can_fork() else Child(__name__, answers)
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def descriptor(self) -> int:
        """Our end of the conversation, which no other worker may keep open."""
        return self._process.channel.fileno()

    def ask(self, task: Task) -> Done:
        """Have a task done; what the compiler says against it is raised here."""
        from compiler.processes.messages import Refusal, remade

        try:
            self._process.channel.send(task)
            answer = self._process.channel.receive().value
        except (EOFError, OSError) as error:
            raise WorkerDied(str(error)) from error
        if isinstance(answer, Refusal):
            raise remade(answer)
        return replace(answer, worker=self.number)

    def kill(self) -> None:
        """Have it end, whatever it does; whoever waits for its answer learns that it died."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End it, whatever it does; nobody waits for its answer."""
        self._process.end()


def _can_fork() -> bool:
    # A fork of a process with other threads may copy a lock that nobody will ever release.
    return sys.platform == "linux" and threading.active_count() == 1


KNOWN = {"Task": Task}


def serve(channel: Channel) -> None:
    """A worker's life: compile what arrives until the other end closes."""
    from compiler.processes.messages import refusal

    with suppress(EOFError, OSError):
        while True:
            task: Task = channel.receive().value
            try:
                channel.send(run_task(task))
            except CompilerError as error:
                channel.send(refusal(error))


Told = Callable[[Task], object]
"""Hears of a task that is done."""
Elsewhere = Callable[[Sequence[Task], Told], list[Done]]
"""Has tasks done on other machines."""


class Work:
    """Tasks that are taken from one queue, the dearest first, by workers as soon as some are there and by this process
    when all are.

    It is a block: an error that ends it before `finish` also ends what the workers do for it.
    """

    def __init__(self, pool: Pool, jobs: int, told: Told = lambda _: None, there: Elsewhere | None = None) -> None:
        self._pool = pool
        self._jobs = jobs
        self._told = told
        self._there = there
        self._tasks: list[Task] = []
        self._waiting: list[tuple[float, int]] = []
        self._done: dict[int, Done] = {}
        self._complete = self._killed = False
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self.failure: BaseException | None = None

    def add(self, tasks: Sequence[Task], to_come: float = 0.0) -> None:
        """More to do. Where as many seconds of work as `to_come` will follow, workers begin without waiting for it."""
        with self._changed:
            for task in tasks:
                heappush(self._waiting, (-task.cost, len(self._tasks)))
                self._tasks.append(task)
            self._changed.notify_all()
        if to_come and not self._threads and self._there is None:
            self._start(to_come)

    def finish(self) -> list[Done]:
        """All tasks done, in the order in which they came; the first failure is raised."""
        if self._there is not None:
            return self._there(self._tasks, self._told)
        self._close()
        try:
            index = self._take()  # the dearest is done here, where nothing has to be sent
            if not self._threads:
                self._start()
            while index is not None:
                self._did(index, run_task(self._tasks[index]))
                index = self._take()
        except BaseException as error:
            self._fail(error)
        self._end()
        if self.failure is not None:
            raise self.failure
        return [self._done[index] for index in range(len(self._tasks))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            self._fail(error)
        self._end()

    def _start(self, to_come: float = 0.0) -> None:
        seconds = to_come + sum(task.cost for task in self._tasks)
        most = self._jobs if to_come else min(self._jobs, len(self._tasks))
        helpers = self._pool.useful_helpers(seconds, most)
        # Where another thread's tasks have the workers, these are done here: LLVM takes turns between threads anyway.
        if not helpers or not self._pool.turn.acquire(blocking=False):
            return
        try:
            self._pool.have(helpers)
            for position in range(helpers):
                thread = threading.Thread(
                    target=self._feed, args=(position,), daemon=True, name=f"kernelglass-llvm-{position}"
                )
                self._threads.append(thread)
                thread.start()
        except BaseException:  # an interrupt, say: threads that were begun end with the first failure
            self._threads = []
            self._pool.turn.release()
            raise

    def _end(self) -> None:
        self._close()
        if not self._threads:
            return
        try:
            for thread in self._threads:
                thread.join()
            if self._killed:  # not before: a thread that waits for an answer would wait at what is opened next
                self._pool.close()
        finally:
            self._threads = []
            self._pool.turn.release()

    def _close(self) -> None:
        with self._changed:
            self._complete = True
            self._changed.notify_all()

    def _take(self) -> int | None:
        with self._changed:
            while self.failure is None:
                if self._waiting:
                    return heappop(self._waiting)[1]
                if self._complete:
                    return None
                self._changed.wait()
            return None

    def _did(self, index: int, done: Done) -> None:
        self._done[index] = done
        self._told(self._tasks[index])

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self.failure = self.failure or error
            self._changed.notify_all()
        if not isinstance(error, CompilerError):  # an interrupt: do not wait for what nobody wants any more
            self._killed = bool(self._threads)
            for worker in self._pool.workers[: len(self._threads)]:
                worker.kill()

    def _feed(self, position: int) -> None:
        while (index := self._take()) is not None:
            try:
                self._did(index, self._attempt(position, self._tasks[index]))
            except BaseException as error:
                with self._changed:
                    self.failure = self.failure or error
                    self._changed.notify_all()

    def _attempt(self, position: int, task: Task) -> Done:
        for _ in range(_ATTEMPTS):
            try:
                return self._pool.workers[position].ask(task)
            except WorkerDied:
                if self.failure is not None:
                    break
                self._pool.replace(position)
        raise LoweringError(f"LLVM's process died {_ATTEMPTS} times while compiling {task.name}")


class Pool:
    """The workers of this process, which one `Work` at a time has."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.turn = threading.Lock()
        self._owner = os.getpid()

    def compile(self, tasks: Sequence[Task], jobs: int, told: Told = lambda _: None) -> list[Done]:
        """All tasks done, on as many processes as pay for themselves, at most `jobs`; the first failure is raised."""
        with Work(self, jobs, told) as work:
            work.add(tasks)
            return work.finish()

    def useful_helpers(self, seconds: float, most: int) -> int:
        """How many workers shorten so much work, in at most so many parts, by more than starting them costs."""
        if sys.platform == "win32":
            return 0
        return _helpers_for(seconds, most, FORK_SECONDS if _can_fork() else SPAWN_SECONDS, len(self.workers))

    def have(self, count: int) -> None:
        """Start workers until there are so many."""
        while len(self.workers) < count:
            self.workers.append(Worker(len(self.workers) + 1, self.workers))

    def replace(self, position: int) -> None:
        """Another worker in place of one that died or is busy with what nobody wants any more."""
        self.workers[position].stop()
        self.workers[position] = Worker(position + 1, [w for w in self.workers if w is not self.workers[position]])

    def close(self) -> None:
        """Let the workers go."""
        if os.getpid() == self._owner:
            for worker in self.workers:
                worker.stop()
        self.workers = []


_pool = Pool()
atexit.register(lambda: _pool.close())


def _forget_after_fork() -> None:
    """A forked child has no workers: they are its parent's."""
    global _pool
    _pool = Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def begin(jobs: int, told: Told = lambda _: None) -> Work:
    """Work on at most `jobs` processes of this machine, or where `elsewhere` says.

    `told` hears of each task that is done, in whichever thread that was.
    """
    return Work(_pool, jobs, told, _elsewhere.get())


def useful_jobs(size: int, opt_level: int, jobs: int) -> int:
    """How many of `jobs` processes are worth having for so many bytes of LLVM IR. Those that were started before cost
    nothing; elsewhere it is as many as in a program that begins."""
    there = len(_pool.workers) if _elsewhere.get() is None else 0
    return 1 + _helpers_for(size * SECONDS_PER_BYTE[opt_level], jobs, FORK_SECONDS, there)


def _helpers_for(seconds: float, most: int, start: float, there: int) -> int:
    """How many workers beside this process shorten work that can be divided among `most`, where starting one takes so
    long and some are there."""
    best, chosen = 0.0, 0
    for helpers in range(1, most):
        cold = max(helpers - there, 0)
        gain = seconds - seconds / (helpers + 1) - 2 * start * bool(cold) - 0.005 * cold
        if gain > best:
            best, chosen = gain, helpers
    return chosen


_elsewhere: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)


@contextmanager
def elsewhere(there: Elsewhere) -> Iterator[None]:
    """Have this thread's tasks done there, for the time of the block."""
    before = _elsewhere.set(there)
    try:
        yield
    finally:
        _elsewhere.reset(before)
