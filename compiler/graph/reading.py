"""A graph's ops for whoever only reads them: from its draft where that is all there is, else from its IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from compiler.graph.draft import DraftOp
from compiler.graph.graph import Graph

if TYPE_CHECKING:
    from compiler.dialects.mo.ops import GraphOp, MoOp


def ops_of(graph: Graph | GraphOp) -> Iterator[DraftOp | MoOp]:
    """The ops in order, without the output; each has a name, operands and results."""
    draft = graph.draft if isinstance(graph, Graph) else None
    if draft is not None:
        yield from draft.ops
        return
    from compiler.dialects.mo.ops import MoOp

    for op in (graph.op if isinstance(graph, Graph) else graph).body.ops:
        if isinstance(op, MoOp):
            yield op


def attrs_in(op: DraftOp | MoOp) -> Mapping[str, Any]:
    """An op's attributes as plain values."""
    if isinstance(op, DraftOp):
        return op.attrs
    from compiler.dialects.mo.ops import attrs_of

    return attrs_of(op)


def nodes_in(op: DraftOp | MoOp) -> tuple[str, ...]:
    """The graph nodes an op came from."""
    if isinstance(op, DraftOp):
        return (op.node,)
    from compiler.dialects.mo.ops import nodes_of

    return nodes_of(op)
