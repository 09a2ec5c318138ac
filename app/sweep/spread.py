"""Cells compiled by the workers of a cluster. Sources are read here, in another process; what is sent is the graph."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from app.cluster.jobs import answers
from app.cluster.joining import Cluster, check_address, joined
from app.sweep import packing
from app.sweep.child import ANSWERS, Answer, CompileTask
from compiler.processes.frames import Unreadable, opened
from compiler.processes.messages import Refusal
from compiler.processes.nursery import Born, Nursery
from compiler.processes.supervisor import Child, status_name

PACKS = packing.__name__
"""The module of the process that reads sources."""


def compile_cell(task: bytes) -> bytes:
    """What a worker does with a cell; what it needs for that is loaded there."""
    from app.sweep.cell_work import compiled_parcel

    return compiled_parcel(task)


@dataclass
class ClusterWorkers:
    """A cluster as something that compiles cells: `join` is done while the cells are packed."""

    join: Callable[[], Cluster]
    nursery: Nursery = field(default_factory=lambda: Nursery(PACKS, keep_methods=True))

    def compiled(self, tasks: Sequence[CompileTask]) -> Generator[tuple[int, Answer]]:
        """The number of each task with None as it begins, and with what came of it."""
        if not tasks:
            return
        found: dict[int, packing.Packed] = {}
        with _Packer(self.nursery, tasks) as packer:
            cluster = self.join()
            for number in range(len(tasks)):
                answer = packer.next()
                if isinstance(answer, packing.Packed):
                    found[number] = answer
                else:
                    yield number, answer
            if found:
                # Large graphs first, so that no worker is left with one in the end; otherwise in the order given.
                sent = sorted(found, key=lambda number: -found[number].operations)
                yield from self._answered(cluster, sent, [found[number].parcel for number in sent])

    def _answered(
        self, cluster: Cluster, sent: Sequence[int], parcels: Sequence[bytes]
    ) -> Generator[tuple[int, Answer]]:
        """What came of those that were sent: all are under way before the first is told."""
        workers = cluster.useful()
        told = answers(cluster, compile_cell, parcels, workers)
        waiting = dict.fromkeys(sent)  # which ones have begun only the scheduler knows: they begin in this order
        for number in sent[: sum(worker.threads for worker in workers)]:
            del waiting[number]
            yield number, None
        for answer in told:
            number = sent[answer.number]
            if number in waiting:
                del waiting[number]
                yield number, None
            yield number, _told(answer.parcel, answer.failure)
            if waiting:
                number = next(iter(waiting))
                del waiting[number]
                yield number, None

    def close(self) -> None:
        """Nothing more is to be compiled; the cluster is left as its own block ends."""


class _Packer:
    """The process that packs these tasks, for the time of a block; one that dies is replaced behind what it died of."""

    def __init__(self, nursery: Nursery, tasks: Sequence[CompileTask]) -> None:
        self._nursery = nursery
        self._left = list(tasks)
        self._child = self._begin()

    def __enter__(self) -> _Packer:
        return self

    def __exit__(self, *error: object) -> None:
        self._child.end()
        self._nursery.close()

    def next(self) -> packing.Packed | Refusal:
        """The next task as it is sent, or why it cannot be."""
        del self._left[0]
        try:
            answer = self._child.channel.receive().value
        except (EOFError, OSError, Unreadable):
            status = status_name(self._child.end(patience=1.0))
            if self._left:
                self._child = self._begin()
            return Refusal("ExecutionError", f"the process that read its source ended ({status})")
        return answer

    def _begin(self) -> Child | Born:
        child = self._nursery.child(packing.ANSWERS)
        with suppress(OSError):  # it is gone: whoever waits for its answer hears of it
            child.channel.send(packing.Cells(tuple(self._left)))
        return child


def _told(said: bytes, failure: str) -> Answer:
    return Refusal("ExecutionError", failure) if failure else opened(said, ANSWERS)


@contextmanager
def cluster_workers(address: str, count: int | None, nursery: Nursery) -> Iterator[ClusterWorkers]:
    """The workers of a scheduler for the time of the block; `local` starts so many."""
    check_address(address)
    with ExitStack() as held:
        held.callback(nursery.close)
        yield ClusterWorkers(lambda: held.enter_context(joined(address, count)), nursery)
