"""Which lines of the kernel language two sampled runs spend another share of their time in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiler.sampled import PLACES, Sampling

_LEAST = 0.01
_SURE = 3.29
"""A share has changed if it moved by a point at least, and further than one in a thousand pairs of equal ones would."""


@dataclass(frozen=True)
class LineChange:
    """A line whose share of the samples in kernels is another on the last side than on the first."""

    file: str
    line: int
    text: str
    shares: tuple[float, ...]


def changed_lines(sides: Sequence[Sampling | None]) -> tuple[LineChange, ...]:
    """Lines whose share changed from the first side to the last, largest change first; lines that moved are the same.

    Nothing where one of the two was not sampled.
    """
    first, last = sides[0], sides[-1]
    if first is None or last is None or not first.inside or not last.inside:
        return ()
    tables = [_counts(side) if side is not None else {} for side in sides]
    found: list[LineChange] = []
    for key in dict.fromkeys(key for table in (tables[0], tables[-1]) for key in table):
        counts = [table.get(key, (0.0, 0))[0] for table in tables]
        totals = [side.inside if side is not None else 0 for side in sides]
        shares = tuple(count / total if total else 0.0 for count, total in zip(counts, totals, strict=True))
        if _differs(counts[0], totals[0], counts[-1], totals[-1]):
            line = next(table[key][1] for table in reversed(tables) if key in table)
            found.append(LineChange(key[0], line, key[1], shares))
    return tuple(sorted(found, key=lambda change: -abs(change.shares[-1] - change.shares[0])))


def _counts(found: Sampling) -> Mapping[tuple[str, str], tuple[float, int]]:
    """Samples by the file's name and what the line says, over all kernels, and the number of the line."""
    counts: dict[tuple[str, str], tuple[float, int]] = {}
    for kernel in found.kernels:
        stage = kernel.stage(PLACES)
        for line in stage.lines if stage is not None else ():
            key = (line.file.rsplit("/", 1)[-1], line.text or f"line {line.line}")
            counts[key] = (counts.get(key, (0.0, 0))[0] + line.count, line.line)
    return counts


def _differs(a: float, n: int, b: float, m: int) -> bool:
    """Two proportions: further apart than sampling alone makes them, and by so much that anybody cares."""
    together = (a + b) / (n + m)
    spread = math.sqrt(max(together * (1 - together), 0.0) * (1 / n + 1 / m))
    difference = abs(a / n - b / m)
    return difference >= _LEAST and difference > _SURE * spread
