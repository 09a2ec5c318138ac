"""What the inspector says about a selection: sections of lines, made from the compilation's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.viewmodels.compilation import Compilation, Decision, NodeRecord
from app.viewmodels.frame.formats import flops, many, seconds, size
from app.viewmodels.requests import RunTimes
from profiler.counted import KINDS, total
from profiler.report.counted import counter_words

NOTHING: Mapping[str, str] = MappingProxyType({})
_NAMED = 12  # launches at most


@dataclass(frozen=True)
class Entry:
    """A line: a name, a value, and the nodes a click on it selects; `good` is None where there is no verdict."""

    name: str
    value: str
    nodes: tuple[str, ...] = ()
    good: bool | None = None


@dataclass(frozen=True)
class Section:
    """A heading and its lines."""

    title: str
    entries: tuple[Entry, ...]


def inspect(
    compilation: Compilation, nodes: frozenset[str], run: RunTimes | None = None, notes: Mapping[str, str] = NOTHING
) -> tuple[str, list[Section]]:
    """A title and sections for a selection; the whole model when nothing is selected. `notes` are on kernels."""
    title, sections = _inspect(compilation, nodes, run)
    about = [kernel for kernel in compilation.kernels_of(nodes) if kernel in notes] if nodes else list(notes)
    known = [Entry(kernel, notes[kernel]) for kernel in about if kernel in compilation.kernel_table]
    if known:
        sections.insert(1, Section("Notes", tuple(known)))
    return title, sections


def _inspect(compilation: Compilation, nodes: frozenset[str], run: RunTimes | None) -> tuple[str, list[Section]]:
    records = [node for node in compilation.nodes if node.name in nodes]
    if not records:
        return compilation.name, _model(compilation, run)
    if len(records) == 1:
        node = records[0]
        return node.name, [
            _node(node),
            *_kernel(compilation, node, run),
            _memory(compilation, nodes),
            *_ledger(compilation, nodes),
        ]
    calls = sorted({node.call for node in records if node.call >= 0})
    title = (
        compilation.calls[calls[0]].kernel
        if len(calls) == 1
        else f"{many(len(records), 'node')} in {many(len(calls), 'kernel')}"
    )
    sections = [_group(compilation, records, calls, run)]
    listed = tuple(
        Entry(f"{node.number}", f"{node.name}  {node.dtype} {node.shape}", (node.name,)) for node in records[:60]
    )
    sections.append(Section("Nodes", listed))
    return title, [*sections, _memory(compilation, nodes), *_ledger(compilation, nodes)]


def _model(compilation: Compilation, run: RunTimes | None) -> list[Section]:
    accepted = sum(entry.accepted for entry in compilation.ledger)
    ops = sum(node.kind == "op" for node in compilation.nodes)
    choices = compilation.choices
    entries = [
        Entry("target", choices.target),
        Entry("flow", choices.flow),
        Entry("optimisation", f"-O{choices.opt_level}"),
    ]
    if not compilation.nodes:  # zeros would read as if they had been found
        return [Section("Model", (*entries, Entry("compiled", "not yet, or it failed")))]
    entries += [
        Entry("compiled in", seconds(compilation.seconds)),
        Entry("graph", f"{many(ops, 'op')}, {many(sum(n.kind == 'input' for n in compilation.nodes), 'input')}"),
        Entry("kernels", f"{len(compilation.kernels)}, launched {many(len(compilation.calls), 'time')}"),
        Entry("fusion", f"{many(accepted, 'edge')} fused, {len(compilation.ledger) - accepted} not"),
        Entry("memory peak", size(compilation.peak) if not compilation.plan_note else compilation.plan_note),
        Entry("work", flops(sum(call.flops for call in compilation.calls)) + " (estimated)"),
        Entry("traffic", size(sum(call.bytes for call in compilation.calls)) + " (estimated)"),
    ]
    if compilation.tuned:
        entries.append(
            Entry("tuned", f"{len(compilation.tuned)} kernels: {', '.join(k for k, _ in compilation.tuned)}")
        )
    if compilation.dims:
        entries.insert(3, Entry("sizes", ", ".join(f"{name}={value}" for name, value in compilation.dims)))
    if run is not None and run.summary is not None:
        entries.append(Entry("run, median", seconds(run.summary.median)))
    kernels = tuple(Entry(f"{k.calls}\u00d7", k.name, k.nodes) for k in compilation.kernels)
    return [Section("Model", tuple(entries)), Section("Kernels", kernels)]


def _node(node: NodeRecord) -> Section:
    entries = [
        Entry("number", str(node.number)),
        Entry("op", node.op),
        Entry("type", f"{node.dtype} {node.shape}".strip()),
    ]
    if node.attributes:
        entries.append(Entry("attributes", node.attributes))
    for position, operand in enumerate(node.operands):
        entries.append(Entry("operands" if position == 0 else "", operand, (operand,)))
    if node.kind == "op":
        entries.append(Entry("work", f"{flops(node.flops)} (estimated)"))
    return Section("Node", tuple(entries))


def _kernel(compilation: Compilation, node: NodeRecord, run: RunTimes | None) -> list[Section]:
    if node.call < 0:
        return []
    call = compilation.calls[node.call]
    entries = [
        Entry("name", call.kernel, call.nodes),
        Entry("launch", f"{call.index + 1} of {len(compilation.calls)}"),
        Entry("role here", node.role or "part of it"),
        Entry("moves", f"{size(call.bytes)} (estimated)"),
        Entry("work", f"{flops(call.flops)} (estimated)"),
        *(Entry(name, words) for name, words in call.asks),
    ]
    if words := dict(compilation.tuned).get(call.kernel):
        entries.append(Entry("tuned to", words))
    if run is not None and call.index < len(run.summaries):
        entries.append(Entry("time, median", f"{seconds(run.summaries[call.index].median)} (measured)"))
    return [Section("Kernel", (*entries, *_counted([call.index], run)))]


def _group(compilation: Compilation, records: list[NodeRecord], calls: list[int], run: RunTimes | None) -> Section:
    moved = sum(compilation.calls[call].bytes for call in calls)
    work = sum(compilation.calls[call].flops for call in calls)
    entries = [
        Entry("nodes", str(len(records))),
        Entry("launch" if len(calls) == 1 else "launches", _launches(calls, len(compilation.calls))),
        Entry("moves", f"{size(moved)} (estimated)"),
        Entry("work", f"{flops(work)} (estimated)"),
        *(Entry(name, words) for name, words in (compilation.calls[calls[0]].asks if len(calls) == 1 else ())),
    ]
    if run is not None:
        spent = sum(run.summaries[call].median for call in calls if call < len(run.summaries))
        entries.append(Entry("time, median", f"{seconds(spent)} (measured)"))
    return Section("Selection", (*entries, *_counted(calls, run)))


def _launches(calls: Sequence[int], of: int) -> str:
    """Which ones: `2 of 7`, as a node's launch is told; a number alone would read as how many."""
    more = ["..."] if len(calls) > _NAMED else []
    return f"{', '.join([*(str(call + 1) for call in calls[:_NAMED]), *more])} of {of}" if calls else "none"


def _counted(calls: Sequence[int], run: RunTimes | None) -> list[Entry]:
    """What the device counted over some launches, beside what was estimated above."""
    if run is None or run.sampling is None:
        return []
    found = total([launch for launch in run.sampling.counted if launch.position in calls])
    if found is None:
        return []
    values = [(kind, getattr(found, kind.field)) for kind in KINDS]
    return [Entry(kind.words, f"{counter_words(kind, v)} (measured)") for kind, v in values if v is not None]


def _memory(compilation: Compilation, nodes: frozenset[str]) -> Section:
    blocks = [block for block in compilation.blocks if not nodes.isdisjoint(block.nodes) or block.name in nodes]
    entries = tuple(
        Entry(
            block.name,
            f"{size(block.size)} at {block.offset:,}, launches {block.first + 1} to {block.last + 1}",
            block.nodes,
        )
        for block in blocks
    )
    return Section("Memory", entries)


def _ledger(compilation: Compilation, nodes: frozenset[str]) -> list[Section]:
    found = [entry for entry in compilation.ledger if entry.producer in nodes or entry.consumer in nodes]
    return [Section("Fusion ledger", tuple(ledger_entry(entry) for entry in found))] if found else []


def ledger_entry(entry: Decision) -> Entry:
    """A decision as a line."""
    word = "fused" if entry.accepted else "not fused"
    known = entry.bytes_saved.isdigit() and entry.bytes_saved != "0"
    saved = f", saves {size(int(entry.bytes_saved))}" if entry.accepted and known else ""
    return Entry(
        f"{entry.producer} \u2192 {entry.consumer}", f"{word} by {entry.rule}: {entry.reason}{saved}",
        (entry.producer, entry.consumer), entry.accepted,
    )  # fmt: skip
