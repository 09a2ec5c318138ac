"""A compile farm: the LLVM tasks of one compilation done by a cluster's workers, bit for bit as they are done here.

A task travels with its target's triple, processor and features; the answer is the object, which the compilation puts
into the cache of this machine like one that was made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from app.cluster.fingerprint import release, this_worker
from app.cluster.jobs import answers
from app.cluster.joining import Cluster, Worker
from app.cluster.turns import beside_others
from compiler.backend.tasks import Done, Task, run_task
from compiler.backend.workers import Told, elsewhere
from compiler.errors import CompilerError, LoweringError
from compiler.processes.frames import named, opened, parcel
from compiler.processes.messages import Refusal, refusal, remade
from compiler.targets import get_target


@dataclass(frozen=True)
class FarmTask:
    """A task, for workers of one release."""

    task: Task
    release: str


@dataclass(frozen=True)
class Made:
    """What came of it, and the address of the worker."""

    done: Done
    worker: str


KNOWN = named(FarmTask)
ANSWERS = named(Made, Refusal)


def compile_unit(sent: bytes) -> bytes:
    """Done on a worker: a parcel of a `FarmTask` in, one of `Made` or a refusal out."""
    from distributed import get_worker

    asked: FarmTask = opened(sent, KNOWN)
    if asked.release != release():
        return parcel(Refusal("UnavailableError", "the worker has another version of kernelglass"))
    try:
        with beside_others():
            done = run_task(asked.task)
    except CompilerError as error:
        return parcel(refusal(error))
    # What is wanted is the object; its bitcode would be as many bytes again.
    return parcel(Made(replace(done, unit=replace(done.unit, bitcode=b"")), get_worker().address))


GRAIN = 256
"""The number of jobs that a compilation is divided for, however many workers there are: so that the same source comes
to the same tasks, and to the same bits, on any farm."""


@contextmanager
def farmed(cluster: Cluster) -> Iterator[None]:
    """Have what this thread compiles done by a cluster, for the time of the block."""
    workers = cluster.useful()
    with elsewhere(lambda tasks, told: compile_there(cluster, workers, tasks, told)):
        yield


def compile_there(cluster: Cluster, workers: Sequence[Worker], tasks: Sequence[Task], told: Told) -> list[Done]:
    """All tasks done, in the order given; the first failure is raised."""
    done: dict[int, Done] = {}
    for able, numbers in _shared_out(workers, tasks):
        numbers.sort(key=lambda number: -tasks[number].cost)
        if not able:
            done |= {number: run_task(tasks[number]) for number in numbers}
            continue
        portable = [replace(tasks[number], target=get_target(tasks[number].target).portable_name) for number in numbers]
        places = {worker.address: place for place, worker in enumerate(workers, 1)}
        for answer in answers(cluster, compile_unit, [parcel(FarmTask(task, release())) for task in portable], able):
            number = numbers[answer.number]
            if answer.failure:
                raise LoweringError(f"no worker could compile {tasks[number].name}: {answer.failure}")
            found: Made | Refusal = opened(answer.parcel, ANSWERS)
            if isinstance(found, Refusal):
                raise remade(found)
            unit = replace(found.done.unit, target=tasks[number].target)
            begun = perf_counter() - found.done.seconds  # by our clock; the worker's is another
            place = places.get(found.worker, len(places) + 1)
            done[number] = replace(found.done, unit=unit, start=begun, worker=place)
            told(tasks[number])
    return [done[number] for number in range(len(tasks))]


def _shared_out(workers: Sequence[Worker], tasks: Sequence[Task]) -> list[tuple[list[Worker], list[int]]]:
    """Who may do which tasks: code for a processor is left to workers of the same kind, as LLVM reads the assembly of
    its own processor only; code for a card is text that any of them can make."""
    here = this_worker().arch
    alike = [worker for worker in workers if worker.fingerprint is not None and worker.fingerprint.arch == here]
    native = [number for number, task in enumerate(tasks) if get_target(task.target).emission.in_process]
    others = [number for number in range(len(tasks)) if number not in set(native)]
    return [(able, numbers) for able, numbers in ((alike, native), (list(workers), others)) if numbers]
