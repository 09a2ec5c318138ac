"""How a model is timed: warm-up, then blocks of calls until the median is known well enough or the budget is spent.

Each block times the whole model untraced, then the same number of calls traced, launch by launch. Every sample is kept,
and with it the processor time that other programs took from it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, sleep

import numpy as np

from compiler.program.result_memory import aligned_empty
from profiler.analysis.statistics import order_interval
from profiler.analysis.undisturbed import CLEAN
from profiler.measure.counters import waited_nanoseconds
from profiler.measure.cpu import yardstick
from profiler.measure.cpu.native import BoundProgram
from profiler.measure.machine import cache_sizes

BLOCKS = 12
MOST_BLOCKS = 200
MOST_SAMPLES = 20_000
MOST_SETS = 64
UNDISTURBED = 6
"""Calls that lost no processor time and are waited for, as long as there is `patience`."""
_PATIENCE, _LEAST_PATIENCE = 4, 2.0
_TOGETHER = 64
_APART = 10e-3
"""The longest pause before a block on a busy machine: threads that share their processors with others by turns could
have their turns one after the other for good, and none together."""
_LONG_BLOCK = 0.05
"""Seconds within which calls of a block are begun, unless the budget has more for each block."""
_WARM_SECONDS = 0.05
_SETTLED = 5e-3
"""Seconds at the beginning of a turn that are not timed: whoever handed it out still works on that, which may be three
processes where the turn came from another machine or by way of a scheduler, and would disturb one side only."""
_CLOCK_SECONDS = 100e-6
"""How far apart the clock of processor time is read: it costs up to a microsecond, so this is one percent of it."""


Turn = Callable[[int], bool]
"""Whether there is one more block to time, said when it may begin; it is told how many undisturbed calls there are."""


def patience(budget: float) -> float:
    """Seconds within which undisturbed calls are waited for: the budget some times over, and no less than a little."""
    return max(_PATIENCE * budget, _LEAST_PATIENCE)


@dataclass(frozen=True)
class Timing:
    """Nanoseconds of whole calls, of each launch, and of each launch on each thread; block sizes; one traced call.

    `lost` and `lost_traced` are the nanoseconds of processor time that whole and traced calls did not get. `yardstick`
    is what the yardstick took meanwhile, also in nanoseconds.
    """

    samples: np.ndarray
    launches: np.ndarray  # [calls of the model, launches]
    threads: np.ndarray  # [calls of the model, threads, launches]
    blocks: tuple[int, ...]
    timeline: np.ndarray
    reached: bool
    sets: int
    lost: np.ndarray
    lost_traced: np.ndarray
    yardstick: float


def buffer_sets(arrays: Sequence[np.ndarray], output_bytes: int, rotate: bool) -> list[list[np.ndarray]]:
    """Copies of the inputs: together with their outputs they are twice the largest cache, within reason."""
    size = sum(array.nbytes for array in arrays) + output_bytes
    wanted = math.ceil(2 * max(cache_sizes().values()) / max(size, 1)) if rotate else 1
    return [[_copy(array) for array in arrays] for _ in range(min(max(wanted, 1), MOST_SETS))]


def _copy(array: np.ndarray) -> np.ndarray:
    made = aligned_empty(array.shape, array.dtype)
    np.copyto(made, array)
    return made


def time_program(
    bound: BoundProgram, sets: int, *, repeat: int | None, width: float, budget: float,
    report: Callable[[int], None] = lambda block: None, turn: Turn | None = None,
) -> Timing:  # fmt: skip
    """Time a bound program: `repeat` calls exactly, or as many as it takes for the interval to be `width` or less; or a
    block whenever it is its `turn`, until there is none."""
    per_call = _warm_up(bound, budget)
    every = math.ceil(_CLOCK_SECONDS / per_call)
    whole: list[np.ndarray] = []
    traces: list[np.ndarray] = []
    lost: list[np.ndarray] = []
    lost_traced: list[np.ndarray] = []
    measured_by: tuple[list[np.ndarray], list[np.ndarray]] = [], []

    def block(count: int) -> np.ndarray:
        report(len(whole))
        if turn is not None:
            _settle(bound, per_call)
        first = 2 * sum(map(len, whole))
        # Where other programs run, a call that begins as threads are being woken is disturbed; the next need not be.
        busy = repeat is None and 2 * _clean_calls(lost, whole) < sum(map(len, whole))
        together = min(count << min(len(whole), 10), _TOGETHER) if busy else 1
        if busy and bound.threads > 1:
            sleep(random.uniform(0, _APART))
        for kept, part in zip(measured_by, bound.measure_yardstick()):
            kept.append(part)
        count, seconds = max(count, together), math.inf if repeat is not None else max(budget / BLOCKS, _LONG_BLOCK)
        times, missing = _watched(bound, count, first, every, None, seconds)
        count = len(times)
        trace = bound.new_trace(count)
        _, missing_traced = _watched(bound, count, first + count, every, trace)
        whole.append(times[:, 1] - times[:, 0])
        traces.append(trace)
        lost.append(missing)
        lost_traced.append(missing_traced)
        return whole[-1]

    size, begun = block_size(per_call, budget), perf_counter()
    if turn is not None:
        while turn(_clean_calls(lost, whole)) or not whole:  # who is told so at once has something to tell all the same
            block(size)
        reached = known_well_enough(whole, width)
    else:
        reached = in_blocks(block, size, repeat=repeat, width=width, budget=budget)
    longest = patience(budget)
    while turn is None and repeat is None and perf_counter() - begun < longest and len(whole) < MOST_BLOCKS:
        if _clean_calls(lost, whole) >= UNDISTURBED:
            break
        block(size)  # other programs left hardly a call alone, and such calls are what runs are compared by
    joined = np.concatenate(traces)
    spans = joined[..., 1] - joined[..., 0]
    launches = joined[..., 1].max(axis=1) - joined[..., 0].min(axis=1)
    blocks = tuple(len(part) for part in whole)
    middle = int(np.argsort(launches.sum(axis=1))[len(launches) // 2]) if launches.size else 0
    return Timing(
        np.concatenate(whole), launches, spans, blocks, joined[middle], reached, sets,
        np.concatenate(lost), np.concatenate(lost_traced), yardstick.needed(*measured_by, bound.threads),
    )  # fmt: skip


def _clean_calls(lost: Sequence[np.ndarray], whole: Sequence[np.ndarray]) -> int:
    """Calls so far that lost no processor time."""
    return sum(int(np.sum(missing <= CLEAN * times)) for missing, times in zip(lost, whole))


def in_blocks(
    block: Callable[[int], np.ndarray], size: int, *, repeat: int | None, width: float, budget: float,
    clock: Callable[[], float] = perf_counter,
) -> bool:  # fmt: skip
    """Time `repeat` calls exactly, or blocks of `size` until the interval is `width` or less or the budget is spent.

    `block` times so many calls and gives their times. Whether the interval is narrow enough, if that was asked for.
    """
    sizes = fixed_blocks(repeat) if repeat is not None else None
    begun = clock()
    blocks: list[np.ndarray] = []
    while sizes is None or len(blocks) < len(sizes):
        blocks.append(block(sizes[len(blocks)] if sizes is not None else size))
        if sizes is None:
            if known_well_enough(blocks, width):
                return True
            if (len(blocks) >= 3 and clock() - begun > budget) or len(blocks) >= MOST_BLOCKS:
                return False
    return True


def _watched(
    bound: BoundProgram, count: int, first: int, every: int, trace: np.ndarray | None, seconds: float = math.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Times and losses of a block. A thread that sleeps of its own will loses nothing, and where the system tells how
    long threads waited for a processor, no more than that is put down as lost."""
    before = waited_nanoseconds()
    times, lost = bound.measure_watched(count, first, every, trace, seconds)
    after = waited_nanoseconds()
    if before is not None and after is not None and lost.sum() > after - before:
        lost = (lost * ((after - before) / lost.sum())).astype(np.int64)
    return times, lost


def _warm_up(bound: BoundProgram, budget: float) -> float:
    """Call until caches, branch predictors and clocks have settled; seconds a call takes then."""
    begun, calls, last = perf_counter(), 0, 0.0
    while calls < 3 or perf_counter() - begun < min(_WARM_SECONDS, budget / 4):
        times = bound.measure(1 if calls < 3 else min(calls, 50), calls)
        last = float(np.median(times[:, 1] - times[:, 0])) * 1e-9
        calls += len(times)
        if perf_counter() - begun > budget / 4:
            break
    return max(last, 1e-8)


def _settle(bound: BoundProgram, per_call: float) -> None:
    """Let a little time pass, with calls where they fit into it: caches are then as they are between calls."""
    if per_call > _SETTLED:
        sleep(_SETTLED)
        return
    begun = perf_counter()
    while perf_counter() - begun < _SETTLED:
        bound.measure(max(int(_SETTLED / per_call / 10), 1))


def block_size(per_call: float, budget: float) -> int:
    """Calls in a block, so that whole and traced calls of all blocks fit into the budget."""
    calls = budget / 2 / BLOCKS / per_call * 0.8
    return int(min(max(calls, 1), MOST_SAMPLES / BLOCKS))


def fixed_blocks(repeat: int) -> list[int]:
    """Block sizes that add up to `repeat`."""
    blocks = min(repeat, BLOCKS)
    return [repeat // blocks + (1 if i < repeat % blocks else 0) for i in range(blocks)]


def known_well_enough(blocks: Sequence[np.ndarray], width: float) -> bool:
    """Whether there are enough blocks, and the interval of their medians is within plus or minus `width`."""
    if len(blocks) < BLOCKS:
        return False
    medians = np.sort([float(np.median(block)) for block in blocks])
    low, high = order_interval(medians)
    return (high - low) / 2 <= width * float(np.median(medians))  # of nothing to do, all is known
