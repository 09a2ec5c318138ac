"""Cells compiled by the workers of a cluster. Sources are read here; what is sent is the graph."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.cluster.fingerprint import release
from app.cluster.jobs import answers
from app.cluster.joining import Cluster, joined
from app.cluster.kernel_folders import kernel_folder
from app.sources import Source, load_source, stored_name
from app.sweep.cell_work import ANSWERS, GraphTask, compile_cell
from app.sweep.child import Answer, CompileTask
from compiler.artifact.graph_document import document_of
from compiler.errors import CompilerError
from compiler.processes.frames import opened, parcel
from compiler.processes.messages import Refusal, refusal


@dataclass
class ClusterWorkers:
    """A cluster as something that compiles cells."""

    cluster: Cluster
    _loaded: dict[str, Source | CompilerError] = field(default_factory=dict)

    def compiled(self, tasks: Sequence[CompileTask]) -> Generator[tuple[int, Answer]]:
        """The number of each task with None as it begins, and with what came of it."""
        sent: list[int] = []
        parcels: list[bytes] = []
        for number, task in enumerate(tasks):
            try:
                parcels.append(parcel(self._graph_task(task)))
                sent.append(number)
            except CompilerError as error:
                yield number, refusal(error)
        if not sent:
            return
        workers = self.cluster.useful()
        waiting = dict.fromkeys(sent)  # which ones have begun only the scheduler knows: they begin in this order
        for number in sent[: sum(worker.threads for worker in workers)]:
            del waiting[number]
            yield number, None
        for answer in answers(self.cluster, compile_cell, parcels, workers):
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

    def _graph_task(self, task: CompileTask) -> GraphTask:
        source = self._loaded.get(task.source) or self._load(task.source)
        if isinstance(source, CompilerError):
            raise source
        folders = (*source.library_paths, *([Path(task.library)] if task.library else ()))
        sent = tuple(kernel_folder(folder) for folder in folders)
        return GraphTask(stored_name(task.source), document_of(source.graph), task.options, sent, release())

    def _load(self, name: str) -> Source | CompilerError:
        try:
            self._loaded[name] = load_source(name)
        except CompilerError as error:
            self._loaded[name] = error
        return self._loaded[name]


def _told(said: bytes, failure: str) -> Answer:
    return Refusal("ExecutionError", failure) if failure else opened(said, ANSWERS)


@contextmanager
def cluster_workers(address: str, count: int | None) -> Iterator[ClusterWorkers]:
    """The workers of a scheduler for the time of the block; `local` starts so many."""
    with joined(address, count) as cluster:
        yield ClusterWorkers(cluster)
