"""A compiled model into plain records. Every reading of the compiler's own objects for the window is here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from app.viewmodels.compilation import CallRecord, Decision, KernelRecord, MemoryBlock, NodeRecord, Nodes
from app.worker.launch_facts import launch_lines
from compiler.artifact.stored_model import large_constants
from compiler.graph.dims import evaluate
from compiler.places import StageText
from profiler.analysis.work import call_bytes, call_flops, op_bytes, op_flops, tensor_bytes

_FORM = 1
"""How a text is written down in the cache; another number where that changes."""
_MOST = 1 << 22
"""Characters of a text that is worth its room there."""
_MADE_ANEW = ("sass",)
"""What tools of others make, which may be others tomorrow."""


def node_records(
    model: Any, dims: Mapping[str, int], modules: Mapping[str, str] = MappingProxyType({})
) -> tuple[NodeRecord, ...]:
    """The graph's inputs and ops in order, each with its fusion group, its module and an estimate of its cost."""
    members = (
        (name, index, role)
        for index, call in enumerate(model.fusion.calls)
        for names, role in zip(call.nodes, call.roles or ("",) * len(call.nodes))
        for name in names
    )
    return graph_nodes(model.graph, placed(model.graph, members), dims, modules)


def placed(graph: Any, members: Iterable[tuple[str, int, str]]) -> dict[str, tuple[int, str]]:
    """Where each node is drawn: its call, and as what. Of several calls that compute it, the first that has a reader
    of it: equal nodes of many layers are one to the compiler, and each layer computes it for itself."""
    found: dict[str, dict[int, str]] = {}
    for name, call, role in members:
        found.setdefault(name, {}).setdefault(call, role)
    result: dict[str, tuple[int, str]] = {}
    readers: dict[Any, set[int]] = {}  # of each value
    for op in reversed(graph.ops):
        name = op.nodes[0]
        if (calls := found.get(name)) is None:
            continue
        reading = calls.keys() & {call for value in op.results for call in readers.get(value, ())}
        call = min(reading) if reading else next(iter(calls))
        result[name] = call, calls[call]
        for operand in op.operands:
            readers.setdefault(operand, set()).add(call)
    return result


def graph_nodes(
    graph: Any, place: Mapping[str, tuple[int, str]], dims: Mapping[str, int],
    modules: Mapping[str, str] = MappingProxyType({}),
) -> tuple[NodeRecord, ...]:  # fmt: skip
    """The same from a graph alone; `place` says in which call each node is, and as what."""
    owner: dict[Any, str] = {}
    records: list[NodeRecord] = []
    shown_type, known = cache(_type), {}  # a model of many layers has few types, and few kinds of ops
    for name, value in zip(graph.input_names, graph.inputs):
        owner[value] = name
        dtype, shape = shown_type(value.type)
        size = _counted(tensor_bytes, value.type, dims)
        records.append(NodeRecord(name, len(records) + 1, "input", "input", dtype, shape, "", (), bytes=size))
    for op in graph.ops:
        name = op.nodes[0]
        for result in op.results:
            owner[result] = name
        dtype, shape = shown_type(op.results[0].type)
        attributes = ", ".join(f"{key}={_short(value)}" for key, value in op.all_attrs.items())
        bytes_, flops = _costs(op, dims, known)
        operands = tuple(dict.fromkeys(owner[operand] for operand in op.operands if operand in owner))
        call, role = place.get(name, (-1, ""))
        kind = "constant" if op.name == "mo.constant" else "op"
        records.append(
            NodeRecord(
                name, len(records) + 1, op.name.removeprefix("mo."), kind, dtype, shape, attributes, operands,
                call, role, bytes_, flops, modules.get(name, ""),
            )
        )  # fmt: skip
    return tuple(records)


def call_records(model: Any, dims: Mapping[str, int]) -> tuple[CallRecord, ...]:
    """The launches in order, with the bytes they must move and their work, counted as a run counts them."""
    records = []
    host = model.host
    for index, call in enumerate(model.fusion.calls):
        # A call of a model from the cache finds its ops by fusing the graph again: not where nothing can be counted.
        sized = all(getattr(b.type, "symbols", frozenset()) <= dims.keys() for b in (*call.operands, *call.results))
        moved, work = (_counted(call_bytes, call, dims), _counted(call_flops, call, dims)) if sized else (0, 0)
        asks = launch_lines(host.calls[index], host.records[call.kernel.name].choices, dims)
        records.append(CallRecord(index, call.kernel.name, call.all_nodes, moved, work, asks))
    return tuple(records)


def kernel_record(kernel: Any) -> KernelRecord:
    """A kernel and its source."""
    return KernelRecord(kernel.name, kernel.nodes, kernel.source, len(kernel.calls))


def source_nodes(kernel: Any) -> tuple[Nodes, ...]:
    """The nodes of each line of a kernel's source."""
    slots: list[Nodes] = [
        tuple(dict.fromkeys(node for call in kernel.calls for node in call.nodes[slot]))
        for slot in range(len(kernel.fused.slots))
    ]
    return tuple(tuple(dict.fromkeys(node for slot in ids for node in slots[slot])) for ids in kernel.fused.line_slots)


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


def _costs(op: Any, dims: Mapping[str, int], known: dict[Any, tuple[int, int]]) -> tuple[int, int]:
    """The bytes and FLOPs of an op; `known` has those of its like."""
    like = (op.name, tuple(v.type for v in op.operands), tuple(v.type for v in op.results), tuple(op.attrs.items()))
    try:
        if (found := known.get(like)) is None:
            found = known[like] = _counted(op_bytes, op, dims), _counted(op_flops, op, dims)
        return found
    except TypeError:  # an attribute that is no key: an array
        return _counted(op_bytes, op, dims), _counted(op_flops, op, dims)


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
        first = [f"{item:.6g}" if isinstance(item, float) else str(item) for item in value.flat[:4].tolist()]
        value = f"[{', '.join(first + ['...'] * (value.size > 4))}]"
    text = str(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def kernel_text(model: Any, name: str, stage: str) -> StageText:
    """The text of a stage of a kernel, with what is known of its lines; of a model in the cache it is kept beside it.

    To make one means to elaborate the kernel and, from `llvm-opt` on, to have LLVM compile it alone.
    """
    kernel = model.kernel(name)
    if stage in _MADE_ANEW or large_constants(model.graph):  # texts name those by content, which is no part of the key
        return kernel.stage(stage)
    made: list[StageText] = []

    def find() -> list[Any] | None:
        made.append(found := kernel.stage(stage))
        return [found.text, found.nodes, found.places, found.library] if len(found.text) <= _MOST else None

    files = [file.file for file in model.library.files]
    kept = model.known(("text", _FORM, stage, name, files), find)
    if made:
        return made[0]
    text, *lines = kept
    return StageText(text, *(tuple(map(tuple, each)) for each in lines))
