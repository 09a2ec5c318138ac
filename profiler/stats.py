"""Statistics of times: medians with intervals, outliers, and whether two sets of times differ measurably.

Times of one run come in blocks (each with buffers of its own), and times in a block resemble each other more than times
of another block do. So the block is what is resampled: treating every call as independent would find differences
between a run and itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
FLOOR, BUSY_FLOOR = 0.02, 0.04
"""Differences below this share are never called: two processes that run the same code differ by so much, by where their
memory happens to lie; more on a machine that was busy with other things."""
_RESAMPLES = 1000

FASTER, SLOWER, SAME = "faster", "slower", "no measurable difference"


def stated_test(floor: float = FLOOR) -> str:
    """The test behind a verdict, as every comparison states it."""
    return (
        f"block bootstrap of the ratio of medians ({_RESAMPLES} resamples, {CONFIDENCE:.0%} interval) and Mann-Whitney "
        f"rank test of block medians (p < 0.01); differences under {floor:.0%} are not called"
    )


@dataclass(frozen=True)
class Summary:
    """The middle and the spread of some times, in seconds; `outliers` are kept in all of it, and counted."""

    median: float
    low: float
    high: float
    minimum: float
    maximum: float
    count: int
    outliers: int

    @property
    def width(self) -> float:
        """Half the interval's width as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else math.inf


def summarise(nanoseconds: Sequence[int] | np.ndarray, blocks: Sequence[int] = ()) -> Summary:
    """Median, its interval and extremes of some times in nanoseconds."""
    times = np.sort(np.asarray(nanoseconds, dtype=np.float64)) * 1e-9
    if not times.size:
        raise ValueError("no times")
    parts = split_blocks(np.asarray(nanoseconds, dtype=np.float64) * 1e-9, blocks)
    # With enough blocks their medians tell how the median moves; with few, the order statistics have to do.
    if len(parts) >= 6:
        low, high = order_interval(np.sort([np.median(part) for part in parts]))
        middle = float(np.median(times))
        low, high = min(low, middle), max(high, middle)
    else:
        low, high = order_interval(times)
    first, third = np.quantile(times, (0.25, 0.75))
    outliers = int(np.sum(times > third + 3 * (third - first)))
    return Summary(float(np.median(times)), low, high, float(times[0]), float(times[-1]), times.size, outliers)


def split_blocks(values: np.ndarray, blocks: Sequence[int]) -> list[np.ndarray]:
    """The values block by block; all of them in one where the sizes do not say."""
    if not blocks or sum(blocks) != values.size:
        return [values]
    return [part for part in np.split(values, np.cumsum(blocks)[:-1]) if part.size]


def order_interval(ordered: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """An interval for the median that assumes nothing about the distribution: two of the ordered values."""
    count = len(ordered)
    if count < 6:
        return float(ordered[0]), float(ordered[-1])
    # The number of values below the median is binomial(count, 1/2).
    reach = 1.959964 * math.sqrt(count) / 2 if confidence == CONFIDENCE else 2.575829 * math.sqrt(count) / 2
    low = max(math.floor(count / 2 - reach), 0)
    high = min(math.ceil(count / 2 + reach), count - 1)
    return float(ordered[low]), float(ordered[high])


@dataclass(frozen=True)
class Verdict:
    """B against A: the ratio of medians with its interval, the rank test's p, and what that means."""

    ratio: float
    low: float
    high: float
    p: float
    verdict: str
    enough: bool
    """Whether there were blocks enough to tell a difference at all."""


def compare_times(
    a: Sequence[int] | np.ndarray, b: Sequence[int] | np.ndarray, a_blocks: Sequence[int] = (),
    b_blocks: Sequence[int] = (), *, floor: float = FLOOR, seed: int = 0,
) -> Verdict:  # fmt: skip
    """Whether B is faster or slower than A. The result is the same every time for the same times."""
    first = _chunks(np.asarray(a, dtype=np.float64), a_blocks)
    second = _chunks(np.asarray(b, dtype=np.float64), b_blocks)
    rng = np.random.default_rng(seed)
    ratio = float(np.median(np.concatenate(second)) / np.median(np.concatenate(first)))
    ratios = _resampled(rng, second) / _resampled(rng, first)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(x) for x in np.quantile(ratios, (tail, 1 - tail)))
    p = rank_test([float(np.median(x)) for x in first], [float(np.median(x)) for x in second])
    enough = min(len(first), len(second)) >= 5
    verdict = SAME
    if enough and p < 0.01:
        if low > 1 and ratio > 1 + floor:
            verdict = SLOWER
        elif high < 1 and ratio < 1 - floor:
            verdict = FASTER
    return Verdict(ratio, low, high, p, verdict, enough)


def _chunks(values: np.ndarray, blocks: Sequence[int]) -> list[np.ndarray]:
    """Blocks, or where there are hardly any, stretches of consecutive calls in their place."""
    parts = split_blocks(values, blocks)
    if len(parts) >= 5 or values.size < 10:
        return parts
    return [part for part in np.array_split(values, min(10, values.size // 2)) if part.size]


def _resampled(rng: np.random.Generator, blocks: list[np.ndarray]) -> np.ndarray:
    """Medians of resampled runs: as many block medians as there are blocks, drawn with replacement."""
    medians = np.array([np.median(block) for block in blocks])
    picks = rng.integers(0, len(medians), (_RESAMPLES, len(medians)))
    return np.median(medians[picks], axis=1)


def rank_test(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney test, by the normal approximation with ties."""
    count_a, count_b = len(a), len(b)
    total = count_a + count_b
    if not count_a or not count_b:
        return 1.0
    values = np.concatenate([a, b])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[inverse]
    u = float(ranks[:count_a].sum()) - count_a * (count_a + 1) / 2
    mean = count_a * count_b / 2
    ties = float((counts**3 - counts).sum()) / (total * (total - 1)) if total > 1 else 0.0
    variance = count_a * count_b / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0
    z = max(abs(u - mean) - 0.5, 0) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))
