"""Fusion: a graph in, kernels in the kernel language and their calls out. The steps, in order."""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import replace
from functools import partial

from xdsl.ir import Operation

from compiler.language.library import Library
from compiler.options import CompileOptions
from compiler.passes.fusion.analysis import Analysis, Node, Value
from compiler.passes.fusion.assemble import Emitted
from compiler.passes.fusion.choices import Choices
from compiler.passes.fusion.emit import emit
from compiler.passes.fusion.epilogue import fuse_epilogues
from compiler.passes.fusion.groups import Group, Groups
from compiler.passes.fusion.ledger import write_ledger
from compiler.passes.fusion.pull import pull
from compiler.passes.fusion.records import (
    Edge,
    FusedGraph,
    FusedKernel,
    FusionResult,
    KernelCall,
    Origin,
)
from compiler.passes.fusion.rows.join import member_below
from compiler.passes.fusion.rows.text import ROW_PHASES
from compiler.passes.fusion.siblings.sequence import in_sequence
from compiler.targets import emission_of

_DRIVER = "kg.elementwise"
_LONGEST = 5  # ops that a kernel is named after
_UNNAMED = "\ue000"  # what a source is called while its hash, a part of its name, is taken


def fuse(graph: Operation, library: Library, options: CompileOptions | None = None) -> FusionResult:
    """Divide a `mo.graph` into kernels. The graph is read, never changed; equal graphs give equal text."""
    options = options or CompileOptions()
    analysis = Analysis(graph, library, options.target)
    options = _named(options, analysis)
    choices = Choices(options)
    groups = fuse_epilogues(analysis, choices, rows=ROW_PHASES in library.names())
    placed = pull(analysis, groups, choices)
    ordered = [group for group in _in_order(analysis, groups) if not _is_empty(group)]
    driver = getattr(library.signature(_DRIVER), "name", "elementwise")
    functions = frozenset(n.signature.name for n in analysis.nodes if n.signature is not None) | {driver, ROW_PHASES}
    functions |= {value.opaque[0] for value in analysis.values() if value.opaque is not None}
    emitted = [emit(group, groups, functions, driver) for group in ordered]
    if options.fuse and emission_of(options.target).grid is None:  # threads of a grid cannot meet
        in_sequence(ordered, emitted, functions, options.force_cut)
    origin = Origin(lambda: fused)
    kernels, calls = _share(ordered, emitted, library, origin)
    computed_in: dict[Node, list[Group]] = {}
    for group, made in zip(ordered, emitted):
        for node in made.slots:
            computed_in.setdefault(node, []).append(group)
    result = FusionResult(
        name=graph.properties["sym_name"].data,  # type: ignore[attr-defined]
        kernels=kernels,
        calls=calls,
        inputs=tuple(value.buffer for value in analysis.inputs),
        outputs=tuple(buffer for buffer in placed.outputs if buffer is not None),
        constants=tuple(reversed(placed.constants)),
        ledger=write_ledger(analysis, groups, computed_in, choices),
        origin=origin,
    )
    fused = FusedGraph(
        graph,
        result,
        ops=tuple(tuple(node.op for node in made.slots) for made in emitted),
        values=tuple(made.values for made in emitted),
        stored={value.ssa: value.buffer for value in analysis.values() if value.buffer is not None},
    )
    groups.release()
    analysis.release()
    return result


def _named(options: CompileOptions, analysis: Analysis) -> CompileOptions:
    """The options with edges between ops as the ledger names them: one that stands for several nodes has one name."""
    if not options.force_cut and not options.force_fuse:
        return options
    names = {alias: node.name for node in analysis.nodes for alias in node.nodes}
    names |= {node.name: node.name for node in analysis.nodes}

    def named(edges: frozenset[Edge]) -> frozenset[Edge]:
        return frozenset((names.get(one, one), names.get(two, two)) for one, two in edges)

    return replace(options, force_cut=named(options.force_cut), force_fuse=named(options.force_fuse))


def _is_empty(group: Group) -> bool:
    """Whether a group has nothing to do: no results, or only results without elements."""
    return all(0 in store.buffer.type.shape for store in group.stores)


def _in_order(analysis: Analysis, groups: Groups) -> list[Group]:
    """Groups so that each comes after those it reads from, otherwise in the order of the graph."""
    live = [g for g in groups.all if g.final is g and g.stores]
    sources = _sources(analysis, groups)
    before: dict[Group, set[Group]] = {}
    after: dict[Group, list[Group]] = {group: [] for group in live}
    for group in live:
        read = [
            operand for node in group.members for operand in (*node.operands, *node.after) if not _has(group, operand)
        ]
        read += [store.register for store in group.stores]
        needed = frozenset[Group]().union(*(sources[value.node] for value in read if value.node is not None))
        before[group] = {g for g in needed if g.stores and g is not group}
        for source in before[group]:
            after[source].append(group)
    rank = {group: _place(group, len(analysis.nodes)) for group in live}
    waiting = {group: len(before[group]) for group in live}
    ready = [(rank[g], g.number, g) for g in live if not waiting[g]]
    heapq.heapify(ready)
    ordered: list[Group] = []
    while ready:
        group = heapq.heappop(ready)[2]
        ordered.append(group)
        for follower in after[group]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (rank[follower], follower.number, follower))
    assert len(ordered) == len(live), "fusion made a cycle"
    return ordered


def _place(group: Group, behind: int) -> int:
    """Where a group stands in the order of the graph: a kernel where its op does, as what that reads was most likely
    written just before; others where all they need is there; behind the graph what is only copied."""
    if group.core is not None:
        return group.core.index
    return max((node.index for node in group.members), default=behind + group.number)


def _has(group: Group, value: Value) -> bool:
    """Whether a row kernel computes what a value shows, and so reads nothing for it, though others may store it."""
    return group.rows is not None and member_below(value, group) is not None


def _sources(analysis: Analysis, groups: Groups) -> dict[Node, frozenset[Group]]:
    """The groups that must run before a node's value can be read; views and the like lead on to what they show."""
    found: dict[Node, frozenset[Group]] = {}
    for node in analysis.nodes:
        owner = groups.owner.get(node)
        if owner is not None:
            found[node] = frozenset((owner.merged,))
        else:
            found[node] = frozenset().union(
                *(found[u.node] for u in (*node.operands, *node.after) if u.node is not None)
            )
    return found


def _share(
    groups: list[Group], emitted: list[Emitted], library: Library, origin: Origin
) -> tuple[tuple[FusedKernel, ...], tuple[KernelCall, ...]]:
    """Kernels with the same text become one; each gets a name from the ops inside."""
    known: dict[object, FusedKernel] = {}
    taken: dict[str, int] = {}  # by name, the number that was last put behind it
    names = frozenset(library.names())
    calls: list[KernelCall] = []
    for number, (group, made) in enumerate(zip(groups, emitted)):
        slots = tuple(node.op.name for node in made.slots)
        key = (made.text, made.line_slots, slots)
        kernel = known.get(key)
        if kernel is None:
            name = _free_name(_name(made), taken, names)
            kernel = known[key] = FusedKernel(
                name=name,
                source=made.source(name),
                line_slots=made.line_slots,
                slots=slots,
                inputs=made.inputs,
                outputs=made.outputs,
                symbols=tuple(new for new, _ in made.symbols),
                inplace=made.inplace,
            )
        calls.append(
            KernelCall(
                kernel=kernel,
                operands=made.operands,
                results=made.results,
                nodes=tuple(node.nodes for node in made.slots),
                symbols=tuple(old for _, old in made.symbols),
                roles=tuple(map(partial(_role, group), made.slots)),
                number=number,
                origin=origin,
            )
        )
    return tuple(known.values()), tuple(calls)


def _role(group: Group, node: Node) -> str:
    return group.members.get(node, "constant" if node.kind == "literal" else "view")


def _name(made: Emitted) -> str:
    """A name from the ops inside: all of them when few, else the first and a hash of the text."""
    parts = [n.signature.name for n in made.slots if n.kind in ("elementwise", "pointwise", "kernel")]
    if not parts:
        parts = [n.signature.name for n in made.slots if n.kind == "view"][:_LONGEST] or ["copy"]
    if len(parts) > _LONGEST:
        return "_".join([*parts[: _LONGEST - 1], hashlib.sha256(made.source(_UNNAMED).encode()).hexdigest()[:4]])
    return "_".join(parts)


def _free_name(name: str, taken: dict[str, int], library: frozenset[str]) -> str:
    """The name, made different from the library's own functions and from other kernels; it is taken from then on."""
    if name in library:
        name += "_kernel"
    free, number = name, taken.get(name, 0)
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken[name] = max(number, 1)
    taken.setdefault(free, 1)
    return free
