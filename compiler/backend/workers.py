"""LLVM in several processes. llvmlite guards LLVM with one lock, so threads would only wait for each other.

Workers are started when the work is worth it, kept warm, and take units from one queue, the dearest first, as does
this process itself. A worker that dies is replaced and its unit is tried once more. Where this process has a single
thread a worker is a fork, which has LLVM loaded already; elsewhere it is a fresh interpreter.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from compiler.backend.llvm import (
    CompiledUnit,
    Optimised,
    compile_llvm,
    emit_object,
    has_short_loops,
    optimise,
    together,
)
from compiler.errors import CompilerError, LoweringError
from compiler.targets import get_target
from compiler.targets.target import Target

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

    from compiler.processes.frames import Channel

# LLVM's seconds for a byte of our IR at each level, on a slow core: only ratios to the costs below matter.
_SECONDS_PER_BYTE = (0.8e-6, 1.5e-6, 2.2e-6, 2.4e-6)
FORK_SECONDS, SPAWN_SECONDS = 0.03, 0.6
_ATTEMPTS = 2
_FEW = 3  # one part in so many of a bundle, at most, is optimised apart, as that has a fixed cost too


@dataclass(frozen=True)
class Task:
    """What LLVM makes one object of: a module, or several that are linked before they are optimised and emitted.

    Emitting has a fixed cost of some milliseconds, whatever the size; small modules share it.
    """

    name: str
    texts: tuple[str, ...]
    target: str
    opt_level: int
    record_passes: bool = False
    without: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """Seconds it will take, roughly."""
        return sum(map(len, self.texts)) * _SECONDS_PER_BYTE[self.opt_level]


@dataclass(frozen=True)
class Done:
    """What came of a task: where it ran (0 is this process), when it began on `perf_counter`'s clock, what it took."""

    unit: CompiledUnit
    start: float
    seconds: float
    cpu_seconds: float
    worker: int = 0


def run_task(task: Task) -> Done:
    """Do a task in this process."""
    start, cpu = perf_counter(), thread_time()
    target = get_target(task.target)
    if len(task.texts) == 1:
        unit = compile_llvm(
            task.texts[0], target, task.opt_level, record_passes=task.record_passes, without=task.without
        )
    else:
        unit = _compile_linked(task, target)
    return Done(unit, start, perf_counter() - start, thread_time() - cpu)


def _compile_linked(task: Task, target: Target) -> CompiledUnit:
    import llvmlite.binding as llvm

    target.machine(task.opt_level)  # LLVM must be initialised before anything is parsed
    start = perf_counter()
    context = llvm.create_context()
    short = [has_short_loops([text], target) for text in task.texts]
    try:
        modules = [llvm.parse_assembly(text, context) for text in task.texts]
        for module in modules:
            module.verify()
        parsed = perf_counter()
        # Modules are complete, so that a few with loops to unroll can go through it before they meet the others.
        unrolled = sum(len(text) for text, each in zip(task.texts, short, strict=True) if each)
        apart = 0 < unrolled * _FEW < sum(map(len, task.texts))
        early = [module for module, each in zip(modules, short, strict=True) if each and apart]
        done = [_optimised(module, task, target, unroll=True) for module in early]
        linking = perf_counter()
        whole, *others = modules
        for other in others:
            whole.link_in(other)
        linked = perf_counter()
    except RuntimeError as error:
        raise LoweringError(f"LLVM rejects {task.name}: {' | '.join(str(error).split(chr(10))[:4])}") from error
    optimised = _optimised(whole, task, target, unroll=any(short) and not apart)
    begun = perf_counter()
    code = emit_object(optimised)
    seconds = {
        "initialise": optimised.seconds["initialise"],
        "parse": parsed - start + linked - linking,
        "optimise": linking - parsed + optimised.seconds["optimise"],
        "emit": perf_counter() - begun,
    }
    times = together([*(each.pass_times for each in done), optimised.pass_times])
    return CompiledUnit(target.name, task.opt_level, code, optimised.bitcode, seconds, times)


def _optimised(module: ModuleRef, task: Task, target: Target, *, unroll: bool) -> Optimised:
    return optimise(
        module, target, task.opt_level, record_passes=task.record_passes, without=task.without, unroll=unroll
    )


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

    def stop(self) -> None:
        """End it, whatever it does."""
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


@dataclass
class _Batch:
    """Tasks under way: a queue that everyone takes from, the dearest first."""

    tasks: Sequence[Task]
    waiting: deque[int]
    done: dict[int, Done] = field(default_factory=dict)
    failure: BaseException | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    told: Told = lambda _: None

    def take(self) -> int | None:
        with self.lock:
            return None if self.failure is not None or not self.waiting else self.waiting.popleft()

    def fail(self, error: BaseException) -> None:
        with self.lock:
            self.failure = self.failure or error


class Pool:
    """The workers of this process."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self._turn = threading.Lock()
        self._owner = os.getpid()

    def compile(self, tasks: Sequence[Task], jobs: int, told: Told = lambda _: None) -> list[Done]:
        """All tasks done, on as many processes as pay for themselves, at most `jobs`; the first failure is raised."""
        helpers = self.useful_helpers(tasks, jobs)
        if helpers == 0:
            return [_and_tell(run_task(task), task, told) for task in tasks]
        with self._turn:
            while len(self.workers) < helpers:
                self.workers.append(Worker(len(self.workers) + 1, self.workers))
            order = sorted(range(len(tasks)), key=lambda index: -tasks[index].cost)
            return self._together(_Batch(tasks, deque(order), told=told), helpers)

    def useful_helpers(self, tasks: Sequence[Task], jobs: int) -> int:
        """How many workers shorten the work by more than starting them costs."""
        if sys.platform == "win32":
            return 0
        start = FORK_SECONDS if _can_fork() else SPAWN_SECONDS
        return _helpers_for(sum(task.cost for task in tasks), min(jobs, len(tasks)), start, len(self.workers))

    def _together(self, batch: _Batch, helpers: int) -> list[Done]:
        threads = [
            threading.Thread(
                target=self._feed, args=(position, batch), daemon=True, name=f"kernelglass-llvm-{position}"
            )
            for position in range(helpers)
        ]
        for thread in threads:
            thread.start()
        try:
            while (index := batch.take()) is not None:
                batch.done[index] = _and_tell(run_task(batch.tasks[index]), batch.tasks[index], batch.told)
        except BaseException as error:
            batch.fail(error)
            if not isinstance(error, CompilerError):  # an interrupt: do not wait for what nobody wants any more
                for position in range(helpers):
                    self._replace(position)
        for thread in threads:
            thread.join()
        if batch.failure is not None:
            raise batch.failure
        return [batch.done[index] for index in range(len(batch.tasks))]

    def _feed(self, position: int, batch: _Batch) -> None:
        while (index := batch.take()) is not None:
            try:
                task = batch.tasks[index]
                batch.done[index] = _and_tell(self._attempt(position, batch, task), task, batch.told)
            except BaseException as error:
                batch.fail(error)

    def _attempt(self, position: int, batch: _Batch, task: Task) -> Done:
        for _ in range(_ATTEMPTS):
            try:
                return self.workers[position].ask(task)
            except WorkerDied:
                if batch.failure is not None:
                    break
                self._replace(position)
        raise LoweringError(f"LLVM's process died {_ATTEMPTS} times while compiling {task.name}")

    def _replace(self, position: int) -> None:
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


def compile_tasks(tasks: Sequence[Task], jobs: int, told: Told = lambda _: None) -> list[Done]:
    """Compile all tasks, in the order given, on at most `jobs` processes.

    `told` hears of each task that is done, in whichever thread that was.
    """
    there = _elsewhere.get()
    return _pool.compile(tasks, jobs, told) if there is None else there(tasks, told)


def useful_jobs(size: int, opt_level: int, jobs: int) -> int:
    """How many of `jobs` processes are worth having for so many bytes of LLVM IR. Those that were started before cost
    nothing; elsewhere it is as many as in a program that begins."""
    there = len(_pool.workers) if _elsewhere.get() is None else 0
    return 1 + _helpers_for(size * _SECONDS_PER_BYTE[opt_level], jobs, FORK_SECONDS, there)


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


Elsewhere = Callable[[Sequence[Task], Told], list[Done]]
"""Has tasks done on other machines."""
_elsewhere: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)


@contextmanager
def elsewhere(there: Elsewhere) -> Iterator[None]:
    """Have this thread's tasks done there, for the time of the block."""
    before = _elsewhere.set(there)
    try:
        yield
    finally:
        _elsewhere.reset(before)


def _and_tell(done: Done, task: Task, told: Told) -> Done:
    told(task)
    return done


def pool() -> Pool:
    """The workers of this process."""
    return _pool
