"""Statistics of times: medians with intervals, outliers, and what other programs took.

Times of one run come in processes and, in each, in blocks. Times of a block resemble each other more than times of
another block do, and those of a process more than those of another: where code and data happen to lie makes processes
that run the same code differ. So where a run has several processes, each of them counts once. `verdicts` compares runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """The middle and the spread of some times, in seconds; `outliers` are kept in all of it, and counted.

    Of several processes, `median` is the median of their medians, and the interval tells how processes differ.
    """

    median: float
    low: float
    high: float
    minimum: float
    maximum: float
    count: int
    outliers: int
    processes: int = 1

    @property
    def width(self) -> float:
        """Half the interval's width as a share of the median."""
        spread = (self.high - self.low) / 2
        return spread / self.median if self.median else math.inf if spread else 0.0


def summarise(
    nanoseconds: Sequence[int] | np.ndarray, blocks: Sequence[int] = (), processes: Sequence[int] = ()
) -> Summary:
    """Median, its interval and extremes of some times in nanoseconds; `processes` tells how many blocks each has."""
    given = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    if not given.size:
        raise ValueError("no times")
    times = np.sort(given)
    apart = split_processes(given, blocks, processes)
    middle = median_of(times)
    if len(apart) > 1:
        medians = np.sort([median_of(part) for part in apart])
        middle = median_of(medians)
        low, high = order_interval(medians) if len(medians) >= 6 else _log_interval(medians)
    else:
        parts = split_blocks(given, blocks)
        # With enough blocks their medians tell how the median moves; with few, the order statistics have to do.
        enough = len(parts) >= 6
        low, high = order_interval(np.sort([median_of(part) for part in parts]) if enough else times)
    low, high = min(low, middle), max(high, middle)
    first, third = np.quantile(times, (0.25, 0.75))
    outliers = int(np.sum(times > third + 3 * (third - first)))
    return Summary(middle, low, high, float(times[0]), float(times[-1]), times.size, outliers, len(apart))


def median_of(values: np.ndarray) -> float:
    """The median, in a fraction of the time that `np.median` takes for a few hundred values."""
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def split_blocks(values: np.ndarray, blocks: Sequence[int]) -> list[np.ndarray]:
    """The values block by block; all of them in one where the sizes do not say."""
    if not blocks or sum(blocks) != values.size:
        return [values]
    return [part for part in np.split(values, np.cumsum(blocks)[:-1]) if part.size]


def split_processes(values: np.ndarray, blocks: Sequence[int], processes: Sequence[int]) -> list[np.ndarray]:
    """The values process by process; all of them in one where the numbers of blocks do not say."""
    if not processes or sum(processes) != len(blocks) or sum(blocks) != values.size:
        return [values]
    ends = np.cumsum(processes)
    sizes = [sum(blocks[end - count : end]) for count, end in zip(processes, ends)]
    return split_blocks(values, sizes)


def lost_share(times: np.ndarray, lost: np.ndarray, threads: int) -> float:
    """The share of the processor time of some calls that other programs took."""
    total = float(np.sum(times)) * max(threads, 1)
    return min(float(np.sum(lost)) / total, 1.0) if total else 0.0


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


def _log_interval(values: np.ndarray) -> tuple[float, float]:
    """Student's interval of the mean of the logarithms: for so few values, order statistics would claim too much."""
    logs = np.log(np.maximum(values, 1e-12))
    reach = student_quantile(len(logs) - 1) * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    middle = float(np.mean(logs))
    return math.exp(middle - reach), math.exp(min(middle + reach, 700.0))


@lru_cache(maxsize=256)
def student_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """How many standard errors a two-sided interval of Student's t reaches."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    value = 1.0
    for _ in range(100):  # Newton's method: what is outside is convex, so it comes from below and never overshoots
        slope = 2 * scale * (1 + value * value / freedom) ** (-(freedom + 1) / 2)
        step = (_student_outside(value, freedom) - (1 - confidence)) / slope
        value += step
        if abs(step) < 1e-9 * value:
            break
    return value


def _student_outside(value: float, freedom: float) -> float:
    """The probability that |t| exceeds `value`: a regularised incomplete beta function, by its continued fraction."""
    x, a, b = freedom / (freedom + value * value), freedom / 2, 0.5
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    total = d
    for m in range(1, 300):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + factor * d) or tiny)
            c = (1 + factor / c) or tiny
            total *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return total


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
