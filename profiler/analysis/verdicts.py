"""Whether runs differ measurably: what decides is how processes that run the same code differ, not a chosen percentage.

Three ways, by what was measured:

- *In turns*: both sides were measured alternately, in pairs whose order was drawn. Whatever drifts, drifts for both.
  An exact sign-flip test of the pairs.
- *Process by process*: each run has processes enough for an exact permutation test, in which every process counts once.
  Runs are made at different times, though, and a machine drifts; so the runs must also lie further apart than the
  processes of either lie among themselves (the outermost tenths aside), and stay apart when calls are credited with
  processor time they lost.
- *Few processes*: nothing tells how processes differ, so much is allowed for that.

Kernels that are compared together are a family: p is that of the step-down max-T procedure of Westfall and Young, which
bounds the chance of one or more wrong verdicts among them all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from profiler.analysis.statistics import (
    CONFIDENCE,
    median_of,
    rank_test,
    split_blocks,
    split_processes,
    student_quantile,
)

ALPHA = 0.01
"""The chance of a wrong verdict on the whole model, and of one or more among all kernels."""
ALLOWANCE = 0.10
"""What processes that run the same code are taken to differ by where that was not measured."""
_MOST_LABELLINGS = 20_000
_DRAWN = 9_999
_RESAMPLES = 1000
_TINY = 1e-9

FASTER, SLOWER, SAME = "faster", "slower", "no measurable difference"
TURNS, PROCESSES, FEW = "turns", "processes", "few processes"


@dataclass(frozen=True, eq=False)
class Times:
    """Times of one thing in one run, in nanoseconds, with the processor time each call lost."""

    values: np.ndarray
    blocks: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    lost: np.ndarray | None = None

    @cached_property
    def parts(self) -> list[np.ndarray]:
        """The values process by process."""
        return split_processes(np.asarray(self.values, np.float64), self.blocks, self.processes)

    @cached_property
    def logs(self) -> np.ndarray:
        """The logarithm of each process's median."""
        return _log_medians(self.parts)

    @cached_property
    def undisturbed_logs(self) -> np.ndarray:
        """The same, had no call lost any time: what a process would at least have needed."""
        if self.lost is None or len(self.lost) != len(self.values):
            return self.logs
        left = np.maximum(np.asarray(self.values, np.float64) - self.lost, 1.0)
        return _log_medians(split_processes(left, self.blocks, self.processes))


def _log_medians(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([math.log(max(median_of(part), 1e-3)) for part in parts])


@dataclass(frozen=True)
class Verdict:
    """B against A: the ratio of medians with its interval, p, and what that means; `why` a difference was not called.

    `p` is corrected for the kernels compared along with this one. `enough` tells whether any difference, however
    large, could have been called.
    """

    ratio: float
    low: float
    high: float
    p: float
    verdict: str
    enough: bool
    method: str = PROCESSES
    why: str = ""


def method_of(a: Times, b: Times, turns: bool) -> str:
    """How two runs can be compared."""
    first, second = len(a.parts), len(b.parts)
    if turns and first == second and 2 / 2**first <= ALPHA:
        return TURNS
    # Of equally many processes, a labelling and its mirror image are as extreme as each other.
    least = (2 if first == second else 1) / math.comb(first + second, first)
    return PROCESSES if min(first, second) > 1 and least <= ALPHA else FEW


def stated(methods: Sequence[str]) -> str:
    """The tests behind some verdicts, as every comparison states them."""
    words = {
        TURNS: "measured in turns, the order within each pair drawn: exact sign-flip test of the pairs' log ratios",
        PROCESSES: "each process counts once: exact permutation test (Welch's t of the processes' log medians); runs "
        "must also lie further apart than the processes of either, and apart without the processor time they lost",
        FEW: "few processes, so that between-process variation is unknown: block bootstrap of the ratio of medians, "
        f"widened by {ALLOWANCE:.0%} for it, and Mann-Whitney rank test of block medians",
    }
    chosen = [words[name] for name in (TURNS, PROCESSES, FEW) if name in methods]
    return "; ".join([*chosen, f"p < {ALPHA:g}, for all kernels together (Westfall-Young); {CONFIDENCE:.0%} intervals"])


def compare_family(pairs: Sequence[tuple[Times, Times]], *, turns: bool = False, seed: int = 0) -> list[Verdict]:
    """A verdict for each (A, B); all of them are of the same two runs. The same times give the same verdicts."""
    if not pairs:
        return []
    method = method_of(*pairs[0], turns)
    if method == FEW:
        return [_few(a, b, len(pairs), seed) for a, b in pairs]
    first = np.stack([a.logs for a, _ in pairs], axis=1)  # [processes, questions]
    second = np.stack([b.logs for _, b in pairs], axis=1)
    if method == TURNS:
        chances = step_down(sign_flips(second - first, seed))
    else:
        chances = step_down(permuted(first, second, seed))
    return [_judged(a, b, float(p), method) for (a, b), p in zip(pairs, chances)]


def compare_times(a: Times, b: Times, *, turns: bool = False, seed: int = 0) -> Verdict:
    """Whether B is faster or slower than A, asked for one thing alone."""
    return compare_family([(a, b)], turns=turns, seed=seed)[0]


def _judged(a: Times, b: Times, p: float, method: str) -> Verdict:
    one, two = a.logs, b.logs
    change = float(np.median(two) - np.median(one))
    low, high = _paired_interval(two - one) if method == TURNS else _welch_interval(one, two)
    low, high = min(low, change), max(high, change)
    verdict, why = SAME, ""
    if p <= ALPHA:
        verdict, why = (SLOWER if change > 0 else FASTER), ""
        if method == PROCESSES:
            why = _doubt(a, b, slower=change > 0)
        if why:
            verdict = SAME
    return Verdict(math.exp(change), math.exp(low), math.exp(high), p, verdict, True, method, why)


def _doubt(a: Times, b: Times, *, slower: bool) -> str:
    """Why a difference between runs made at different times may be the machine's, in words; empty if it is not."""
    fast, slow = (a, b) if slower else (b, a)
    quick, late = _inner(fast.logs), _inner(slow.logs)
    if late.min() - quick.max() <= max(float(np.ptp(quick)), float(np.ptp(late))):
        return "processes of the same run differ as much"
    if _inner(slow.undisturbed_logs).min() <= quick.max():
        return "processor time that other programs took may be all of it"
    return ""


def _inner(values: np.ndarray) -> np.ndarray:
    """All but the outermost tenth at either end: the range of many tells how many there are, not how they differ."""
    ordered = np.sort(values)
    cut = len(ordered) // 10
    return ordered[cut : len(ordered) - cut]


def _welch_interval(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    parts = [float(np.var(x, ddof=1)) / len(x) for x in (one, two)]
    error = math.sqrt(sum(parts))
    change = float(two.mean() - one.mean())
    if error < _TINY:
        return change, change
    freedom = sum(parts) ** 2 / sum(part**2 / (len(x) - 1) for part, x in zip(parts, (one, two)))
    reach = student_quantile(max(freedom, 1.0)) * error
    return change - reach, change + reach


def _paired_interval(changes: np.ndarray) -> tuple[float, float]:
    reach = student_quantile(len(changes) - 1) * float(np.std(changes, ddof=1)) / math.sqrt(len(changes))
    return float(changes.mean()) - reach, float(changes.mean()) + reach


def permuted(first: np.ndarray, second: np.ndarray, seed: int = 0) -> np.ndarray:
    """|Welch's t| of every way to tell the processes apart, [ways, questions]; the true way is the first of them."""
    values = np.concatenate([first, second])
    values = values - values.mean(axis=0)
    count, total = len(first), len(values)
    chosen = _labellings(count, total, seed)
    sides = []
    for labels, size in ((chosen, count), (~chosen, total - count)):
        weights = labels.astype(np.float64)
        mean = weights @ values / size
        variance = np.maximum(weights @ values**2 / size - mean**2, 0) * size / (size - 1)
        sides.append((mean, variance / size))
    (mean_a, error_a), (mean_b, error_b) = sides
    return np.abs(mean_b - mean_a) / np.sqrt(error_a + error_b + _TINY**2)


@lru_cache(maxsize=16)
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


def _few(a: Times, b: Times, family: int, seed: int) -> Verdict:
    """Blocks stand in for processes, and what processes may differ by is allowed for on top."""
    first, second = (_chunks(np.asarray(x.values, np.float64), x.blocks) for x in (a, b))
    rng = np.random.default_rng(seed)
    ratio = math.exp(float(np.median(b.logs) - np.median(a.logs)))
    ratios = _resampled(rng, second) / _resampled(rng, first)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(x) for x in np.quantile(ratios, (tail, 1 - tail)))
    low, high = min(low, ratio) / (1 + ALLOWANCE), max(high, ratio) * (1 + ALLOWANCE)
    p = min(rank_test([float(np.median(x)) for x in first], [float(np.median(x)) for x in second]) * family, 1.0)
    enough = min(len(first), len(second)) >= 5
    verdict, why = SAME, "" if enough else "too few calls were timed"
    if enough and p <= ALPHA:
        slower = ratio > 1
        if low > 1 or high < 1:
            verdict = SLOWER if slower else FASTER
            fast, slow = (a, b) if slower else (b, a)
            if np.median(slow.undisturbed_logs) <= np.median(fast.logs):
                verdict, why = SAME, "processor time that other programs took may be all of it"
        else:
            why = f"few processes: up to {ALLOWANCE:.0%} may be theirs"
    return Verdict(ratio, low, high, p, verdict, enough, FEW, why)


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
