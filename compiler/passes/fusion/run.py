"""Fusion as a step of a compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compiler.language.interpreter  # noqa: F401  the library loads it on first use, which is no part of fusion
from compiler.dialects.operations import count_operations
from compiler.passes.fusion.fuse import fuse
from compiler.passes.fusion.records import FusionResult

if TYPE_CHECKING:
    from compiler.dialects.mo import GraphOp
    from compiler.language.library import Library
    from compiler.options import CompileOptions
    from compiler.trace import Trace


def fuse_graph(graph: GraphOp, library: Library, options: CompileOptions, trace: Trace) -> FusionResult:
    """Kernel sources and their calls from a graph after its passes."""
    with trace.span("fuse", "mogg") as span:
        fusion = fuse(graph, library, options)
        span.ops_before, span.ops_after = count_operations(graph), len(fusion.calls)
    return fusion
