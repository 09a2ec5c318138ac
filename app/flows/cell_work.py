"""What a worker of a cluster does with cells of flows: each in a fresh process there, which has the machine for itself.

The graph and the kernels of other folders travel, once for all cells; a source's own code never runs there.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from app.cluster.device_work import as_if_alone
from app.cluster.errands import unwanted_task
from app.cluster.fingerprint import release
from app.cluster.holding import held_blob
from app.cluster.kernel_folders import KernelFolder, with_their_names, written
from app.cluster.turns import alone_here
from app.errors import CompilationFailed
from app.flows.cells import BASE, Cell, Sample, check_platform, measured_process, options_of, sample_with_cache
from app.flows.sent_task import SentTask
from compiler.artifact.graph_document import GraphDocument
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.processes.frames import NotWanted, named, opened, parcel
from compiler.processes.messages import Refusal, refusal
from compiler.temporary import make_folder

CHILD = "app.worker.sent_flow_child"
_MOST = 8  # tables whose caches a worker keeps, where their clients are gone without a word


@dataclass(frozen=True, eq=False)
class SentGraph:
    """What all cells of a table have in common, sent once: the graph, its sizes, and folders of kernels."""

    source: str
    graph: GraphDocument
    dims: dict[str, int]
    options: CompileOptions
    folders: tuple[KernelFolder, ...]


@dataclass(frozen=True)
class SentCell:
    """A cell of a table; what they have in common by the digest it was sent under."""

    table: str
    common: str
    cell: Cell
    turn: int
    release: str


@dataclass(frozen=True)
class Whereabouts:
    """The machine that a table is measured on: its name, its cores, and what keeps it busy."""

    machine: str
    cores: int
    notes: tuple[str, ...] = field(default=())


KNOWN = named(SentGraph, SentCell)
ANSWERS = named(Sample, Whereabouts, Refusal)
_folders: dict[str, str] = {}


def whereabouts() -> bytes:
    """What a table says of this machine; a refusal where nothing can be measured here."""
    from compiler.backend.runtime import default_threads
    from profiler.measure.machine import busy_notes, this_machine

    try:
        check_platform()
    except CompilerError as error:
        return parcel(refusal(error))
    return parcel(Whereabouts(this_machine().name, default_threads(), busy_notes()))


def measure_cell(asked: bytes) -> bytes:
    """Done on a worker: a parcel of a `SentCell` in, one of a `Sample` or a refusal out."""
    task: SentCell = opened(asked, KNOWN)
    if task.release != release():
        return parcel(Refusal("UnavailableError", "the worker has another version of kernelglass"))
    places: dict[str, str] = {}
    try:
        common: SentGraph = opened(held_blob(task.common), KNOWN)
        places = written(common.folders)
        return parcel(_sample(task, common, tuple(places)))
    except CompilerError as error:
        failed = isinstance(error, CompilationFailed)
        found = with_their_names(refusal(error), places)
        return parcel(Refusal("CompilationFailed", found.message, found.location) if failed else found)
    except NotWanted:
        return parcel(Refusal("ExecutionError", "nobody waits for it any more"))


def _sample(task: SentCell, common: SentGraph, libraries: tuple[str, ...]) -> Sample:
    unwanted = unwanted_task()

    def process(cell: Cell, cache: str) -> Sample:
        options = options_of(common.options, cell)
        sent = SentTask(common.source, common.graph, common.dims, options, libraries, cell.execute)
        return measured_process(CHILD, sent, cell, cache, unwanted)

    as_if_alone()
    folder = _folder(task.table)
    with alone_here(unwanted):
        if task.cell == BASE:
            process(BASE, folder)  # byte code and page cache
            return process(BASE, folder)
        return sample_with_cache(task.cell, Path(folder), task.turn, process)


def _folder(table: str) -> str:
    """Where the caches of a table's cells are, until it ends."""
    if table not in _folders:
        while len(_folders) >= _MOST:
            end_table(next(iter(_folders)))
        _folders[table] = make_folder("flows")
    return _folders[table]


def end_table(table: str) -> None:
    """Nothing more of a table is measured here."""
    if folder := _folders.pop(table, None):
        shutil.rmtree(folder, ignore_errors=True)
