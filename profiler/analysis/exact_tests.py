"""Exact tests of processes and of pairs of them, for many questions at once.

Processes that run the same code may swap their labels, and pairs measured in turns their order: what was seen is set
against all the ways in which chance could have dealt it. Kernels that are compared together are a family: p is that of
the step-down max-T procedure of Westfall and Young, which bounds the chance of one or more wrong verdicts among them.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from profiler.analysis.statistics import CONFIDENCE

_MOST_LABELLINGS = 20_000
_DRAWN = 9_999
_TINY = 1e-9


def permuted(first: np.ndarray, second: np.ndarray, seed: int = 0) -> np.ndarray:
    """|Welch's t| of every way to tell the processes apart, [ways, questions]; the true way is the first of them."""
    values = np.concatenate([first, second])
    values = values - values.mean(axis=0)
    count, total = len(first), len(values)
    squares = values**2
    sides = []
    for weights, size in zip(_weights(count, total, seed), (count, total - count)):
        mean = weights @ values / size
        variance = np.maximum(weights @ squares / size - mean**2, 0) * size / (size - 1)
        sides.append((mean, variance / size))
    (mean_a, error_a), (mean_b, error_b) = sides
    return np.abs(mean_b - mean_a) / np.sqrt(error_a + error_b + _TINY**2)


@lru_cache(maxsize=4)  # they take megabytes
def _weights(count: int, total: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """For each way to tell processes apart, a row of ones for the first side, and one for the other."""
    chosen = _labellings(count, total, seed)
    return chosen.astype(np.float64), (~chosen).astype(np.float64)


def _labellings(count: int, total: int, seed: int) -> np.ndarray:
    """Ways to choose `count` of `total`, a row of booleans each, the first `count` of them first; drawn if too many."""
    first = np.arange(total) < count
    if math.comb(total, count) <= _MOST_LABELLINGS:
        picked = np.array(list(itertools.combinations(range(total), count)))
        chosen = np.zeros((len(picked), total), bool)
        np.put_along_axis(chosen, picked, True, axis=1)
        return chosen
    ranks = np.random.default_rng(seed).random((_DRAWN, total)).argsort(axis=1)
    return np.vstack([first, ranks < count])


def sign_flips(changes: np.ndarray, seed: int = 0) -> np.ndarray:
    """|t| of the pairs' changes for every choice of signs, [choices, questions]; the true one is the first of them."""
    count = len(changes)
    if 2**count <= _MOST_LABELLINGS:
        signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    else:
        drawn = np.random.default_rng(seed).integers(0, 2, (_DRAWN, count))
        signs = np.vstack([np.ones(count, np.int64), 1 - 2 * drawn])
    mean = signs @ changes / count
    variance = np.maximum((changes**2).mean(axis=0) - mean**2, 0) * count / (count - 1)
    return np.abs(mean) / np.sqrt(variance / count + _TINY**2)


def step_down(statistics: np.ndarray) -> np.ndarray:
    """Corrected p of each question (Westfall and Young): row 0 is what was seen, the others what chance would give."""
    seen = statistics[0]
    order = np.argsort(-seen)
    # The largest of this question and all that look less extreme, for each labelling.
    largest = np.maximum.accumulate(statistics[:, order[::-1]], axis=1)[:, ::-1]
    chances = (largest >= seen[order] * (1 - 1e-9)).mean(axis=0)
    found = np.empty(len(seen))
    found[order] = np.maximum.accumulate(chances)
    return found


def signed_rank_interval(changes: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilcoxon's interval for the middle of some changes: two of the means of every two of them.

    It holds for any symmetric distribution, however heavy its tails, and as pairs are measured in drawn order theirs
    is: what hits the one side now and then hits the other as often.
    """
    count = len(changes)
    means = np.sort([(changes[i] + changes[k]) / 2 for i in range(count) for k in range(i, count)])
    cut = _outside(count, confidence)
    return float(means[cut]), float(means[len(means) - 1 - cut])


@lru_cache(maxsize=64)
def _outside(count: int, confidence: float) -> int:
    """How many means of pairs may be left out at either end: as the sum of ranks 1 to `count` is distributed."""
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, count + 1):
        shifted = np.zeros_like(ways)
        shifted[rank:] = ways[:-rank]
        ways = (ways + shifted) / 2
    below = np.cumsum(ways)  # the chance of a sum of so much or less
    return max(int(np.searchsorted(below, (1 - confidence) / 2, side="right")) - 1, 0)
