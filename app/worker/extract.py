"""A compiled model into plain records. Every reading of the compiler's own objects for the window is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from app.viewmodels.compilation import (
    CallRecord,
    Decision,
    KernelRecord,
    MemoryBlock,
    NodeRecord,
    Nodes,
)
from compiler.graph.dims import evaluate
from profiler.analysis.work import call_bytes, call_flops, op_bytes, op_flops, tensor_bytes


def node_records(
    model: Any, dims: Mapping[str, int], modules: Mapping[str, str] = MappingProxyType({})
) -> tuple[NodeRecord, ...]:
    """The graph's inputs and ops in order, each with its fusion group, its module and an estimate of its cost."""
    place: dict[str, tuple[int, str]] = {}
    for index, call in enumerate(model.fusion.calls):
        roles = call.roles or ("",) * len(call.nodes)
        for names, role in zip(call.nodes, roles):
            for name in names:
                place.setdefault(name, (index, role))
    return graph_nodes(model.graph, place, dims, modules)


def graph_nodes(
    graph: Any, place: Mapping[str, tuple[int, str]], dims: Mapping[str, int],
    modules: Mapping[str, str] = MappingProxyType({}),
) -> tuple[NodeRecord, ...]:  # fmt: skip
    """The same from a graph alone; `place` says in which call each node is, and as what."""
    owner: dict[Any, str] = {}
    records: list[NodeRecord] = []
    for name, value in zip(graph.input_names, graph.inputs):
        owner[value] = name
        dtype, shape = _type(value.type)
        size = _counted(tensor_bytes, value.type, dims)
        records.append(NodeRecord(name, len(records) + 1, "input", "input", dtype, shape, "", (), bytes=size))
    for op in graph.ops:
        name = op.nodes[0]
        for result in op.results:
            owner[result] = name
        dtype, shape = _type(op.results[0].type)
        attributes = ", ".join(f"{key}={_short(value)}" for key, value in op.all_attrs.items())
        operands = tuple(dict.fromkeys(owner[operand] for operand in op.operands if operand in owner))
        call, role = place.get(name, (-1, ""))
        kind = "constant" if op.name == "mo.constant" else "op"
        records.append(
            NodeRecord(
                name, len(records) + 1, op.name.removeprefix("mo."), kind, dtype, shape, attributes, operands,
                call, role, _counted(op_bytes, op, dims), _counted(op_flops, op, dims),
                modules.get(name, ""),
            )
        )  # fmt: skip
    return tuple(records)


def call_records(model: Any, dims: Mapping[str, int]) -> tuple[CallRecord, ...]:
    """The launches in order, with the bytes they must move and their work, counted as a run counts them."""
    records = []
    for index, call in enumerate(model.fusion.calls):
        # A call of a model from the cache finds its ops by fusing the graph again: not where nothing can be counted.
        sized = all(getattr(b.type, "symbols", frozenset()) <= dims.keys() for b in (*call.operands, *call.results))
        moved, work = (_counted(call_bytes, call, dims), _counted(call_flops, call, dims)) if sized else (0, 0)
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
    blocks = tuple(
        MemoryBlock(
            block.name, block.offset, block.size, block.first, block.last,
            block.buffer.nodes,  # a workspace holds no node's value
        )
        for block in plan.blocks
    )  # fmt: skip
    return blocks, plan.peak, ""


def _type(kind: Any) -> tuple[str, str]:
    if not hasattr(kind, "shape"):
        return "", str(kind)
    return kind.dtype, "[" + ", ".join(str(size) for size in kind.shape) + "]"


def _counted(count: Callable[[Any, Mapping[str, int]], int | None], what: Any, dims: Mapping[str, int]) -> int:
    """A count of the profiler's; 0 where a size is missing, or where nobody can tell."""
    try:
        return count(what, dims) or 0
    except KeyError:
        return 0


def _known(size: Any, dims: Mapping[str, int]) -> Any:
    if isinstance(size, int):
        return size
    try:
        return int(evaluate(size, dims))
    except (KeyError, ValueError, TypeError):
        return size


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):  # which may have millions of elements
        value = value.flat[:8].tolist() + ["..."] * (value.size > 8)
    text = str(value).replace("\n", " ").replace("'...'", "...")
    return text if len(text) <= 60 else text[:57] + "..."
