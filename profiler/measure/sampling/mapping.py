"""From instruction pointers to lines: of the listing, of the kernel language, of every stage between, and to nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from compiler.backend.provenance import NOWHERE, Written
from compiler.model import Kernel
from profiler.measure.sampling.lined import LinedKernel, LoadedRanges, instruction_lines
from profiler.sampled import PLACES, HotLine, SampledKernel, StageHeat, text_digest

_REASONS = 6
_STAGES = ("kgen", "kernel", "llvm", "llvm-opt")


def sampled_kernels(
    addresses: np.ndarray, ranges: LoadedRanges, kernels: Sequence[LinedKernel], seconds: Mapping[str, Sequence[float]]
) -> tuple[SampledKernel, ...]:
    """The samples of each kernel, most first. `seconds` are what each call of a kernel took, in the model's order:
    a kernel that is called for several nodes divides its samples among them by that."""
    where = ranges.find(addresses)
    found: list[SampledKernel] = []
    for number, lined in enumerate(kernels):
        own = np.flatnonzero((where >= 0) & (ranges.owners[where] == number))
        if own.size:
            functions = [(ranges.names[at], int(addresses[k] - ranges.starts[at])) for k, at in zip(own, where[own])]
            found.append(_sampled_kernel(lined, functions, seconds.get(lined.kernel.name, ())))
    return tuple(sorted(found, key=lambda kernel: -kernel.samples))


@dataclass(frozen=True)
class OwnLines:
    """A stage whose lines were sampled themselves: its text, the place of each line, samples by line (from 0)."""

    stage: str
    text: str
    places: Sequence[Written]
    counts: Mapping[int, int]
    stalls: Mapping[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)


def _sampled_kernel(lined: LinedKernel, samples: Sequence[tuple[str, int]], seconds: Sequence[float]) -> SampledKernel:
    known = instruction_lines(lined)
    text, places = lined.places("asm")
    lines: Counter[int] = Counter()
    for function, offset in samples:
        if function in known:
            offsets, at = known[function]
            lines[at[int(np.searchsorted(offsets, offset, "right")) - 1]] += 1
    own = [OwnLines("asm", text, places, lines)]
    return sampled_record(lined.kernel, len(samples), own, lined.places, seconds)


def sampled_record(
    kernel: Kernel, samples: int, own: Sequence[OwnLines], places_of: Callable[[str], tuple[str, Sequence[Written]]],
    seconds: Sequence[float],
) -> SampledKernel:  # fmt: skip
    """A kernel's samples on the lines of every stage: of the first of its `own`, from which the others follow."""
    by_place: Counter[Written] = Counter()
    stalls: dict[tuple[str, int], Counter[str]] = {}
    for line, count in own[0].counts.items():
        place = own[0].places[line]
        by_place[place] += count
        if line in own[0].stalls:
            stalls.setdefault(place[:2], Counter()).update(dict(own[0].stalls[line]))
    stages = [_hot_lines(each.stage, each.text, each.places, each.counts, kernel, each.stalls) for each in own]
    stages += [_kernel_language(by_place, stalls, kernel), _source(by_place, kernel)]
    stages += [_divided(stage, *places_of(stage), by_place, kernel) for stage in _STAGES]
    return SampledKernel(
        kernel.name, samples, sum(count for place, count in by_place.items() if place[1]),
        tuple(_nodes(by_place, kernel, seconds).items()), tuple(stage for stage in stages if stage.lines),
    )  # fmt: skip


def _hot_lines(
    stage: str, text: str, places: Sequence[Written], counts: Mapping[int, float], kernel: Kernel,
    stalls: Mapping[int, tuple[tuple[str, int], ...]] | None = None,
) -> StageHeat:  # fmt: skip
    """A stage's lines with their samples, each with its nodes and its place."""
    written = text.splitlines()
    numbers = sorted(counts)
    nodes = kernel.with_nodes(text, [places[at][2] for at in numbers]).nodes
    hot = [
        HotLine(
            at + 1, round(counts[at], 3), written[at].strip().replace("\t", " "), own, places[at][0], places[at][1],
            (stalls or {}).get(at, ()),
        )
        for at, own in zip(numbers, nodes, strict=True)
    ]  # fmt: skip
    return StageHeat(stage, text_digest(text), tuple(hot))


def _divided(
    stage: str, text: str, places: Sequence[Written], by_place: Mapping[Written, int], kernel: Kernel
) -> StageHeat:
    """The samples of each place among the lines that have it. Where a helper was expanded later, the nodes of its lines
    are not its callers' yet: then the lines of the same file and line."""
    exact: dict[Written, list[int]] = {}
    loose: dict[tuple[str, int], list[int]] = {}
    for number, place in enumerate(places):
        if place != NOWHERE and place[1]:
            exact.setdefault(place, []).append(number)
            loose.setdefault(place[:2], []).append(number)
    counts: dict[int, float] = {}
    for place, count in by_place.items():
        lines = exact.get(place) or loose.get(place[:2], [])
        for number in lines:
            counts[number] = counts.get(number, 0.0) + count / len(lines)
    return _hot_lines(stage, text, places, counts, kernel)


def _kernel_language(
    by_place: Mapping[Written, int], stalls: Mapping[tuple[str, int], Counter[str]], kernel: Kernel
) -> StageHeat:
    """The lines of the kernel library, and of the kernel's own source, that the code was written in."""
    counts: Counter[tuple[str, int]] = Counter()
    nodes: dict[tuple[str, int], dict[str, None]] = {}
    for (file, line, provenance), count in by_place.items():
        if line:
            counts[file, line] += count
            (own,) = kernel.with_nodes("", [provenance]).nodes
            nodes.setdefault((file, line), {}).update(dict.fromkeys(own))
    texts = {file: _lines_of(file, kernel) for file, _ in counts}
    hot = [
        HotLine(
            line, count, _line(texts[file], line), tuple(nodes[file, line]), file, line,
            tuple(stalls[file, line].most_common(_REASONS)) if (file, line) in stalls else (),
        )
        for (file, line), count in sorted(counts.items())
    ]  # fmt: skip
    return StageHeat(PLACES, "", tuple(hot))


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1].strip() if number <= len(lines) else ""


def _lines_of(file: str, kernel: Kernel) -> list[str]:
    if file == f"{kernel.name}.py":
        return kernel.source.splitlines()
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _source(by_place: Mapping[Written, int], kernel: Kernel) -> StageHeat:
    """The lines of the kernel's own source: those written there, and those that called what was written elsewhere."""
    slots, table = kernel.fused.line_slots, kernel.record.provenance
    counts: dict[int, float] = {}
    for (file, line, provenance), count in by_place.items():
        if file == f"{kernel.name}.py" and 0 < line <= len(slots):
            lines = [line - 1]
        else:
            own = table[provenance] if 0 < provenance < len(table) else ()
            lines = [at for at, known in enumerate(slots) if own and tuple(known) == tuple(own)]
        for number in lines:
            counts[number] = counts.get(number, 0.0) + count / len(lines)
    text = kernel.source
    places: list[Written] = [NOWHERE] * (text.count("\n") + 1)
    numbers = {tuple(own): number for number, own in enumerate(table)}
    for at in counts:
        places[at] = (f"{kernel.name}.py", at + 1, numbers.get(tuple(slots[at]), 0))
    return _hot_lines("source", text, places, counts, kernel)


def _nodes(by_place: Mapping[Written, int], kernel: Kernel, seconds: Sequence[float]) -> dict[str, float]:
    """The samples of each graph node: evenly among those that a line has, and among calls by how long they took."""
    table = kernel.record.provenance
    times = list(seconds) if len(seconds) == len(kernel.calls) and sum(seconds) > 0 else [1.0] * len(kernel.calls)
    found: dict[str, float] = {}
    for (_, _, provenance), count in by_place.items():
        slots = table[provenance] if 0 < provenance < len(table) else ()
        for call, time in zip(kernel.calls, times, strict=True):
            for slot in slots:
                for node in call.nodes[slot]:
                    share = count * time / sum(times) / len(slots) / len(call.nodes[slot])
                    found[node] = found.get(node, 0.0) + share
    return {node: round(count, 3) for node, count in sorted(found.items(), key=lambda item: -item[1])}
