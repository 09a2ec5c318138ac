"""How a model on a device is timed: as on the CPU, with warm-up, rotating buffers and blocks of calls until the median
is known well enough. Each call is timed launch by launch with events, and every sample is kept.

Nothing here calls the driver, so that it can be tried without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from profiler.measure.cpu.timing import MOST_SETS, block_size, in_blocks

if TYPE_CHECKING:
    from profiler.measure.cuda.resident import Resident

_WARM_SECONDS = 0.05
_SHARE_OF_MEMORY = 4
"""Rotating buffers take at most one part in so many of the memory that is free."""


@dataclass(frozen=True)
class CudaTiming:
    """Milliseconds of each launch of each call, block sizes, and whether the interval became narrow enough."""

    traces: tuple[tuple[float, ...], ...]
    blocks: tuple[int, ...]
    reached: bool


def rotating_sets(size: int, cache: int, free: int, rotate: bool) -> int:
    """How many copies of a program's buffers (`size` bytes) it takes so that none sits in a cache of `cache` bytes."""
    if not rotate or size <= 0:
        return 1
    wanted = math.ceil(2 * cache / size)
    affordable = 1 + free // _SHARE_OF_MEMORY // size
    return max(min(wanted, MOST_SETS, affordable), 1)


def time_residents(
    residents: Sequence[Resident], *, repeat: int | None, width: float, budget: float,
    clock: Callable[[], float] = perf_counter, report: Callable[[int], None] = lambda call: None,
) -> CudaTiming:  # fmt: skip
    """Time calls on each of some sets of buffers in turn: `repeat` of them, or until the interval is `width` or less.

    `report` is told how many calls have been made before each of them.
    """
    per_call, made = _warm_up(residents, budget, clock, report)
    blocks: list[list[tuple[float, ...]]] = []

    def block(count: int) -> np.ndarray:
        blocks.append([])
        first = made + sum(map(len, blocks))
        for number in range(first, first + count):
            report(number)
            launches = residents[number % len(residents)].trace()
            blocks[-1].append(tuple(float(launch.milliseconds) for launch in launches))
        return np.array([sum(call) for call in blocks[-1]])

    size = block_size(per_call, 2 * budget)  # a call is traced and timed in one go here
    reached = in_blocks(block, size, repeat=repeat, width=width, budget=budget, clock=clock)
    traces = tuple(call for taken in blocks for call in taken)
    return CudaTiming(traces, tuple(map(len, blocks)), reached)


def _warm_up(
    residents: Sequence[Resident], budget: float, clock: Callable[[], float], report: Callable[[int], None]
) -> tuple[float, int]:
    """Call until the clocks have settled; the seconds a timed call takes then, and how many calls that was."""
    begun, made = clock(), 0
    limit = min(_WARM_SECONDS, budget / 4)
    while made < 3 or clock() - begun < limit:
        report(made)
        resident = residents[made % len(residents)]
        resident.launch()
        resident.synchronize()
        made += 1
    start = clock()
    for _ in range(3):
        report(made)
        residents[made % len(residents)].trace()
        made += 1
    return max((clock() - start) / 3, 1e-6), made
