"""Reductions that one kernel does one after the other, where its threads can meet in between.

Two kinds: reductions of one operand over different axes, which is then read again while it is in the cache; and a
reduction of what another one comes to, row by row, like the mean of a loss. Each keeps its own text, as a function
inside the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.dims import Dim
from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import count
from compiler.passes.fusion.assemble import Emitted, parameters
from compiler.passes.fusion.groups import Group
from compiler.passes.fusion.paths import Shape
from compiler.passes.fusion.records import Buffer, Edge
from compiler.passes.fusion.text import SymbolNames


@dataclass
class _Part:
    """A kernel in the sequence, and whether threads must meet before it because it reads what others wrote."""

    made: Emitted
    waits: bool


@dataclass
class _Host:
    """A kernel to be: the group that began it, and its parts."""

    group: Group
    parts: list[_Part]


def in_sequence(groups: list[Group], emitted: list[Emitted], functions: frozenset[str], cut: frozenset[Edge]) -> None:
    """Put reductions into earlier kernels where that is possible; both lists, in the order of execution, shrink.

    `cut` are edges that are to stay between kernels.
    """
    hosts: list[_Host] = []
    writer: dict[Buffer, int] = {}  # which of them writes a buffer
    reader: dict[Buffer, int] = {}  # the last reduction among them that reads one
    for group, made in zip(groups, emitted):
        into, waits = _earlier(group, made, hosts, writer, reader, cut) if _can_be_part(group, made) else (-1, False)
        if into < 0:
            into = len(hosts)
            hosts.append(_Host(group, []))
        else:
            hosts[into].group.sequels |= group.mask
            hosts[into].group.members.update(group.members)
        hosts[into].parts.append(_Part(made, waits))
        writer.update(dict.fromkeys(made.results, into))
        if _can_be_part(group, made):
            reader.update(dict.fromkeys(made.operands, into))
    groups[:] = [host.group for host in hosts]
    emitted[:] = [_joined(h.parts, functions) if len(h.parts) > 1 else h.parts[0].made for h in hosts]


def _earlier(
    group: Group,
    made: Emitted,
    hosts: list[_Host],
    writer: dict[Buffer, int],
    reader: dict[Buffer, int],
    cut: frozenset[Edge],
) -> tuple[int, bool]:
    """The earlier kernel that can do the work of this one as well, and whether it reads what that one writes; -1 when
    there is none."""
    latest = max((writer.get(buffer, -1) for buffer in made.operands), default=-1)
    shares = reader.get(_largest(made), -1) if made.operands else -1
    for into in (latest, shares):
        if into < latest or into < 0:
            continue
        host = hosts[into]
        if not all(_can_be_part(host.group, part.made) for part in host.parts):
            continue
        if not _same_names([part.made for part in host.parts], made) or _is_cut(host.group, group, cut):
            continue
        core = host.group.core
        written = [buffer for buffer in made.operands if writer.get(buffer, -1) == into]
        if core is not None and all(count(buffer.type.shape) == core.result.numel for buffer in written):
            return into, bool(written)
    return -1, False


def _is_cut(host: Group, group: Group, cut: frozenset[Edge]) -> bool:
    """Whether the user wants an op of one and an op of the other in different kernels."""
    if not cut:
        return False
    first, second = ({node.name for node in one.members} for one in (host, group))
    return any(producer in first and consumer in second for producer, consumer in cut)


def _can_be_part(group: Group, made: Emitted) -> bool:
    """Reductions only, and none that touches buffers of the caller in the middle of things."""
    reduces = group.core is not None and bool(group.core.signature.reduction)
    return reduces and not any(buffer.kind == "mutable" for buffer in (*made.operands, *made.results))


def _same_names(parts: list[Emitted], made: Emitted) -> bool:
    """Whether the texts call every symbolic size the same."""
    pairs = {pair for part in (*parts, made) for pair in part.symbols}
    return len({new for new, _ in pairs}) == len({old for _, old in pairs}) == len(pairs)


def _largest(made: Emitted) -> Buffer:
    """The operand that takes the longest to read: of the most axes where sizes are not known."""

    def size(buffer: Buffer) -> tuple[bool, int, int]:
        elements: int | Dim = count(buffer.type.shape)
        known = isinstance(elements, int)
        return not known, len(buffer.type.shape), elements if isinstance(elements, int) else 0

    return max(made.operands, key=size)


def _joined(parts: list[_Part], functions: frozenset[str]) -> Emitted:
    """One kernel that does the work of several, in order."""
    made = [part.made for part in parts]
    results = tuple(buffer for one in made for buffer in one.results)
    outputs = [kind for one in made for kind in one.outputs]
    operands = tuple(dict.fromkeys(b for one in made for b in one.operands if b not in results))
    declared: dict[Buffer, Shape] = dict(zip(results, (kind.shape for kind in outputs)))
    for one in made:
        for buffer, kind in zip(one.operands, one.inputs):
            declared.setdefault(buffer, kind.shape)
    inputs = [TensorType.of(buffer.type.dtype, declared[buffer]) for buffer in operands]
    names = SymbolNames(functions)
    names.used = {own: own for one in made for own, _ in one.symbols}  # the parts' types are in their own names
    word = {
        buffer: f"{stem}{k}" for stem, some in (("in", operands), ("out", results)) for k, buffer in enumerate(some)
    }
    slots = tuple(sorted({node for one in made for node in one.slots}, key=lambda node: node.index))
    number = {node: k for k, node in enumerate(slots)}
    lines = parameters(names, outputs, inputs)
    marks: list[tuple[int, ...]] = [() for _ in ("@kernel", *lines)]
    calls: list[tuple[str, tuple[int, ...]]] = []
    for k, (part, one) in enumerate(zip(parts, made)):
        own = [f"out{n}" for n in range(len(one.results))] + [f"in{n}" for n in range(len(one.operands))]
        text = one.text.splitlines()
        begin = next(n for n, line in enumerate(text) if line.endswith("):")) + 1
        lines += [f"    def part{k}({', '.join(own)}):", *(f"    {line}" for line in text[begin:])]
        everything = tuple(sorted(number[node] for node in one.slots))
        inner = [tuple(sorted(number[one.slots[s]] for s in slot)) for slot in one.line_slots[begin + 1 :]]
        marks += [everything, *inner]
        given = [word[buffer] for buffer in one.results]
        for buffer, kind in zip(one.operands, one.inputs):
            same = declared[buffer] == kind.shape
            given.append(word[buffer] if same else f"{word[buffer]}.reshape({names.shape(kind.shape)})")
        if part.waits:
            calls.append(("    barrier()", everything))
        calls.append((f"    part{k}({', '.join(given)})", everything))
    return Emitted(
        text="\n".join([*lines, *(text for text, _ in calls)]) + "\n",
        line_slots=(*marks, *(slot for _, slot in calls)),
        slots=slots,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        operands=operands,
        results=results,
        values=tuple(value for one in made for value in one.values),
        symbols=tuple(sorted({pair for one in made for pair in one.symbols})),
        inplace=(),
    )
