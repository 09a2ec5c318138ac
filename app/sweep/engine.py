"""A sweep's cells done: compilations beside each other, then runs one at a time, alone on the machine.

Each cell is in the store as soon as it is done, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.sweep.child import Answer, CompileTask
from app.sweep.keeping import keep_failed, mark_of
from app.sweep.spec import Cell, Spec
from compiler.options import CompileOptions
from compiler.processes.messages import Refusal, remade
from profiler.measure.machine import this_machine
from profiler.records import CompilationRecord
from profiler.store import Store, StoreError, writer
from profiler.store.under_way import cell_begins, cell_ends, none_under_way


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    total: int
    done: int = 0
    running: int = 0
    failed: int = 0

    def __str__(self) -> str:
        return f"{self.done} of {self.total} done, {self.running} running, {self.failed} failed"

    @property
    def share(self) -> float:
        """The share of all that is over, well or not."""
        return (self.done + self.failed) / max(self.total, 1)


Tell = Callable[[Progress], None]


class Workers(Protocol):
    """Whoever compiles cells: processes of this machine, or a cluster."""

    def compiled(self, tasks: Sequence[CompileTask]) -> Generator[tuple[int, Answer]]:
        """The number of each task with None as it begins, and with what came of it."""
        ...

    def close(self) -> None:
        """Nothing more is to be compiled; once it returns, nothing is left of them."""
        ...


def run_cells(store: Store, spec: Spec, cells: Sequence[Cell], workers: Workers, tell: Tell) -> None:
    """Do some cells of a sweep and keep what comes of each; a cell that fails is kept with its reason."""
    # What takes LLVM longest first, so that no process is left with it in the end.
    compiles = sorted((cell for cell in cells if not cell.device), key=lambda cell: -cell.opt_level)
    try:
        progress = _compile_all(store, spec, compiles, workers, tell, Progress(len(cells)))
        for cell in cells:
            if cell.device:
                from app.sweep.timed import time_cell  # not for cells that are only compiled

                workers.close()  # nothing of ours is beside what is timed
                _note(cell_begins, store, spec.name, spec.key(cell))
                tell(replace(progress, running=1))
                good = time_cell(store, spec, cell)
                progress = replace(progress, done=progress.done + good, failed=progress.failed + (not good))
                _note(cell_ends, store, spec.name, spec.key(cell))
                tell(progress)
    finally:
        _note(none_under_way, store)


def _note(what: Callable[..., None], *about: Any) -> None:
    """Tell other programs, by the database, what is under way; one that does not take it now is no reason to stop."""
    with suppress(StoreError):
        what(*about)


def _compile_all(
    store: Store, spec: Spec, cells: Sequence[Cell], workers: Workers, tell: Tell, progress: Progress
) -> Progress:
    tasks = [compile_task(spec, cell) for cell in cells]
    with closing(workers.compiled(tasks)) as told:
        for number, answer in told:
            if answer is None:
                _note(cell_begins, store, spec.name, spec.key(cells[number]))
                this_machine()  # asked for once: now, while processes load, and not beside those that compile
                progress = replace(progress, running=progress.running + 1)
            else:
                with store.transaction():
                    good = _keep_compiled(store, spec, cells[number], answer)
                    cell_ends(store, spec.name, spec.key(cells[number]))
                progress = replace(
                    progress, running=max(progress.running - 1, 0), done=progress.done + good,
                    failed=progress.failed + (not good),
                )  # fmt: skip
            tell(progress)
    return progress


def compile_task(spec: Spec, cell: Cell) -> CompileTask:
    """What a process is asked: one job, so that processes beside each other share nothing."""
    options = CompileOptions(cell.target, cell.flow, cell.opt_level, jobs=1, cache=spec.cache)
    return CompileTask(cell.source, options, cell.library)


def _keep_compiled(store: Store, spec: Spec, cell: Cell, answer: CompilationRecord | Refusal) -> bool:
    """A compilation, or a failed run that says why there is none, in one transaction; whether it went well."""
    if isinstance(answer, Refusal):
        keep_failed(store, spec, cell, remade(answer))
        return False
    marked = replace(answer, stats={**answer.stats, "sweep": mark_of(spec, cell)})
    writer.add_compilation(store, marked, this_machine())
    return True
