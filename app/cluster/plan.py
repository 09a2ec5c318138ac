"""What more workers would bring: a farm simulated, event by event, from what one compilation was observed to take.

The one who compiles does its own part, hands LLVM's tasks to the scheduler, the dearest first, and goes on when all are
back. Of a farm the model knows: the workers, the time that a message takes and the bytes that a line carries, what the
scheduler does for each task, and how many cores there are for all of it where they share a machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from app.cluster.farm import GRAIN
from compiler.backend.tasks import Done, Task, run_task
from compiler.backend.workers import Told, elsewhere
from compiler.graph.graph import Graph
from compiler.language.library import Library
from compiler.options import CompileOptions

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class TaskTrace:
    """A task as it was observed: LLVM's seconds, and the bytes of what goes there and of what comes back."""

    seconds: float
    sent: int
    returned: int


@dataclass(frozen=True)
class Observed:
    """A cold compilation in one process: what comes before LLVM's tasks and after them, and the tasks."""

    before: float
    after: float
    tasks: tuple[TaskTrace, ...]

    @property
    def llvm(self) -> float:
        """Seconds of all tasks together."""
        return sum(task.seconds for task in self.tasks)

    @property
    def longest(self) -> float:
        """Seconds of the dearest."""
        return max((task.seconds for task in self.tasks), default=0.0)


@dataclass(frozen=True)
class Farm:
    """A farm: `latency` seconds for a message, `bandwidth` in bytes a second, `cores` for all of it (None: each worker
    has one of its own), and the seconds that the scheduler takes to hand a task out and to take it back."""

    workers: int
    latency: float = 0.0005
    bandwidth: float = 1e9 / 8
    cores: int | None = None
    hand_out: float = 0.0013
    take_back: float = 0.0013
    start: float = 0.001
    """What a worker does around a task."""


@dataclass(frozen=True)
class Prediction:
    """What a farm would take, and what of it is not the workers' work."""

    workers: int
    seconds: float
    busy: float
    """The share of the workers' time, while tasks are out, that they work."""
    scheduler: float
    """The share of that time that the scheduler is at work."""


def observed(graph: Graph, options: CompileOptions, library: Library | None = None) -> Observed:
    """Compile once, in this process and without a cache, and note what each part takes."""
    from dataclasses import replace

    from compiler.pipeline import compile_graph

    moments: list[float] = []
    traces: list[TaskTrace] = []

    def here(tasks: Sequence[Task], told: Told) -> list[Done]:
        moments.append(perf_counter())
        done = []
        for task in tasks:
            done.append(run_task(task))
            told(task)
            sent, returned = sum(map(len, task.texts)), len(done[-1].unit.object)
            traces.append(TaskTrace(done[-1].seconds, sent, returned))
        moments.append(perf_counter())
        return done

    begun = perf_counter()
    with elsewhere(here):
        compile_graph(graph, replace(options, jobs=GRAIN, cache=False), library)
    ended = perf_counter()
    first, last = moments or (ended, ended)
    return Observed(first - begun, ended - last, tuple(traces))


@dataclass
class _Job:
    """Something that takes processor time: the scheduler's for a task, or a worker's."""

    left: float
    task: int
    kind: str
    worker: int = -1


@dataclass
class _Simulation:
    """The state between two events."""

    farm: Farm
    tasks: Sequence[TaskTrace]
    now: float = 0.0
    running: list[_Job] = field(default_factory=list)
    scheduler: deque[_Job] = field(default_factory=deque)
    """What the scheduler has to do; it does one thing at a time."""
    travelling: list[tuple[float, _Job]] = field(default_factory=list)
    worked: float = 0.0
    scheduled: float = 0.0

    def run(self) -> float:
        """Seconds until all tasks are back."""
        order = sorted(range(len(self.tasks)), key=lambda number: -self.tasks[number].seconds)
        waiting, free, left = deque(order), deque(range(self.farm.workers)), len(order)
        while left:
            while waiting and free:
                self._ask(_Job(self.farm.hand_out, waiting.popleft(), "hand out", free.popleft()))
            job = self._next()
            task = self.tasks[job.task]
            if job.kind == "hand out":
                self._travel(task.sent, _Job(task.seconds + self.farm.start, job.task, "work", job.worker))
            elif job.kind == "work":
                self._travel(task.returned, _Job(self.farm.take_back, job.task, "take back", job.worker))
            else:
                left -= 1
                free.append(job.worker)
        return self.now

    def _ask(self, job: _Job) -> None:
        """Give the scheduler something to do."""
        self.scheduler.append(job)
        if len(self.scheduler) == 1:
            self.running.append(job)

    def _travel(self, size: int, job: _Job) -> None:
        self.travelling.append((self.now + self.farm.latency + size / self.farm.bandwidth, job))

    def _next(self) -> _Job:
        """Go on to the next moment at which something has ended, and tell what; messages arrive meanwhile."""
        while True:
            rate = min(1.0, (self.farm.cores or len(self.running) or 1) / max(len(self.running), 1))
            ends = min((job.left / rate for job in self.running), default=float("inf"))
            arrives = min((moment for moment, _ in self.travelling), default=float("inf")) - self.now
            step = min(ends, arrives)
            for job in self.running:
                job.left -= step * rate
                if job.kind == "work":
                    self.worked += step * rate
                else:
                    self.scheduled += step * rate
            self.now += step
            if arrives <= ends:
                at = min(range(len(self.travelling)), key=lambda number: self.travelling[number][0])
                _, job = self.travelling.pop(at)
                if job.kind == "work":
                    self.running.append(job)
                else:
                    self._ask(job)
                continue
            job = min(self.running, key=lambda found: found.left)
            self.running.remove(job)
            if job.kind != "work":
                self.scheduler.popleft()
                if self.scheduler:
                    self.running.append(self.scheduler[0])
            return job


def predicted(work: Observed, farm: Farm) -> Prediction:
    """What a compilation that was observed here would take on a farm."""
    simulation = _Simulation(farm, work.tasks)
    out = simulation.run()
    busy = simulation.worked / (out * farm.workers) if out else 0.0
    scheduler = simulation.scheduled / out if out else 0.0
    return Prediction(farm.workers, work.before + out + work.after, busy, scheduler)


def limit_words(work: Observed, farm: Farm) -> list[str]:
    """What no number of workers shortens, in words."""
    own = work.before + work.after
    total = own + work.llvm
    each = farm.hand_out + farm.take_back
    words = [
        f"{own / total:.0%} of one process's time is not LLVM's, and stays: at most {total / own:.1f} times as fast",
        f"the longest task takes {work.longest:.2f} s of {work.llvm:.1f} s in {len(work.tasks):,} tasks",
    ]
    if work.tasks:
        mean = work.llvm / len(work.tasks)
        words.append(
            f"a scheduler that spends {1e3 * each:.1f} ms on a task keeps {max(round(mean / each), 1)} workers busy "
            f"with tasks of {1e3 * mean:.0f} ms"
        )
    return words


def plan_document(work: Observed, found: Sequence[Prediction], measured: dict[int, float]) -> dict[str, Any]:
    """All of it as plain data."""
    alone = work.before + work.llvm + work.after
    return {
        "before": work.before, "after": work.after, "llvm": work.llvm, "longest": work.longest,
        "tasks": len(work.tasks),
        "farms": [
            {
                "workers": each.workers, "seconds": each.seconds, "times_as_fast": alone / each.seconds,
                "busy": each.busy, "scheduler": each.scheduler, "measured": measured.get(each.workers),
            }
            for each in found
        ],
    }  # fmt: skip
