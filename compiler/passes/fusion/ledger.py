"""The ledger: for every edge of the graph, whether it was fused, by which rule or why not, and what that saves."""

from __future__ import annotations

from functools import lru_cache

from compiler.dialects.mo import RECOGNISED
from compiler.graph.dims import Dim
from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Analysis, Node, Value, literal_of
from compiler.passes.fusion.choices import CUT, Choices
from compiler.passes.fusion.groups import Group, Groups
from compiler.passes.fusion.records import FusionDecision
from compiler.passes.fusion.row_space import ROW_ROLE


def write_ledger(
    analysis: Analysis,
    groups: Groups,
    computed_in: dict[Node, list[Group]],
    choices: Choices,
) -> tuple[FusionDecision, ...]:
    """One decision per pair of ops that a tensor connects; `computed_in` says which kernels hold each op.

    An edge that was to be fused or cut and is not has the rule `forced-fuse` or `forced-cut`, also one that is none.
    """
    ledger: list[FusionDecision] = []
    options, reasons = choices.options, choices.reasons
    unmet_fuse, unmet_cut = set(options.force_fuse), set(options.force_cut)
    for consumer in analysis.nodes:
        for value in dict.fromkeys(consumer.operands):
            producer = value.node
            if producer is None or not isinstance(value.type, TensorType) or producer.kind in ("constant", "load"):
                continue
            if producer.kind == "literal" and value.buffer is not None:
                continue
            edge = (producer.name, consumer.name)
            shared = [g for g in computed_in.get(consumer, ()) if g in computed_in.get(producer, ())]
            if shared:
                rule = _rule(producer, consumer, shared[0], value)
                said = _SAID[rule]
                saved = _NOTHING if rule == SEQUENCE else _traffic(value.type, value.buffer is not None)
                if (cost := choices.again.get(edge)) is not None:
                    rule, said, saved = "recompute", cost.text, cost.bytes_saved
                elif (work := choices.repeated.get(producer.name)) is not None:
                    said = f"{said}, where a broadcast has about {work} operations done again"
                ledger.append(FusionDecision(*edge, True, FORCED_CUT if edge in unmet_cut else rule, said, saved))
            elif computed_in.get(consumer) and computed_in.get(producer):
                known = CUT if edge in options.force_cut else reasons.get(edge)
                reason = known if options.fuse else "fusion is off"
                reason = reason or _why_not(producer, consumer, value, groups.owner.get(producer))
                rule = FORCED_FUSE if edge in unmet_fuse else _attempted(producer, consumer)
                ledger.append(FusionDecision(*edge, False, rule, reason, _NOTHING))
            else:
                continue
            unmet_fuse.discard(edge)
            unmet_cut.discard(edge)
    for node in analysis.nodes:
        if node.note and computed_in.get(node):
            ledger.append(FusionDecision(node.nodes[-1], node.nodes[0], True, RECOGNISED, node.note, _NOTHING))
    for rule, unmet in ((FORCED_FUSE, unmet_fuse), (FORCED_CUT, unmet_cut)):
        ledger += [
            FusionDecision(*edge, False, rule, _why_no_edge(analysis, *edge), _NOTHING)
            for edge in sorted(unmet)
            if rule == FORCED_CUT or edge[0] != edge[1]  # what the graph passes made one op is together
        ]
    return tuple(ledger)


def _why_no_edge(analysis: Analysis, producer: str, consumer: str) -> str:
    """Why there is nothing to decide about an edge that the user named."""
    if producer == consumer:
        return "they are one op after the graph passes"
    nodes = {node.name: node for node in analysis.nodes}
    for name in (producer, consumer):
        if name not in nodes and all(value.name != name for value in analysis.inputs):
            return f"the graph has no op {name} after the graph passes"
    if producer not in nodes or consumer not in nodes:
        return f"{producer if producer not in nodes else consumer} is an input of the graph"
    if all(value.node is not nodes[producer] for value in nodes[consumer].operands):
        return f"{consumer} does not read {producer}"
    return f"{producer} is a constant" if nodes[producer].kind in ("constant", "literal") else "no kernel computes it"


@lru_cache(maxsize=4096)
def _traffic(kind: TensorType, stored: bool) -> int | Dim:
    """Bytes that need not move: a read, and a write as well when the value is not stored at all."""
    return kind.bytes * (1 if stored else 2)


FORCED_FUSE, FORCED_CUT = "forced-fuse", "forced-cut"
_NOTHING: int | Dim = 0
SEQUENCE = "sequence"
_SAID = {
    SEQUENCE: "done by the same kernel, once all threads have met",
    "inline-constant": "the constant is written into the kernel",
    "view": "read in place, without a copy",
    "sibling-output": "computed once, kept in registers and stored for the other users",
    "row": "the row is at hand: read, reduced and worked on by one kernel",
    "epilogue": "applied to the result before it is stored",
    "prologue": "computed while the input is loaded",
    "elementwise-chain": "kept in registers",
}


def _rule(producer: Node, consumer: Node, group: Group, value: Value) -> str:
    if literal_of(value) is not None:
        return "inline-constant"
    if consumer.bit & group.sequels and not producer.bit & group.sequels:
        return SEQUENCE
    if producer.kind == "view" or (consumer.kind == "view" and (group.core is None or group.rows is not None)):
        return "view"
    role = group.members.get(consumer, "")
    if role == ROW_ROLE and group.members.get(producer) == ROW_ROLE:
        return "row"
    if value.buffer is not None and producer is not group.core:
        return "sibling-output"
    if producer is group.core or role == "epilogue":
        return "epilogue"
    if group.core is not None:
        return "prologue"
    return "elementwise-chain"


def _attempted(producer: Node, consumer: Node) -> str:
    if producer.kind == "view" or consumer.kind == "view":
        return "view"
    if producer.kind == "kernel":
        return "epilogue"
    return "prologue" if consumer.kind == "kernel" else "elementwise-chain"


def _why_not(producer: Node, consumer: Node, value: Value, owner: Group | None) -> str:
    position = consumer.operands.index(value)
    if consumer.kind == "view":
        return "stored once, read through the view"
    if consumer.kind in ("kernel", "pointwise") and consumer.declares(position) == "tensor":
        return f"input is {value.declared}"
    if producer.kind == "kernel" and consumer.kind == "kernel":
        return "both are kernels"
    if producer.kind == "kernel" and (value.opaque is not None or producer.signature.output == "tensor"):
        return f"output is {value.declared}"
    if producer.kind == "kernel" and len(producer.results) > 1:
        return "one of several results"
    if producer.kind == "kernel" and consumer.kind == "pointwise":
        return "reads at other positions than it is stored"
    if producer.kind == "view" and producer.step is None:
        return "shape changes"
    if owner is not None and owner.core is not None:
        return f"already in the kernel of {owner.core.name}"
    return "other users"
