"""A compiled model into plain records. Every reading of the compiler's own objects for the window is here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.viewmodels.compilation import (
    CallRecord,
    Decision,
    KernelRecord,
    MemoryBlock,
    NodeRecord,
    Nodes,
    PassRow,
)
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import dtype_info

_PER_ELEMENT = {"exp": 8, "log": 8, "tanh": 10, "erf": 12, "gelu": 14, "sigmoid": 10, "silu": 11, "sin": 10, "cos": 10}
_FREE = {"reshape", "transpose", "broadcast_to", "slice", "constant", "buffer_load", "buffer_store", "iota"}


def node_records(model: Any, dims: Mapping[str, int]) -> tuple[NodeRecord, ...]:
    """The graph's inputs and ops in order, each with its fusion group and an estimate of its cost."""
    place: dict[str, tuple[int, str]] = {}
    for index, call in enumerate(model.fusion.calls):
        roles = call.roles or ("",) * len(call.nodes)
        for names, role in zip(call.nodes, roles):
            for name in names:
                place.setdefault(name, (index, role))
    return graph_nodes(model.graph, place, dims)


def graph_nodes(graph: Any, place: Mapping[str, tuple[int, str]], dims: Mapping[str, int]) -> tuple[NodeRecord, ...]:
    """The same from a graph alone; `place` says in which call each node is, and as what."""
    from compiler.dialects.mo import attrs_of, nodes_of

    owner: dict[Any, str] = {}
    records: list[NodeRecord] = []
    for name, value in zip(graph.input_names, graph.op.body.args):
        owner[value] = name
        dtype, shape = _type(value.type)
        size = _bytes(value.type, dims)
        records.append(NodeRecord(name, len(records) + 1, "input", "input", dtype, shape, "", (), bytes=size))
    for op in graph.op.body.ops:
        names = nodes_of(op)
        if not op.results or not names:
            continue
        name = names[0]
        for result in op.results:
            owner[result] = name
        dtype, shape = _type(op.results[0].type)
        attributes = ", ".join(f"{key}={_short(value)}" for key, value in attrs_of(op).items())
        operands = tuple(dict.fromkeys(owner[operand] for operand in op.operands if operand in owner))
        call, role = place.get(name, (-1, ""))
        kind = "constant" if op.name == "mo.constant" else "op"
        moved = sum(_bytes(value.type, dims) for value in (*op.operands, *op.results))
        records.append(
            NodeRecord(
                name, len(records) + 1, op.name.removeprefix("mo."), kind, dtype, shape, attributes, operands,
                call, role, moved, _flops(op, dims),
            )
        )  # fmt: skip
    return tuple(records)


def call_records(model: Any, dims: Mapping[str, int], nodes: tuple[NodeRecord, ...]) -> tuple[CallRecord, ...]:
    """The launches in order, with the bytes they must move and the work of their nodes."""
    flops = {node.name: node.flops for node in nodes}
    records = []
    for index, call in enumerate(model.fusion.calls):
        moved = sum(_bytes(buffer.type, dims) for buffer in (*call.operands, *call.results))
        work = sum(flops.get(node, 0) for node in call.all_nodes)
        reads = tuple(buffer.name for buffer in call.operands)
        writes = tuple(buffer.name for buffer in call.results)
        records.append(CallRecord(index, call.kernel.name, call.all_nodes, reads, writes, moved, work))
    return tuple(records)


def kernel_record(kernel: Any) -> KernelRecord:
    """A kernel and the nodes of each line of its source."""
    slots: list[Nodes] = [
        tuple(dict.fromkeys(node for call in kernel.calls for node in call.nodes[slot]))
        for slot in range(len(kernel.fused.slots))
    ]
    lines = tuple(tuple(dict.fromkeys(node for slot in ids for node in slots[slot])) for ids in kernel.fused.line_slots)
    inputs = tuple(str(kind) for kind in kernel.fused.inputs)
    outputs = tuple(str(kind) for kind in kernel.fused.outputs)
    return KernelRecord(kernel.name, kernel.nodes, kernel.source, lines, len(kernel.calls), inputs, outputs)


def pass_row(record: Any) -> PassRow:
    """A pass record of the trace."""
    return PassRow(
        record.name, record.stage, record.kernel, record.start, record.seconds, record.ops_before, record.ops_after,
        record.bytes_after, lane=getattr(record, "worker", 0) or 0,
    )  # fmt: skip


def decision(entry: Any, dims: Mapping[str, int]) -> Decision:
    """A ledger entry; the bytes saved are a number where the sizes are known, else the formula."""
    saved = _known(entry.bytes_saved, dims)
    return Decision(entry.producer, entry.consumer, entry.accepted, entry.rule, entry.reason, str(saved))


def memory_blocks(model: Any, dims: Mapping[str, int]) -> tuple[tuple[MemoryBlock, ...], int, str]:
    """The memory plan at the source's own sizes; a note instead where a size is missing."""
    missing = [name for name in model.symbols if name not in dims]
    if missing:
        return (), 0, f"depends on the size of {', '.join(missing)}"
    plan = model.plan(**{name: dims[name] for name in model.symbols})
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for index, call in enumerate(model.fusion.calls):
        for buffer in (*call.operands, *call.results):
            first.setdefault(buffer.name, index)
            last[buffer.name] = index
    blocks = []
    for block in plan.blocks:
        held = block.buffer
        if held.kind == "workspace":  # lives for one call
            blocks.append(MemoryBlock(f"workspace {held.index}", block.offset, block.size, block.first, block.first))
        else:
            name = held.name
            blocks.append(
                MemoryBlock(name, block.offset, block.size, first.get(name, 0), last.get(name, 0), held.nodes)
            )
    return tuple(blocks), int(plan.peak), ""


def _type(kind: Any) -> tuple[str, str]:
    if not hasattr(kind, "shape"):
        return "", str(kind)
    return kind.dtype, "[" + ", ".join(str(size) for size in kind.shape) + "]"


def _elements(kind: Any, dims: Mapping[str, int]) -> int:
    total = 1
    for size in getattr(kind, "shape", ()):
        value = _known(size, dims)
        if not isinstance(value, int):
            return 0
        total *= value
    return total


def _bytes(kind: Any, dims: Mapping[str, int]) -> int:
    return _elements(kind, dims) * dtype_info(kind.dtype).bytes if hasattr(kind, "shape") else 0


def _known(size: Any, dims: Mapping[str, int]) -> Any:
    if isinstance(size, int):
        return size
    try:
        return int(evaluate(size, dims))
    except (KeyError, ValueError, TypeError):
        return size


def _flops(op: Any, dims: Mapping[str, int]) -> int:
    """An estimate: products count twice, transcendentals by the length of their usual polynomial."""
    name = op.name.removeprefix("mo.")
    out = _elements(op.results[0].type, dims)
    if name in _FREE:
        return 0
    if name == "matmul":
        inner = _known(op.operands[0].type.shape[-1], dims)
        return 2 * out * inner if isinstance(inner, int) else 0
    if name == "conv2d":
        weights = op.operands[1].type
        filters = _known(weights.shape[0], dims)
        return 2 * out * _elements(weights, dims) // max(filters, 1) if isinstance(filters, int) else 0
    if name == "scaled_dot_product_attention":
        keys = _known(op.operands[1].type.shape[-2], dims)
        return 4 * out * keys if isinstance(keys, int) else 0
    source = max((_elements(value.type, dims) for value in op.operands), default=0)
    return max(out, source) * _PER_ELEMENT.get(name, {"softmax": 12, "layer_norm": 8, "rms_norm": 5}.get(name, 1))


def _short(value: Any) -> str:
    text = str(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."
