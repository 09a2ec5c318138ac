"""A cell as a process on a cluster's worker is given it. What loads this loads little else: it is measured."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.artifact.graph_document import GraphDocument
from compiler.options import CompileOptions


@dataclass(frozen=True, eq=False)
class SentTask:
    """What a process on the worker does; it compiles where there are options, and runs where asked to."""

    source: str
    graph: GraphDocument
    dims: dict[str, int]
    options: CompileOptions | None
    libraries: tuple[str, ...] = ()
    execute: bool = False
