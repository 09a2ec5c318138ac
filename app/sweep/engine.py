"""A sweep's cells done: compilations in processes beside each other, then runs one at a time, alone on the machine.

Each cell is in the store as soon as it is done, in one transaction. A process that dies is replaced, and its cell is
compiled again.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.compilation import cuda_device, device_index
from app.inputs import graph_sizes, random_inputs
from app.sources import load_source
from app.sweep.child import ANSWERS, CompileTask
from app.sweep.spec import Cell, Spec
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.processes.frames import Unreadable
from compiler.processes.messages import Refusal, remade
from compiler.processes.supervisor import Child, status_name
from profiler.measure.machine import machine_with, this_machine
from profiler.measure.measuring import measure
from profiler.measure.outcome import with_conditions
from profiler.recording import ending_words, keep_outcome
from profiler.records import FAILED, FINISHED, INTERRUPTED, CompilationRecord, MeasuredRun, MeasureRequest
from profiler.store import Store, writer
from profiler.store.sweeps import mark

_KILLED, _CRASHED = 20, 2
"""How often a cell is tried whose process was killed from outside, and one whose process ended by itself."""


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


def run_cells(store: Store, spec: Spec, cells: Sequence[Cell], workers: int, tell: Tell) -> None:
    """Do some cells of a sweep and keep what comes of each; a cell that fails is kept with its reason."""
    # What takes LLVM longest first, so that no process is left with it in the end.
    compiles = sorted((cell for cell in cells if not cell.device), key=lambda cell: -cell.opt_level)
    progress = _compile_all(store, spec, compiles, workers, tell, Progress(len(cells)))
    for cell in cells:
        if cell.device:
            tell(replace(progress, running=1))
            good = _time(store, spec, cell)
            progress = replace(progress, done=progress.done + good, failed=progress.failed + (not good))
            tell(progress)


Answer = CompilationRecord | Refusal | BaseException | None
"""What a cell came to; None as it begins."""


def _compile_all(
    store: Store, spec: Spec, cells: Sequence[Cell], workers: int, tell: Tell, progress: Progress
) -> Progress:
    waiting, told, stop = deque(cells), queue.SimpleQueue[tuple[Cell, Answer]](), threading.Event()
    under_way: dict[int, Child] = {}
    shared = (spec, waiting, told, stop, under_way)
    feeders = [
        threading.Thread(target=_feed, args=shared, daemon=True, name=f"kernelglass-sweep-{number}")
        for number in range(min(workers, len(cells)))
    ]  # fmt: skip
    for feeder in feeders:
        feeder.start()
    left = len(cells)
    try:
        while left:
            cell, answer = told.get()
            if answer is None:
                progress = replace(progress, running=progress.running + 1)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                left -= 1
                good = _keep_compiled(store, spec, cell, answer)
                progress = replace(
                    progress, running=progress.running - 1, done=progress.done + good,
                    failed=progress.failed + (not good),
                )  # fmt: skip
            tell(progress)
    finally:
        stop.set()
        waiting.clear()
        for child in list(under_way.values()):  # an interrupt does not wait for what nobody wants any more
            child.kill()
        for feeder in feeders:
            feeder.join()
    return progress


def _feed(
    spec: Spec, waiting: deque[Cell], told: queue.SimpleQueue[tuple[Cell, Answer]], stop: threading.Event,
    under_way: dict[int, Child],
) -> None:  # fmt: skip
    """One process and what it is given."""
    child: Child | None = None
    cell = Cell("")
    try:
        while waiting and not stop.is_set():
            try:
                cell = waiting.popleft()
            except IndexError:  # another took it
                return
            told.put((cell, None))
            answer: CompilationRecord | Refusal | None = None
            tries = 0
            while answer is None and not stop.is_set():
                child = child or Child("app.sweep.child", ANSWERS, session=True, keep_errors=True)
                under_way[threading.get_ident()] = child
                tries += 1
                try:
                    child.channel.send(compile_task(spec, cell))
                    answer = child.channel.receive().value
                except (EOFError, OSError, Unreadable):
                    status = child.end(patience=1.0)
                    if tries >= (_KILLED if status == -signal.SIGKILL else _CRASHED):
                        words = f"its process ended ({status_name(status)}): {child.last_words}"
                        answer = Refusal("ExecutionError", words.removesuffix(": "))
                    child = None
            if answer is not None:
                told.put((cell, answer))
    except BaseException as error:
        told.put((cell, error))
    finally:
        if child is not None:
            child.end()


def compile_task(spec: Spec, cell: Cell) -> CompileTask:
    """What a process is asked: one job, so that processes beside each other share nothing."""
    options = CompileOptions(cell.target, cell.flow, cell.opt_level, jobs=1, cache=spec.cache)
    return CompileTask(cell.source, options, cell.library)


def _keep_compiled(store: Store, spec: Spec, cell: Cell, answer: CompilationRecord | Refusal) -> bool:
    """A compilation, or a failed run that says why there is none, in one transaction; whether it went well."""
    if isinstance(answer, Refusal):
        _keep_failed(store, spec, cell, remade(answer))
        return False
    marked = replace(answer, stats={**answer.stats, "sweep": mark(spec.name, spec.key(cell))})
    writer.add_compilation(store, marked, this_machine())
    return True


def _keep_failed(store: Store, spec: Spec, cell: Cell, error: CompilerError) -> None:
    result = MeasuredRun(FAILED, error=" ".join(str(error).split()), conditions={"sweep": _mark(spec, cell)})
    with store.transaction():
        run = writer.begin_run(store, _request(spec, cell, cell.dims, cell.target), this_machine())
        writer.finish_run(store, run, result)
        writer.tag_runs(store, [run], spec.name)


def _mark(spec: Spec, cell: Cell) -> dict[str, str]:
    return mark(spec.name, spec.key(cell))


def _time(store: Store, spec: Spec, cell: Cell) -> bool:
    """Measure a cell and keep it; whether it came to a good end."""
    try:
        source = load_source(cell.source)
        sizes = graph_sizes(source.graph, source.dims, cell.dims, "in dims, as")
        inputs = random_inputs(source.graph, sizes, 0)
        machine = machine_with(cell.device)
        request = _request(spec, cell, sizes, _target(cell.device))
        folders = (*map(str, source.library_paths), *request.libraries)
        request = replace(request, artifact=source.artifact, libraries=folders)
    except CompilerError as error:
        _keep_failed(store, spec, cell, error)
        return False
    run = writer.begin_run(store, request, machine)
    try:
        outcome = with_conditions(measure(request, source.graph, inputs), sweep=_mark(spec, cell))
    except BaseException as error:
        writer.finish_run(store, run, MeasuredRun(INTERRUPTED, error=ending_words(error)))
        raise
    if outcome.error is not None:
        words = outcome.result.error or str(outcome.error)
        outcome = replace(outcome, result=replace(outcome.result, status=FAILED, error=words))
    with store.transaction():
        keep_outcome(store, run, outcome, machine)
        writer.tag_runs(store, [run], spec.name)
    return outcome.result.status == FINISHED


def _request(spec: Spec, cell: Cell, dims: Mapping[str, int], target: str) -> MeasureRequest:
    return MeasureRequest(
        cell.source, cell.device or "cpu", dims=dims, repeat=spec.repeat, budget=spec.budget, processes=spec.processes,
        options=CompileOptions(target, cell.flow, cell.opt_level), libraries=(cell.library,) if cell.library else (),
    )  # fmt: skip


def _target(device: str) -> str:
    """The target to compile for, for a device of this machine."""
    from compiler.targets.nvptx import best_target

    index = device_index(device)
    return "cpu" if index is None else best_target(cuda_device(index).target)
