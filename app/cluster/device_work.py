"""What a worker does for a run on its device: keep what it is sent, measure in child processes, tell how far it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from app.cluster.errands import unwanted_task
from app.cluster.holding import held_blob
from app.cluster.kernel_folders import KernelFolder, written
from app.cluster.turns import alone_here
from compiler.artifact.model_file import read_model
from compiler.errors import CompilerError
from compiler.processes.frames import named, opened, parcel
from compiler.processes.messages import Refusal, refusal
from compiler.temporary import temporary_folder
from profiler.records import Ceiling, Machine, MeasuredRun, MeasureRequest

if TYPE_CHECKING:
    from profiler.measure.cpu.timing import Turn

_DASKS = ("MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED")
"""Variables that Dask sets for its workers. A child that is timed finds what one of this machine's own finds."""


_PAUSE = 2.0  # seconds between two words of progress
_LOOK = 0.2  # seconds between two looks at whether anybody still wants it


@dataclass(frozen=True, eq=False)
class RemoteMeasure:
    """A run of a compiled model: the file and the inputs by the digests under which they were sent.

    `brief` asks for times only, of one process; `turns` for a block of calls only when told so (`answer_here`).
    """

    request: MeasureRequest
    model: str
    inputs: str
    outputs: bool
    brief: bool
    folders: tuple[KernelFolder, ...] = ()
    turns: bool = False


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arrays of a run."""

    arrays: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class RemoteOutcome:
    """What came of a run there."""

    result: MeasuredRun
    outputs: tuple[np.ndarray, ...] = ()
    output_types: tuple[tuple[str, tuple[int, ...]], ...] = ()
    error: Refusal | None = None


@dataclass(frozen=True)
class Ceilings:
    """What a device can do."""

    found: tuple[Ceiling, ...]


KNOWN = named(RemoteMeasure, Inputs)
ANSWERS = named(RemoteOutcome, Machine, Ceilings, Refusal)


def machine_here(device: str) -> bytes:
    """The machine as a run on the device sees it."""
    from profiler.measure.machine import machine_with

    try:
        return parcel(machine_with(device))
    except CompilerError as error:
        return parcel(refusal(error))


def ceilings_here(device: str, threads: int | None) -> bytes:
    """What the device was measured to be able to, now."""
    from profiler.measure.ceilings.measured import measured_ceilings

    as_if_alone()
    try:
        with alone_here(unwanted_task()):
            return parcel(Ceilings(tuple(measured_ceilings(None, device=device, threads=threads))))
    except CompilerError as error:
        return parcel(refusal(error))


def measure_here(asked: bytes, topic: str) -> bytes:
    """Done on a worker: a parcel of a `RemoteMeasure` in, one of a `RemoteOutcome` out. Its progress is an event."""
    from distributed import get_worker

    from profiler.measure.measuring import measure, measure_once

    as_if_alone()
    task: RemoteMeasure = opened(asked, KNOWN)
    worker, unwanted = get_worker(), unwanted_task()
    with temporary_folder("remote") as folder:
        path = Path(folder, "model.kgx")
        try:
            path.write_bytes(held_blob(task.model))
            arrays: Inputs = opened(held_blob(task.inputs), KNOWN)
            request = replace(task.request, artifact=str(path), libraries=tuple(written(task.folders)))
            graph = read_model(path).graph
            made = partial(measure_once, brief=True) if task.brief else measure
            if task.turns:
                made = partial(measure_once, brief=task.brief, turn=_turns_of(topic, worker.log_event, unwanted))
            with alone_here(unwanted):
                outcome = made(
                    request, graph, arrays.arrays, outputs=task.outputs, cancelled=unwanted,
                    progress=_seldom(lambda words: worker.log_event(topic, words)),
                )  # fmt: skip
        except CompilerError as error:
            return parcel(RemoteOutcome(MeasuredRun("failed", error=str(error)), error=refusal(error)))
        finally:
            _answers.pop(topic, None)
    error = None if outcome.error is None else refusal(outcome.error)
    return parcel(RemoteOutcome(outcome.result, outcome.outputs, outcome.output_types, error))


_answers: dict[str, SimpleQueue[bool]] = {}
"""What was answered to who waits for a turn in this process, by the topic of its events."""


def answer_here(topic: str, more: bool) -> None:
    """Whether there is one more block to time, and it may begin."""
    if topic in _answers:
        _answers[topic].put(more)


def _turns_of(topic: str, tell: Callable[[str, object], object], unwanted: Callable[[], bool]) -> Turn:
    """The turns of a run here, as whoever asked for it hands them out: an event asks, `answer_here` answers."""
    _answers[topic] = answers = SimpleQueue()

    def turn(clean: int) -> bool:
        tell(topic, clean)
        while not unwanted():
            try:
                return answers.get(timeout=_LOOK)
            except Empty:
                pass
        return False

    return turn


def _seldom(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Tells at most once in a while: a message that three processes handle disturbs what is timed beside them."""
    last = [-_PAUSE]

    def told(words: str) -> None:
        if monotonic() - last[0] >= _PAUSE:
            last[0] = monotonic()
            tell(words)

    return told


def as_if_alone() -> None:
    """Before something is timed: the environment of a process that no Dask started."""
    for name in _DASKS:
        os.environ.pop(name, None)
