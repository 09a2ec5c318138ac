"""What LLVM has to do, as a record that any process can do it from, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
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
from compiler.errors import LoweringError
from compiler.targets import get_target
from compiler.targets.target import Target

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

# LLVM's seconds for a byte of our IR at each level, on a slow core: only ratios to the costs below matter.
SECONDS_PER_BYTE = (0.8e-6, 1.5e-6, 2.2e-6, 2.4e-6)
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
        return sum(map(len, self.texts)) * SECONDS_PER_BYTE[self.opt_level]


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
