"""Cells of flows measured by a cluster's worker.

All cells of a table are measured on one machine, as they are compared with each other: another that is just like it
goes on where the first is lost. One at a time, in processes that have that machine for themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from app.cluster.errands import Lost, asked_of, done_by
from app.cluster.fingerprint import release
from app.cluster.holding import sent
from app.cluster.joining import Cluster, Worker
from app.cluster.kernel_folders import kernel_folder
from app.errors import CompilationFailed
from app.flows.cell_work import ANSWERS, SentCell, SentGraph, Whereabouts, end_table, measure_cell, whereabouts
from app.flows.cells import BASE, Cell, Measured, Request, Sample, Samples, gathered
from app.sources import Source
from compiler.artifact.graph_document import document_of
from compiler.errors import CompilerError, UnavailableError
from compiler.processes.frames import opened, parcel
from compiler.processes.messages import Refusal, remade

_TRIES, _PATIENCE, _PAUSE = 5, 30.0, 0.5
"""How often a cell is begun again whose worker was lost, and the seconds to wait for another worker."""


@dataclass(frozen=True)
class MeasuredThere:
    """A table, and the machine that it was measured on."""

    measured: Measured
    where: Whereabouts


def measure_there(
    cluster: Cluster, source: Source, request: Request, wanted: Sequence[Cell], repeat: int, say: Callable[[str], None]
) -> MeasuredThere:
    """Have cells measured as `measure` does here; an interrupt keeps what is finished."""
    table = _Table(cluster, _least_busy(cluster), uuid4().hex, _common(source, request))
    where: Whereabouts = _read(asked_of(cluster, table.worker, whereabouts))
    said = (
        f"measured on {where.machine} by the worker {table.worker.address}, which was sent the graph: "
        "reading the source is no part of it"
    )
    try:
        measured = gathered(request, wanted, repeat, table.samples(wanted, repeat), (said, *where.notes), say)
    finally:
        table.end()
    return MeasuredThere(measured, where)


def _common(source: Source, request: Request) -> bytes:
    folders = (*source.library_paths, *map(Path, request.libraries))
    sizes = {name: size for name, size in source.dims.items() if name in source.graph.symbols}
    return parcel(
        SentGraph(request.source, document_of(source.graph), sizes, request.options, tuple(map(kernel_folder, folders)))
    )


def _least_busy(cluster: Cluster) -> Worker:
    """The worker with the least to do."""
    try:
        doing = {address: len(tasks) for address, tasks in cluster.client.processing().items()}
    except Exception:  # whoever is there is good enough
        doing = {}
    return min(cluster.useful(), key=lambda worker: doing.get(worker.address, 0))


@dataclass
class _Table:
    """A table on its way: the worker that measures it now, and what it is sent."""

    cluster: Cluster
    worker: Worker
    name: str
    common: bytes

    def samples(self, wanted: Sequence[Cell], repeat: int) -> Samples:
        """The samples of all cells, one after the other."""
        yield BASE, self._sample(BASE, 0)
        for turn, cell in itertools.product(range(repeat), wanted):
            yield cell, None
            yield cell, self._sample(cell, turn)

    def _sample(self, cell: Cell, turn: int) -> Sample:
        for tried in range(1, _TRIES + 1):
            try:
                common = sent(self.cluster, self.worker, self.common)
                asked = parcel(SentCell(self.name, common, cell, turn, release()))
                return _read(done_by(self.cluster, self.worker, measure_cell, asked))
            except Lost:
                if tried == _TRIES:
                    raise
                self.worker = self._another()
        raise AssertionError("unreachable")

    def _another(self) -> Worker:
        """A worker on a machine like that of the one that was lost."""
        lost, until = self.worker, monotonic() + _PATIENCE
        while monotonic() < until:
            with suppress(UnavailableError):
                for worker in self.cluster.useful():
                    if worker.address != lost.address and _alike(worker, lost):
                        return worker
            sleep(_PAUSE)
        raise UnavailableError(f"the worker {lost.address} was lost, and there is no other on a machine like it")

    def end(self) -> None:
        """Take its caches away there."""
        with suppress(CompilerError):
            asked_of(self.cluster, self.worker, end_table, self.name)


def _alike(one: Worker, other: Worker) -> bool:
    if one.fingerprint is None or other.fingerprint is None:
        return False
    return replace(one.fingerprint, cards=()) == replace(other.fingerprint, cards=())


def _read(said: bytes) -> Any:
    found = opened(said, ANSWERS)
    if isinstance(found, Refusal):
        if found.kind == CompilationFailed.__name__:
            raise CompilationFailed(found.message, found.location)
        raise remade(found)
    return found
