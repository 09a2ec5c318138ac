"""Which part of the graph each group lies in, so that who looks for a way between groups looks only where one may be.

Ops are numbered in the order of the graph, and depend on lower numbers only. Where no group has ops on both sides of a
number, nothing below it can depend on anything above it, groups or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Member = TypeVar("Member")
_SHIFT = 5  # numbers are looked at in runs of 32


class Spans(Generic[Member]):
    """Groups by the numbers of their first and last op."""

    def __init__(self) -> None:
        self._runs: dict[Member, tuple[int, int]] = {}  # of the first and the last op
        self._first: dict[int, dict[Member, None]] = {}  # groups by the run of their first op
        self._crossing: dict[int, int] = {}  # how many groups lie on both sides of the beginning of a run

    def cover(self, group: Member, first: int, last: int) -> None:
        """Say where a group lies; it only ever grows."""
        low, high = first >> _SHIFT, last >> _SHIFT
        known = self._runs.get(group)
        if known == (low, high):
            return
        self._runs[group] = low, high
        if known is None:
            self._first.setdefault(low, {})[group] = None
            self._cross(range(low + 1, high + 1), 1)
            return
        if known[0] != low:
            del self._first[known[0]][group]
            self._first.setdefault(low, {})[group] = None
            self._cross(range(low + 1, known[0] + 1), 1)
        self._cross(range(known[1] + 1, high + 1), 1)

    def remove(self, group: Member) -> None:
        """Forget a group."""
        known = self._runs.pop(group, None)
        if known is not None:
            del self._first[known[0]][group]
            self._cross(range(known[0] + 1, known[1] + 1), -1)

    def _cross(self, runs: range, change: int) -> None:
        for run in runs:
            self._crossing[run] = self._crossing.get(run, 0) + change

    def reaching_up_to(self, number: int, last: int) -> Iterator[Member]:
        """Groups that begin before `last` and through which an op of at least `number` may be needed."""
        run = number >> _SHIFT
        while self._crossing.get(run):
            run -= 1
        for at in range(run, (last >> _SHIFT) + 1):
            yield from self._first.get(at, ())
