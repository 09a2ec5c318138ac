"""Samples as a flame: graph node, kernel, line of the kernel language, instruction, each as wide as its share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.viewmodels.text.sampled_costs import HotSpot
from profiler.sampled import PLACES, HotLine, SampledKernel, Sampling

LEVELS = ("node", "kernel", "line", "instruction")
_NOWHERE = ("(no node)", "(no line)")
_LEAVES = ("sass", "asm")


@dataclass(frozen=True)
class FlameCell:
    """A part of the samples in kernels, from `begin` to `end` of them; `parent` is its place in the list, or -1.

    `spot` is the line of the kernel language to jump to: a node's and a kernel's is their hottest. An instruction has
    its line in its stage's text besides.
    """

    level: int
    begin: float
    end: float
    name: str
    node: str
    kernel: str = ""
    spot: HotSpot | None = None
    stage: str = ""
    line: int = 0
    parent: int = -1

    @property
    def share(self) -> float:
        """Of all samples in kernels."""
        return self.end - self.begin


class _Part:
    """Samples of one name, and of the parts it is made of."""

    def __init__(self, name: str, kernel: str = "", line: HotLine | None = None, stage: str = "") -> None:
        self.name, self.kernel, self.line, self.stage = name, kernel, line, stage
        self.count = 0.0
        self.parts: dict[object, _Part] = {}

    def sorted(self) -> list[_Part]:
        return sorted(self.parts.values(), key=lambda part: -part.count)


def flame_cells(found: Sampling | None) -> list[FlameCell]:
    """The cells of all levels, parents before their parts, the widest first; nothing where there are no samples."""
    if found is None or not found.inside:
        return []
    whole = _Part("")
    for kernel in found.kernels:
        _add(whole, kernel)
    cells: list[FlameCell] = []
    begin = 0.0
    for node in whole.sorted():
        _place(cells, node, 0, begin, node.name, -1, found.inside)
        begin += node.count / found.inside
    return cells


def _add(whole: _Part, kernel: SampledKernel) -> None:
    leaves = next((part for name in _LEAVES if (part := kernel.stage(name)) is not None), None)
    known = kernel.stage(PLACES)
    lines = {(line.file, line.source_line): line for line in known.lines} if known is not None else {}
    for leaf in leaves.lines if leaves is not None else ():
        line = lines.get((leaf.file, leaf.source_line)) if leaf.file else None
        words = f"{line.file.rsplit('/', 1)[-1]}:{line.source_line}  {line.text}" if line else _NOWHERE[1]
        for node in leaf.nodes or (_NOWHERE[0],):
            way = [whole.parts.setdefault(node, _Part(node))]
            way.append(way[-1].parts.setdefault(kernel.kernel, _Part(kernel.kernel, kernel.kernel)))
            way.append(way[-1].parts.setdefault((leaf.file, leaf.source_line), _Part(words, kernel.kernel, line)))
            instruction = _Part(leaf.text.strip(), kernel.kernel, leaf, leaves.stage if leaves else "")
            way.append(way[-1].parts.setdefault(leaf.line, instruction))
            for part in way:
                part.count += leaf.count / max(len(leaf.nodes), 1)


def _place(
    cells: list[FlameCell], part: _Part, level: int, begin: float, node: str, parent: int, inside: int
) -> None:  # fmt: skip
    at = len(cells)
    line = next(_lines(part), None) if level < len(LEVELS) - 1 else part.line
    spot = HotSpot(part.kernel or _kernel(part), line, part.count / inside) if line is not None else None
    leaf = part.line.line if level == len(LEVELS) - 1 and part.line is not None else 0
    cells.append(
        FlameCell(
            level, begin, begin + part.count / inside, part.name, "" if node in _NOWHERE else node, part.kernel, spot,
            part.stage, leaf, parent,
        )
    )  # fmt: skip
    for inner in part.sorted():
        _place(cells, inner, level + 1, begin, node, at, inside)
        begin += inner.count / inside


def _lines(part: _Part) -> Iterator[HotLine]:
    """The lines of the kernel language under a part, by the hottest way down."""
    if part.line is not None and not part.stage:
        yield part.line
    for inner in part.sorted():
        yield from _lines(inner)


def _kernel(part: _Part) -> str:
    return next((inner.kernel for inner in part.sorted() if inner.kernel), "")
