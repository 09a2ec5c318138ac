"""Processes of this machine that compile cells beside each other, each cell with one job.

They are born of one process that has the compiler loaded. One that dies is replaced, and its cell is compiled again.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.sweep.child import ANSWERS, Answer, CompileTask
from app.sweep.order import Order
from compiler.processes.frames import Unreadable
from compiler.processes.messages import Refusal
from compiler.processes.nursery import Born, Nursery
from compiler.processes.supervisor import Child, status_name
from compiler.temporary import temporary_folder
from profiler.records import CompilationRecord

_NURSED = "app.sweep.child"
"""The module that its processes run."""
_KILLED, _CRASHED = 20, 2
"""How often a cell is tried whose process was killed from outside, and one whose process ended by itself."""


@dataclass
class _Member:
    """One process, and the file that has what it wrote as it died."""

    process: Child | Born
    errors: Path

    def end(self) -> tuple[int, str]:
        """End it; its status and its last words."""
        status = self.process.end(patience=1.0)
        text = self.errors.read_text(errors="replace") if self.errors.exists() else ""
        return status, " ".join(text.strip().rpartition("\n")[2].split())[:300]


@dataclass
class LocalProcesses:
    """So many processes, started as the pool is made, so that they are ready when the first cell comes."""

    count: int
    folder: Path
    nursery: Nursery
    _members: dict[int, _Member] = field(default_factory=dict)
    _made: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _feeders: list[threading.Thread] = field(default_factory=list)
    _fed: int = 0

    def __post_init__(self) -> None:
        for number in range(self.count):
            self._start(number)

    def _start(self, number: int) -> _Member:
        with self._lock:
            self._made += 1
            errors = self.folder / f"{self._made}.errors"
        found = self._members[number] = _Member(self.nursery.child(ANSWERS, errors), errors)
        return found

    def close(self) -> None:
        """End all of them, whatever they do, and wait until they are gone."""
        for feeder in self._feeders:
            feeder.join()
        self._feeders = []
        members = list(self._members.values())
        for member in members:  # all of them first: to leave its memory takes each a while
            member.process.kill()
        for member in members:
            member.process.end()
        self._members.clear()
        self.nursery.close()

    def compiled(self, tasks: Sequence[CompileTask]) -> Generator[tuple[int, Answer]]:
        """The number of each task with None as it begins, and with what came of it."""
        waiting = Order(tasks, self.count)
        told: queue.SimpleQueue[tuple[int, Answer | BaseException]] = queue.SimpleQueue()
        stop = threading.Event()
        feeders = self._feeders = [
            threading.Thread(target=self._feed, args=(number, tasks, waiting, told, stop), daemon=True)
            for number in range(min(self.count, len(tasks)))
        ]
        self._fed = len(feeders)
        for feeder in feeders:
            feeder.start()
        left = len(tasks)
        try:
            while left:
                number, answer = told.get()
                if isinstance(answer, BaseException):
                    raise answer
                left -= answer is not None
                yield number, answer
        finally:
            stop.set()
            waiting.clear()
            if left:  # an interrupt does not wait for what nobody wants any more
                for member in list(self._members.values()):
                    member.process.kill()
                for feeder in feeders:
                    feeder.join()

    def _feed(
        self, position: int, tasks: Sequence[CompileTask], waiting: Order,
        told: queue.SimpleQueue[tuple[int, Answer | BaseException]], stop: threading.Event,
    ) -> None:  # fmt: skip
        """What one process is given; it ends as soon as nothing is left for it, while others still work."""
        number, had = -1, set[str]()
        news: list[tuple[int, Answer]] = []

        def tell() -> None:
            """Only once the process has its next task: it is not to wait while we keep what came of the last."""
            while news:
                told.put(news.pop(0))

        try:
            while not stop.is_set() and (found := waiting.take(had)) is not None:
                number = found
                had.add(tasks[number].options.target)
                news.append((number, None))
                if (answer := self._answer(position, tasks[number], stop, tell)) is not None:
                    if isinstance(answer, CompilationRecord):
                        waiting.learn(number, answer.seconds)
                    news.append((number, answer))
            tell()
            self._leave(position)
        except BaseException as error:
            tell()
            told.put((number, error))

    def _leave(self, position: int) -> None:
        """End a process that is given nothing more, and after the last one what they were born of."""
        if (member := self._members.pop(position, None)) is not None:
            member.process.end()
        with self._lock:
            self._fed -= 1
            last = not self._fed and not self._members
        if last:
            self.nursery.close()

    def _answer(self, position: int, task: CompileTask, stop: threading.Event, sent: Callable[[], None]) -> Answer:
        """What a task came to, tried again where its process died; None where nobody wants it any more."""
        tries = 0
        while not stop.is_set():
            member = self._members.get(position) or self._start(position)
            tries += 1
            try:
                member.process.channel.send(task)
                sent()
                return member.process.channel.receive().value
            except (EOFError, OSError, Unreadable):
                sent()
                self._members.pop(position, None)
                status, words = member.end()
                if tries >= (_KILLED if status == -signal.SIGKILL else _CRASHED):
                    said = f"its process ended ({status_name(status)}): {words}"
                    return Refusal("ExecutionError", said.removesuffix(": "))
        return None


@contextmanager
def local_processes(count: int, nursery: Nursery | None = None) -> Iterator[LocalProcesses]:
    """A pool for the time of the block, born of a nursery that may have begun to load before."""
    with temporary_folder("sweep") as folder:
        pool = LocalProcesses(count, Path(folder), nursery or Nursery(_NURSED))
        try:
            yield pool
        finally:
            pool.close()
