"""What a process needs for a call when nothing else runs: from its calls that lost no processor time, if there are any.

A call that lost none took as long as it takes, whatever ran before and after it; the middle of such calls is what a
process is compared by. A process without such calls is disturbed. What it would have needed lies between two figures:
the time its calls took, and the processor time that each of its threads had for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from profiler.analysis.statistics import median_of, split_processes
from profiler.records import MeasuredRun

CLEAN = 0.02
"""What a call may have lost, as a share of its time, and count as undisturbed: two clocks are never read at once."""
_LEAST_CALLS = 3
_LEAST_SHARE = 0.01
_LOW = 0.1  # not the very least: how much a call lost is not known to a microsecond
_SHORTEST = 1e-3  # nanoseconds: a logarithm needs some
_LONGEST = 1e15


@dataclass(frozen=True, eq=False)
class Times:
    """Times of one thing in one run, in nanoseconds, with the processor time each call lost, over all its `threads`.

    `spans` are the times of the calls that lost it, where the values are of a part of each. `yardsticks` tells how long
    a fixed piece of work took in each process meanwhile, where that is known: how fast the machine itself was.
    """

    values: np.ndarray
    blocks: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    lost: np.ndarray | None = None
    threads: int = 1
    spans: np.ndarray | None = None
    yardsticks: tuple[float, ...] = ()

    @cached_property
    def parts(self) -> list[np.ndarray]:
        """The values process by process."""
        return self._apart(self.values)

    @cached_property
    def undisturbed(self) -> list[np.ndarray]:
        """Of each process, the values of the calls that lost no time."""
        return [part[share <= CLEAN] for part, share in zip(self.parts, self._shares)]

    @cached_property
    def steady(self) -> np.ndarray:
        """Which processes have undisturbed calls enough to be compared by them."""
        needed = [max(min(_LEAST_CALLS, len(part)), _LEAST_SHARE * len(part)) for part in self.parts]
        return np.array([len(found) >= least for found, least in zip(self.undisturbed, needed)])

    @cached_property
    def logs(self) -> np.ndarray:
        """The logarithm of what each process needs for a call: of its undisturbed calls, else of all."""
        every = zip(self.parts, self.undisturbed, self.steady)
        return log_medians([found if steady else part for part, found, steady in every])

    @cached_property
    def rounds(self) -> list[np.ndarray]:
        """Of each process, the logarithm of what a call needs in each of its blocks; NaN where none was undisturbed."""
        found: list[np.ndarray] = []
        if len(self.parts) != len(self.processes):
            return found
        sizes = iter(self.blocks)
        for part, share, count in zip(self.parts, self._shares, self.processes):
            ends = np.cumsum([next(sizes) for _ in range(count)])[:-1]
            blocks = zip(np.split(part, ends), np.split(share, ends))
            clean = [values[shares <= CLEAN] for values, shares in blocks]
            found.append(np.array([log_medians([values])[0] if values.size else math.nan for values in clean]))
        return found

    @cached_property
    def own_logs(self) -> np.ndarray:
        """The same, but of a disturbed process the processor time that a thread had for a call.

        Of several threads those calls tell most in which none of them waited for another, which are the ones that had
        the least.
        """
        threads = max(self.threads, 1)
        had = [part * np.maximum(1 - share / threads, 0) for part, share in zip(self.parts, self._shares)]
        least = [np.quantile(part, _LOW if threads > 1 else 0.5) for part in had]
        return np.where(self.steady, self.logs, np.log(np.maximum(least, _SHORTEST)))

    @cached_property
    def slowness(self) -> np.ndarray | None:
        """The logarithm of what the fixed piece of work took in each process."""
        known = len(self.yardsticks) == len(self.parts) and all(map(is_yardstick, self.yardsticks))
        return np.log(self.yardsticks) if known else None

    @cached_property
    def lost_share(self) -> float:
        """The share of its processor time that the run did not get."""
        taken = [np.sum(part * share) for part, share in zip(self.parts, self._shares)]
        return float(np.sum(taken) / max(np.sum(self.values) * max(self.threads, 1), 1.0))

    @cached_property
    def _shares(self) -> list[np.ndarray]:
        """What each call lost, over all threads, as a share of its time."""
        if self.lost is None or len(self.lost) != len(self.values):
            return [np.zeros(len(part)) for part in self.parts]
        spans = self.parts if self.spans is None else self._apart(self.spans)
        return [lost / np.maximum(span, _SHORTEST) for lost, span in zip(self._apart(self.lost), spans)]

    def _apart(self, values: np.ndarray) -> list[np.ndarray]:
        return split_processes(np.asarray(values, np.float64), self.blocks, self.processes)


def times_of(result: MeasuredRun) -> Times:
    """The times of a finished run's whole calls."""
    threads, lost = int(result.conditions.get("threads") or 1), np.asarray(result.lost)
    yardsticks = yardsticks_of(result.conditions)
    values = np.asarray(result.samples)
    return Times(values, result.blocks, result.processes, lost, threads, yardsticks=yardsticks)


def yardsticks_of(conditions: Mapping[str, Any]) -> tuple[float, ...]:
    """What the yardstick took in each process of a run, from what was noted when it was made; nothing in old ones."""
    found = [each.get("yardstick") for each in conditions.get("each_process") or [conditions]]
    known = [float(value) for value in found if is_yardstick(value)]
    return tuple(known) if len(known) == len(found) else ()


def is_yardstick(value: Any) -> TypeGuard[float]:
    """Whether it can be one: what is read from a file may be anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LONGEST


def log_medians(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The logarithm of the median of each part."""
    return np.array([math.log(max(median_of(part), _SHORTEST)) for part in parts])
