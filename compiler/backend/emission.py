"""Kernel modules to LLVM IR, and LLVM IR to objects, with a record for each unit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

from compiler.backend.guarded import compile_guarded, is_uncertain
from compiler.backend.runtime import default_threads
from compiler.backend.split import Split, Unit, whole_unit
from compiler.backend.tasks import Done, Task
from compiler.backend.workers import begin, useful_jobs
from compiler.language.kernel import ElaboratedKernel
from compiler.options import LLVM_PASS
from compiler.passes.kernel.elaboration import KernelModule
from compiler.targets.target import Target
from compiler.trace import PassRecord, Span, Trace


@dataclass(frozen=True)
class Lowered:
    """A kernel ready for LLVM."""

    record: ElaboratedKernel
    unit: Unit


def emit_kernels(module: KernelModule, target: Target, debug: str, trace: Trace, *, split: bool) -> dict[str, Lowered]:
    """LLVM IR of each kernel. With `split`, what kernels share is printed once, before them, as units of their own."""
    owner = module.owner
    if split:
        with trace.span("split", "llvm", owner):
            parts = Split(module.module, target, debug)
        for name in parts.shared:
            _timed(name, trace, lambda name=name: parts.shared_unit(name))
        units = {name: _timed(name, trace, lambda name=name: parts.unit(name)) for name in parts.kernels}
    else:
        units = {owner: _timed(owner, trace, lambda: whole_unit(owner, module.module, target, debug))}
    return {record.name: Lowered(record, units[record.name]) for record in module.kernels}


def units_of(kernels: Iterable[Lowered]) -> list[Unit]:
    """The units of some kernels and of all they share, each once, what is called before what calls it."""
    return list({name: unit for kernel in kernels for name, unit in kernel.unit.closure.items()}.values())


def _timed(name: str, trace: Trace, emit: Callable[[], Unit]) -> Unit:
    """A unit, recorded under the name that it has from now on."""
    trace.tell("llvm", "emit-llvm", name)
    start = perf_counter()
    unit = emit()
    seconds = perf_counter() - start
    instructions = unit.text.count("\n  ")  # nothing else is indented
    span = Span(unit.operations, instructions, len(unit.text))
    trace.add("emit-llvm", "llvm", unit.name, start, seconds, span)
    return unit


class UnitWork:
    """LLVM's work on units, which begins with those that are there while others are still made; a block around it."""

    def __init__(
        self, bundled: Callable[[Sequence[Unit], int], Sequence[tuple[Unit, ...]]], target: Target, opt_level: int,
        jobs: int | None, trace: Trace, without: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.groups: list[tuple[Unit, ...]] = []
        """The units of each object, as `bundled` puts them together for a number of jobs."""
        self._bundled = bundled
        self._target = target
        self._opt_level = opt_level
        self._asked = jobs
        self._jobs = jobs or default_threads()
        self._trace = trace
        self._without = tuple(sorted(without))
        self._guarded: dict[int, Task] = {}
        self._cost = self._done = self._expected = 0.0
        self._telling = threading.Lock()
        self._work = begin(self._jobs, self._tell)

    def add(self, units: Sequence[Unit], more: float = 0.0) -> None:
        """Units to compile; `more` times as much as so far, roughly, is still to come."""
        size = round(sum(len(unit.text) for unit in units) * (1.0 + more))
        jobs = self._asked or useful_jobs(size, self._opt_level, self._jobs)
        jobs = max(jobs - 1, 1) if more else jobs  # this process is busy with the rest
        tasks: list[Task] = []
        for group in self._bundled(units, jobs):
            name, texts = ", ".join(unit.name for unit in group), tuple(unit.text for unit in group)
            # A sink has LLVM's passes run once more, and watches those.
            recorded = self._trace.sink is None
            task = Task(name, texts, self._target.name, self._opt_level, recorded, self._without)
            if is_uncertain(task):
                self._guarded[len(self.groups)] = task
            else:
                tasks.append(task)
            self.groups.append(group)
        self._cost += sum(task.cost for task in tasks)
        self._expected = self._cost * (1.0 + more) or 1.0
        self._work.add(tasks, self._cost * more)

    def finish(self) -> list[bytes]:
        """The object of each group of units, optimised and emitted together."""
        if not self.groups:
            return []
        first, *others = self.groups
        count = sum(map(len, self.groups))
        self._trace.tell("machine", "llvm", f"{count} units" if others else ", ".join(unit.name for unit in first))
        guarded = {number: compile_guarded(task) for number, task in self._guarded.items()}
        plain = iter(self._work.finish())
        done = [guarded[number] if number in guarded else next(plain) for number in range(len(self.groups))]
        for group, result in zip(self.groups, done, strict=True):
            _note(group, result, self._trace)
        return [result.unit.object for result in done]

    def __enter__(self) -> Self:
        self._work.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._work.__exit__(*error)

    def _tell(self, task: Task) -> None:
        """Tells whoever watches which share of the work is done, as tasks end, in whichever thread."""
        if self._trace.watch is None:
            return
        with self._telling:
            self._done += task.cost
            self._trace.tell("compiled", f"{min(self._done / self._expected, 1.0):.4f}", task.name)


def _note(group: Sequence[Unit], done: Done, trace: Trace) -> None:
    """A record for each unit, with its part of the bundle's time by its size; and one for each of LLVM's passes.

    Both are known by their length only, so they are laid end to end.
    """
    start = begun = done.start - trace.begun
    total = sum(len(unit.text) for unit in group)
    size = len(done.unit.object)
    for unit in group:
        share = len(unit.text) / total
        part = (share * done.seconds, -1, -1, round(share * size))
        trace.passes.append(PassRecord("llvm", "machine", unit.name, start, *part, worker=done.worker))
        start += share * done.seconds
    owner, start = group[0].name if len(group) == 1 else "", begun
    for timed in done.unit.pass_times:
        if timed.seconds:
            trace.passes.append(
                PassRecord(timed.name, LLVM_PASS, owner, start, timed.seconds, -1, -1, -1, worker=done.worker)
            )
            start += timed.seconds
