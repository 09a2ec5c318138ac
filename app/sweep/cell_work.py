"""What a worker of a cluster does with a cell: compile a graph that was sent to it, and tell what came of it.

The graph and the kernels of other folders travel with the cell: no file of the one who asks has to be there.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.cluster.fingerprint import release
from app.cluster.kernel_folders import KernelFolder, with_their_names, written
from app.cluster.turns import beside_others
from compiler.artifact.graph_document import GraphDocument, graph_of
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
ANSWERS = named(CompilationRecord, Refusal)


def compile_cell(task: bytes) -> bytes:
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
