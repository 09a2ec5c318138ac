"""A cell on its way to a worker of a cluster, and what the worker does with it: compile a graph that was sent.

The graph and the kernels of other folders travel with the cell: no file of the one who asks has to be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.cluster.fingerprint import release
from app.cluster.kernel_folders import KernelFolder, kernel_folder, with_their_names, written
from app.cluster.turns import beside_others
from app.sources import Source, load_source, stored_name
from app.sweep.child import CompileTask
from compiler.artifact.graph_document import GraphDocument, document_of, graph_of
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.processes.frames import named, opened, parcel
from compiler.processes.messages import Refusal, refusal
from profiler.records import CompilationRecord


@dataclass(frozen=True, eq=False)
class GraphTask:
    """A graph to compile, for a source of that name, by the same release of the compiler."""

    source: str
    graph: GraphDocument
    options: CompileOptions
    folders: tuple[KernelFolder, ...]
    release: str


KNOWN = named(GraphTask)


def packed(task: CompileTask) -> tuple[bytes, int]:
    """Done here: a parcel of a `GraphTask`, and of how many operations its graph is."""
    source = _source(task.source)
    if isinstance(source, CompilerError):
        raise source
    folders = (*source.library_paths, *([Path(task.library)] if task.library else ()))
    sent = tuple(kernel_folder(folder) for folder in folders)
    asked = GraphTask(stored_name(task.source), document_of(source.graph), task.options, sent, release())
    return parcel(asked), len(source.graph.ops)


@cache
def _source(name: str) -> Source | CompilerError:
    """Read once, for all its cells."""
    try:
        return load_source(name)
    except CompilerError as error:
        return error


def compiled_parcel(task: bytes) -> bytes:
    """Done on a worker: a parcel of a `GraphTask` in, one of a record or a refusal out."""
    asked: GraphTask = opened(task, KNOWN)
    if asked.release != release():
        return parcel(Refusal("UnavailableError", "the worker has another version of kernelglass"))
    places = written(asked.folders)
    try:
        with beside_others():
            return parcel(_record(asked, places))
    except CompilerError as error:
        return parcel(with_their_names(refusal(error), places))


def _record(asked: GraphTask, places: dict[str, str]) -> CompilationRecord:
    from profiler.model_records import compilation_record, compiled

    model, took = compiled(graph_of(asked.graph, asked.source), asked.options, list(places))
    return compilation_record(model, asked.source, took.seconds, list(places.values()), took.imports)
