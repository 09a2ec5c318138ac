"""recognise: ops written out one by one become the structured op they amount to.

Each recogniser looks at one op, the last of a pattern, and gives what can stand for it, or None; `Found` says what it
is called. Unlike the other graph passes this one changes values in the last digits, as the structured op rounds at
other places, so it can be turned off (`CompileOptions.recognise`); the ledger notes each pattern that was found.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from compiler.dialects.mo import RECOGNISED, GraphOp, MoOp
from compiler.passes.graph.dce import dce
from compiler.passes.graph.pattern import Found, ops_between
from compiler.passes.graph.recognise_activations import gelu, silu
from compiler.passes.graph.recognise_attention import attention
from compiler.passes.graph.recognise_batch_norm import batch_norm
from compiler.passes.graph.recognise_norms import layer_norm, rms_norm
from compiler.passes.graph.recognise_rotary import rotary
from compiler.passes.graph.recognise_softmax import softmax
from compiler.passes.graph.rewrite import absorb, erase, maker, mo_ops, replace, union
from compiler.passes.graph.write_out import write_out

Recogniser = Callable[[MoOp], Found | None]

RECOGNISERS: dict[str, tuple[Recogniser, ...]] = {
    "mo.matmul": (attention,),
    "mo.mul": (gelu, silu, rms_norm),
    "mo.div": (silu, softmax),
    "mo.concat": (rotary,),
    "mo.add": (rotary, batch_norm, layer_norm),
    "mo.sub": (batch_norm,),
}
"""What may be recognised, by the name of the op that ends it."""

WRITTEN_OUT = frozenset({"mo.softmax", "mo.log_softmax"})
"""What may become plain ops instead."""


def recognise(graph: GraphOp) -> int:
    """Put structured ops in the place of the patterns in a graph; how many were found."""
    found = 0
    for op in mo_ops(graph):
        if op.parent is None:
            continue
        if op.name in WRITTEN_OUT:
            found += write_out(op)
            continue
        for recogniser in RECOGNISERS.get(op.name, ()):
            made = recogniser(op)
            if made is not None:
                _put(op, made)
                found += 1
                break
    if found:
        dce(graph)
    return found


def _put(op: MoOp, made: Found) -> None:
    """Replace the last op of a pattern; the one that stands for it answers for all nodes in between."""
    owner = maker(made.value)
    assert owner is not None
    inside: list[Operation] = ops_between(op, made.inputs)
    structured = made.op if made.op is not None else owner
    absorb(structured, union(*inside))
    structured.attributes[RECOGNISED] = StringAttr(made.name)
    replace(op, made.value)
    for part in inside[1:]:  # readers come before what they read, which a larger pattern may ask about
        if all(result.first_use is None for result in part.results):
            erase(part)
