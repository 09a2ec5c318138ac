"""Kernel modules to LLVM IR, and LLVM IR to objects, with a record for each unit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from compiler.backend.guarded import compile_guarded, is_uncertain
from compiler.backend.split import Split, Unit, whole_unit
from compiler.backend.workers import Done, Task, compile_tasks
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


def compile_units(
    groups: Sequence[Sequence[Unit]], target: Target, opt_level: int, jobs: int, trace: Trace,
    without: Collection[str] = (),
) -> list[bytes]:  # fmt: skip
    """The object of each group of units, optimised and emitted together."""
    if not groups:
        return []
    tasks = [
        Task(", ".join(unit.name for unit in group), tuple(unit.text for unit in group), target.name, opt_level,
             record_passes=trace.sink is None,  # a sink has LLVM's passes run once more, and watches those
             without=tuple(sorted(without)))
        for group in groups
    ]  # fmt: skip
    trace.tell("machine", "llvm", tasks[0].name if len(tasks) == 1 else f"{sum(map(len, groups))} units")
    guarded = {number: compile_guarded(task) for number, task in enumerate(tasks) if is_uncertain(task)}
    rest = [task for number, task in enumerate(tasks) if number not in guarded]
    others = iter(compile_tasks(rest, jobs, _teller(rest, trace)))
    done = [guarded[number] if number in guarded else next(others) for number in range(len(tasks))]
    for group, result in zip(groups, done, strict=True):
        _note(group, result, trace)
    return [result.unit.object for result in done]


def _teller(tasks: Sequence[Task], trace: Trace) -> Callable[[Task], None]:
    """Tells whoever watches which share of the work is done, as tasks end, in whichever thread."""
    lock, total, done = threading.Lock(), sum(task.cost for task in tasks) or 1.0, [0.0]

    def told(task: Task) -> None:
        with lock:
            done[0] += task.cost
            trace.tell("compiled", f"{done[0] / total:.4f}", task.name)

    return told if trace.watch is not None else lambda _: None


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
