"""Statistics of times: one summary of a run for every place that shows one, outliers, and what other programs took.

Times of one run come in processes and, in each, in blocks. Times of a block resemble each other more than times of
another block do, and those of a process more than those of another: where code and data happen to lie makes processes
that run the same code differ. So where a run has several processes, each of them counts once: the middle of a run is
the median of its processes' medians, and `summarise` is the only place that says so. `verdicts` compares runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from profiler.records import Summary

CONFIDENCE = 0.95


def summarise(
    nanoseconds: Sequence[int] | np.ndarray, blocks: Sequence[int] = (), processes: Sequence[int] = (),
    confidence: float = CONFIDENCE,
) -> Summary:  # fmt: skip
    """The median of process medians, its interval and extremes of some times in nanoseconds.

    `blocks` are the numbers of calls of each block, `processes` the numbers of blocks of each process.
    """
    given = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    if not given.size:
        raise ValueError("no times")
    times = np.sort(given)
    apart = split_processes(given, blocks, processes)
    medians = np.sort([median_of(part) for part in apart])
    middle = median_of(medians)
    coverage = confidence
    if len(apart) > 1:
        enough = _order_tells(len(medians), confidence)
        low, high = order_interval(medians, confidence) if enough else _log_interval(medians, confidence)
    else:
        # With enough blocks their medians tell how the median moves; with few, the order statistics have to do.
        parts = split_blocks(given, blocks)
        enough = _order_tells(len(parts), confidence)
        ordered = np.sort([median_of(part) for part in parts]) if enough else times
        low, high = order_interval(ordered, confidence)
        coverage = min(confidence, 1 - 2.0 ** (1 - len(ordered)))  # that of all of them, from the least to the largest
    low, high = min(low, middle), max(high, middle)
    outliers = int(np.sum(times > outlier_limit(times)))
    return Summary(middle, low, high, float(times[0]), float(times[-1]), times.size, outliers, len(apart), coverage)


def quartiles(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Between which times the middle half of some calls lies, whatever process made them."""
    first, third = np.quantile(values, (0.25, 0.75))
    return float(first), float(third)


def outlier_limit(values: np.ndarray) -> float:
    """Where outliers begin: three interquartile ranges above the upper quartile."""
    first, third = quartiles(values)
    return third + 3 * (third - first)


def median_of(values: np.ndarray) -> float:
    """The median, in a fraction of the time that `np.median` takes for a few hundred values."""
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def split_blocks(values: np.ndarray, blocks: Sequence[int]) -> list[np.ndarray]:
    """The values block by block; all of them in one where the sizes do not say."""
    if not blocks or sum(blocks) != values.size:
        return [values]
    ends = [*accumulate(blocks)]
    return [part for begin, end in zip([0, *ends], ends) if (part := values[begin:end]).size]


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
    # The number of values below the median is binomial(count, 1/2).
    reach = _normal_quantile(confidence) * math.sqrt(count) / 2
    low = max(math.floor(count / 2 - reach), 0)
    high = min(math.ceil(count / 2 + reach), count - 1)
    return float(ordered[low]), float(ordered[high])


def _order_tells(count: int, confidence: float) -> bool:
    """Whether so many values are enough: the median lies outside all of them with a chance of 2 in 2 to that power."""
    return 2.0 ** (1 - count) <= 1 - confidence


def _log_interval(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """Student's interval of the mean of the logarithms: for so few values, order statistics would claim too much."""
    logs = np.log(np.maximum(values, 1e-12))
    reach = student_quantile(len(logs) - 1, confidence) * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    middle = float(np.mean(logs))
    return math.exp(middle - reach), math.exp(min(middle + reach, 700.0))


@lru_cache(maxsize=16)
def _normal_quantile(confidence: float) -> float:
    """How many standard errors a two-sided interval of the normal distribution reaches.

    By the standard library: a process that times kernels asks between blocks, and SciPy takes longer to load than many
    a kernel to time.
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)


@lru_cache(maxsize=256)
def student_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """How many standard errors a two-sided interval of Student's t reaches."""
    from scipy.special import stdtrit  # slow to load, and most commands ask for no interval

    return float(stdtrit(freedom, (1 + confidence) / 2))


def rank_test(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney test, by the normal approximation with ties; 1 where there is nothing to rank.

    Not by `scipy.stats`, which takes longer to load than all else that a comparison does.
    """
    both = np.array([*a, *b], dtype=np.float64)
    if not len(a) or not len(b) or np.ptp(both) == 0:
        return 1.0
    _, places, ties = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[places]  # equal values share the mean of their ranks
    pairs, count = len(a) * len(b), len(both)
    wins = float(ranks[: len(a)].sum()) - len(a) * (len(a) + 1) / 2
    tied = float(np.sum(ties.astype(np.float64) ** 3 - ties)) / (count * (count - 1))
    spread = math.sqrt(pairs / 12 * (count + 1 - tied))
    away = (max(wins, pairs - wins) - pairs / 2 - 0.5) / spread  # half a step less, as ranks go by steps
    return min(math.erfc(away / math.sqrt(2)), 1.0)
