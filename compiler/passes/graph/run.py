"""The graph passes in the order they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.dialects.mo.from_graph import from_graph
from compiler.dialects.operations import count_operations
from compiler.passes.graph.cse import cse
from compiler.passes.graph.dce import dce
from compiler.passes.graph.fold_constants import fold_constants
from compiler.passes.graph.infer_shapes import infer_shapes
from compiler.passes.graph.recognise import recognise
from compiler.passes.graph.simplify import simplify
from compiler.trace import Trace

if TYPE_CHECKING:
    from compiler.dialects.mo import GraphOp
    from compiler.graph.graph import Graph

GRAPH_PASSES = (
    ("infer-shapes", infer_shapes),
    ("fold-constants", fold_constants),
    ("simplify", simplify),
    ("cse", cse),
    ("dce", dce),
)
"""Those that change no value; recognising patterns comes after them, and can be turned off."""


def graph_passes(graph: Graph, trace: Trace, recognises: bool = True) -> GraphOp:
    """A copy of the graph's IR, after all passes; `recognises` says whether patterns become structured ops."""
    with trace.span("verify", "mo"):
        graph.verify()
    with trace.span("copy", "mo") as span:
        op = from_graph(graph)
        span.ops_after = count_operations(op)
    trace.start("", op, "mo")
    for name, run in (*GRAPH_PASSES, *((("recognise", recognise),) if recognises else ())):
        with trace.span(name, "mo") as span:
            span.ops_before = count_operations(op)
            run(op)
            span.ops_after, span.module = count_operations(op), op
    return op
