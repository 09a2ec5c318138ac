"""Whether runs differ: a difference, none beyond a stated bound, or that it cannot be told, with the reason.

What decides is how processes that run the same code differ, each by its undisturbed calls (`undisturbed`), and not a
chosen percentage. Three ways, by what was measured:

- *In turns*: both sides were measured alternately, in pairs whose order was drawn. Whatever drifts, drifts for both.
  An exact sign-flip test of the pairs, and the signed-rank interval of their ratios, which is exact as well. Where the
  processes of a pair took turns block by block, its ratio is the middle of those of their blocks.
- *Process by process*: each run has processes enough for an exact permutation test, in which every process counts once.
  Runs are made at different times, though, and a machine drifts: the interval has that in it, and the runs must lie
  further apart than the processes of either lie among themselves (the outermost tenths aside). Where a fixed piece of
  work that is timed beside them took longer in one of them, so may they, whatever they run: by that much the interval
  is wider, or by less where processes of the same run show that they feel it less.
- *Few processes*: nothing tells how processes differ, so much is allowed for that.

Where other programs left runs no undisturbed calls, the processor time of their threads stands for it, if both were
disturbed alike; a difference must then be larger than what threads may have spent waiting, unless it was measured in
turns, and that there is none is only stated if the times show none either, and of one thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profiler.analysis.exact_tests import permuted, sign_flips, signed_rank_interval, step_down
from profiler.analysis.statistics import CONFIDENCE, rank_test, split_blocks, student_quantile
from profiler.analysis.undisturbed import Times

ALPHA = 0.01
"""The chance of a wrong verdict on the whole model, and of one or more among all kernels."""
ALLOWANCE = 0.10
"""What processes that run the same code are taken to differ by where that was not measured."""
DRIFT = 0.005
"""How far (one standard deviation) two runs of the same code lie apart only because they were made at other times."""
WIDEST = 0.20
"""How far an interval may reach from 1 for `no difference` to be worth saying."""
_RESAMPLES = 1000
_LEAST_ROUNDS = 3

FASTER, SLOWER, SAME, CANNOT_TELL = "faster", "slower", "no measurable difference", "cannot tell"
TURNS, PROCESSES, FEW = "turns", "processes", "few processes"

OTHERS = "other programs took so much processor time that no undisturbed calls are left"
_UNLIKE = "other programs disturbed one of them more than the other"
_WASTE = math.log(1.5)  # what threads waited is taken to be no more than half of what they worked
_ALIKE = 0.15  # shares of lost processor time that lie no further apart count as the same
_MOST_LOST = 0.8  # of their processor time: calls that lost more say nothing of what they need
_SPEED = "the machine itself was {} slower during one of them"
_ASSUMED = 10 * 0.05**2  # as if ten processes had shown it, of a machine whose speed scatters by 5 %
_APART = "processes of the same run differ as much"
_WIDE = "the times scatter too much"
_AGAIN = "`compare --again` measures both in turns"
_QUIET = "measure again when the machine is less busy, or with more --pairs"
_MORE = "`run --processes 5` measures how processes differ"


@dataclass(frozen=True)
class Verdict:
    """B against A: the ratio of medians with its interval, p, and what that means; if it cannot be told, `why`.

    `p` is corrected for the kernels compared along with this one. `enough` tells whether there is a verdict at all;
    `bound` how far, as a share, the interval reaches from 1: there is no difference beyond it; `advice` what to do.
    """

    ratio: float
    low: float
    high: float
    p: float
    verdict: str
    enough: bool
    method: str = PROCESSES
    why: str = ""
    bound: float = 0.0
    advice: str = ""
    words: str = ""
    """All of it as people read it, wherever it is shown."""


def method_of(a: Times, b: Times, turns: bool) -> str:
    """How two runs can be compared."""
    first, second = len(a.parts), len(b.parts)
    if turns and first == second and _pairs_tell(first):
        return TURNS
    return PROCESSES if _processes_tell(first, second) else FEW


def _pairs_tell(pairs: int) -> bool:
    return pairs > 1 and 2 / 2**pairs <= ALPHA


def _processes_tell(first: int, second: int) -> bool:
    # Of equally many processes, a labelling and its mirror image are as extreme as each other.
    least = (2 if first == second else 1) / math.comb(first + second, first)
    return min(first, second) > 1 and least <= ALPHA


def stated(methods: Sequence[str]) -> str:
    """The tests behind some verdicts, as every comparison states them."""
    words = {
        TURNS: "measured in turns, the order within each pair drawn: exact sign-flip test of the pairs' log ratios and "
        "their signed-rank interval",
        PROCESSES: "each process counts once, by its undisturbed calls: exact permutation test (Welch's t of the "
        f"processes' log medians), {DRIFT:.1%} allowed for drift between runs, which must also lie further apart than "
        "the processes of either",
        FEW: "few processes, so that between-process variation is unknown: block bootstrap of the ratio of medians, "
        f"widened by {ALLOWANCE:.0%} for it, and Mann-Whitney rank test of block medians",
    }
    chosen = [words[name] for name in (TURNS, PROCESSES, FEW) if name in methods]
    ends = f"p < {ALPHA:g}, for all kernels together (Westfall-Young); {CONFIDENCE:.0%} intervals"
    return "; ".join([*chosen, f"{ends}, which may reach {WIDEST:.0%} from 1 for no difference to be stated"])


def compare_family(
    pairs: Sequence[tuple[Times, Times]], *, turns: bool = False, rounds: bool = False, seed: int = 0
) -> list[Verdict]:
    """A verdict for each (A, B); all of them are of the same two runs. The same times give the same verdicts.

    `turns` tells that processes were measured in pairs, `rounds` that those of a pair took turns block by block.
    """
    if not pairs:
        return []
    method = method_of(*pairs[0], turns)
    if method == FEW:
        return [_few(a, b, len(pairs), seed) for a, b in pairs]
    return _in_turns(pairs, rounds, seed) if method == TURNS else _by_processes(pairs, seed)


def compare_times(a: Times, b: Times, *, turns: bool = False, rounds: bool = False, seed: int = 0) -> Verdict:
    """Whether B is faster or slower than A, asked for one thing alone."""
    return compare_family([(a, b)], turns=turns, rounds=rounds, seed=seed)[0]


def _in_turns(pairs: Sequence[tuple[Times, Times]], rounds: bool, seed: int) -> list[Verdict]:
    """Pairs of which both processes are steady, if those are enough; otherwise all, whose disturbance is alike."""
    both = np.logical_and.reduce([a.steady & b.steady for a, b in pairs])
    steady = _pairs_tell(int(both.sum()))
    kept = both if steady else np.ones(len(both), bool)
    blind = [not steady and _is_drowned(a, b) for a, b in pairs]
    plain = [steady or one for one in blind]
    by_rounds = rounds and steady
    changes = np.stack([_changes(a, b, p, by_rounds)[kept] for (a, b), p in zip(pairs, plain)], axis=1)
    chances = step_down(sign_flips(changes, seed))  # [pairs, questions]
    found = []
    for (a, b), p, change, lost in zip(pairs, chances, changes.T, blind):
        low, high = signed_rank_interval(change)
        middle = float(np.median(change if steady else b.logs - a.logs))
        seen = None if steady or lost else signed_rank_interval(b.logs - a.logs)
        doubt = OTHERS if lost else ""
        found.append(
            _verdict(middle, (low, high), float(p), TURNS, _WIDE, _QUIET, seen=seen, waits=_waits(a, b), doubt=doubt)
        )
    return found


def _changes(a: Times, b: Times, steady: bool, rounds: bool) -> np.ndarray:
    """How much B's process takes longer than A's in each pair: in the middle of their rounds, where there are some in
    which both were undisturbed, else by all that each of them did."""
    changes = _metric(b, steady) - _metric(a, steady)
    if rounds:
        for at, (ones, twos) in enumerate(zip(a.rounds, b.rounds)):
            count = min(len(ones), len(twos))
            each = twos[:count] - ones[:count]
            each = each[~np.isnan(each)]
            if len(each) >= _LEAST_ROUNDS:
                changes[at] = np.median(each)
    return changes


def _by_processes(pairs: Sequence[tuple[Times, Times]], seed: int) -> list[Verdict]:
    """Processes that are steady, if those are enough; otherwise all, if they were disturbed alike."""
    first = np.logical_and.reduce([a.steady for a, _ in pairs])
    second = np.logical_and.reduce([b.steady for _, b in pairs])
    steady = _processes_tell(int(first.sum()), int(second.sum()))
    if not steady:
        first, second = np.ones(len(first), bool), np.ones(len(second), bool)
    blind = [not steady and _is_drowned(a, b) for a, b in pairs]
    ones = np.stack(
        [_metric(a, steady or x)[first] for (a, _), x in zip(pairs, blind)], axis=1
    )  # [processes, questions]
    twos = np.stack([_metric(b, steady or x)[second] for (_, b), x in zip(pairs, blind)], axis=1)
    chances = step_down(permuted(ones, twos, seed))
    found = []
    for (a, b), p, one, two, lost in zip(pairs, chances, ones.T, twos.T, blind):
        moved = _moved(a, b, (one, two), (first, second))
        low, high = _welch_interval(one, two, CONFIDENCE, moved)
        # The exact test knows nothing of drift, so that a verdict takes an interval with its own confidence too.
        least, most = _welch_interval(one, two, 1 - ALPHA, moved)
        chance = float(p) if least > 0 or most < 0 else max(float(p), 2 * ALPHA)
        change = float(np.median(two) - np.median(one) if steady else np.median(b.logs) - np.median(a.logs))
        seen = None if steady or lost else _welch_interval(a.logs, b.logs, CONFIDENCE, moved)
        unlike = not steady and not lost and abs(a.lost_share - b.lost_share) > _ALIKE
        unlike = unlike and _waits(a, b)
        doubt = OTHERS if lost else _UNLIKE if unlike else _APART if chance <= ALPHA and _close(one, two) else ""
        why = _WIDE if moved < (high - low) / 4 else _SPEED.format(f"{math.expm1(moved):.0%}")
        found.append(
            _verdict(change, (low, high), chance, PROCESSES, why, _AGAIN, seen=seen, waits=_waits(a, b), doubt=doubt)
        )
    return found


def _moved(
    a: Times, b: Times, logs: tuple[np.ndarray, np.ndarray] | None = None,
    kept: tuple[np.ndarray, np.ndarray] | None = None,
) -> float:  # fmt: skip
    """How much longer, as a logarithm, a run may have taken only because the machine was slower: what the yardstick
    tells of it, 0 where they have none in common, and as far as such processes are known to feel it."""
    if a.slowness is None or b.slowness is None or a.threads != b.threads:
        return 0.0
    one, two = (a.slowness, b.slowness) if kept is None else (a.slowness[kept[0]], b.slowness[kept[1]])
    felt = 1.0 if logs is None else _felt((one, two), logs)
    return felt * abs(float(np.median(two) - np.median(one)))


def _felt(slowness: tuple[np.ndarray, np.ndarray], logs: tuple[np.ndarray, np.ndarray]) -> float:
    """How much of what the yardstick takes longer a model takes longer, at most: from 0, of one that waits for its own
    results and leaves units idle anyway, to 1. Processes of the same run tell, if the machine changed between them;
    until they do, all of it is assumed."""
    x, y = (np.concatenate([part - part.mean() for part in parts]) for parts in (slowness, logs))
    weight = float(x @ x) + _ASSUMED
    slope = (float(x @ y) + _ASSUMED) / weight
    rest = y - slope * x
    error = math.sqrt(float(rest @ rest) / max(len(x) - 3, 1) / weight)
    return _within(slope + 2 * error, 0.0, 1.0)


def _metric(times: Times, steady: bool) -> np.ndarray:
    """What processes are compared by: undisturbed calls, or else the processor time that a thread had for a call."""
    return times.logs if steady else times.own_logs


def _is_drowned(a: Times, b: Times) -> bool:
    """Whether calls of a run hardly had a processor: the rest of a large number then says nothing of what they need."""
    return max(a.lost_share, b.lost_share) > _MOST_LOST


def _waits(a: Times, b: Times) -> bool:
    return max(a.threads, b.threads) > 1


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _verdict(
    change: float, ends: tuple[float, float], p: float, method: str, why: str, advice: str, *,
    seen: tuple[float, float] | None = None, waits: bool = False, doubt: str = "",
) -> Verdict:  # fmt: skip
    """What a change of logarithms, its interval and its chance come to; `why` it could not be told, if so.

    `seen` is the interval of the times themselves where processor time had to stand for them; `waits` tells whether
    there were threads that may have waited for each other meanwhile.
    """
    low, high = ends
    if seen is not None and waits and method != TURNS:
        # What threads spent waiting for one that had lost its processor may be all of one run and none of the other.
        low, high = low - _WASTE, high + _WASTE
    called = p <= ALPHA and (low > 0 or high < 0) and not doubt
    if seen is not None:
        why = OTHERS
        # Times may contradict processor time, which knows nothing of how work is shared out among threads.
        called = called and (seen[1] > 0 if low > 0 else seen[0] < 0)
        low, high = _wasted(low, high) if waits and method == TURNS else (low, high)
        low = low if called and low > 0 else min(low, seen[0])
        high = high if called and high < 0 else max(high, seen[1])
    if doubt == _UNLIKE:
        low, high = min(low, 0.0) - _WASTE, max(high, 0.0) + _WASTE
    bound = math.expm1(min(max(high, -low), 700.0))
    if called:
        found, why, advice = (SLOWER if low > 0 else FASTER), "", ""
    elif bound <= WIDEST and not doubt and not (waits and seen is not None):  # waiting is alike whatever they work
        found, why, advice = SAME, "", ""
    else:
        found, why = CANNOT_TELL, doubt or why
    words = f"{SAME} beyond {bound:.1%}" if found == SAME else f"{CANNOT_TELL}: {why}" if why else found
    ratio, low, high = (math.exp(min(x, 700.0)) for x in (_within(change, low, high), low, high))
    return Verdict(ratio, low, high, p, found, found != CANNOT_TELL, method, why, bound, advice, words)


def _wasted(low: float, high: float) -> tuple[float, float]:
    """An interval of processor time with room for what threads spent waiting for one that had lost its processor.

    In turns that is the same amount on both sides, and at most half as much as they worked (`_WASTE`): a ratio without
    it lies up to one and a half times as far from 1.
    """
    ends = [1.5 * math.expm1(min(x, 300.0)) if x > 0 else x for x in (high, -low)]
    return -math.log1p(ends[1]) if low < 0 else low, math.log1p(ends[0]) if high > 0 else high


def _close(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two runs made at different times lie no further apart than the processes of either."""
    quick, late = sorted((_inner(one), _inner(two)), key=lambda values: float(np.median(values)))
    return bool(late.min() - quick.max() <= max(float(np.ptp(quick)), float(np.ptp(late))))


def _inner(values: np.ndarray) -> np.ndarray:
    """All but the outermost tenth at either end: the range of many tells how many there are, not how they differ."""
    ordered = np.sort(values)
    cut = len(ordered) // 10
    return ordered[cut : len(ordered) - cut]


def _welch_interval(one: np.ndarray, two: np.ndarray, confidence: float, moved: float) -> tuple[float, float]:
    """Student's interval of the change, with what runs drift by added to how their processes scatter, and what the
    machine is known to have `moved` on top."""
    parts = [float(np.var(x, ddof=1)) / len(x) for x in (one, two)]
    change, drift = float(two.mean() - one.mean()), 2 * DRIFT**2
    error = math.sqrt(sum(parts) + drift)
    scatter = sum(part**2 / (len(x) - 1) for part, x in zip(parts, (one, two)))
    freedom = (sum(parts) + drift) ** 2 / scatter if scatter else 1e6
    reach = student_quantile(round(min(max(freedom, 1.0), 1e6), 3), confidence) * error + moved
    return change - reach, change + reach


def _few(a: Times, b: Times, family: int, seed: int) -> Verdict:
    """Blocks stand in for processes, and what processes may differ by is allowed for on top."""
    first, second = (_chunks(np.asarray(x.values, np.float64), x.blocks) for x in (a, b))
    rng = np.random.default_rng(seed)
    steady = bool(a.steady.all() and b.steady.all())
    lost = not steady and _is_drowned(a, b)
    moved = _moved(a, b)
    change = float(np.median(_metric(b, steady or lost)) - np.median(_metric(a, steady or lost)))
    moves = np.log(_resampled(rng, second) / _resampled(rng, first))
    tail = (1 - CONFIDENCE) / 2
    ends = np.quantile(moves - np.median(moves), (tail, 1 - tail))
    spread = np.array([min(ends[0], 0.0), max(ends[1], 0.0)]) + (math.log1p(ALLOWANCE) + moved) * np.array([-1, 1])
    low, high = (float(x) for x in change + spread)
    shown = change if steady else float(np.median(b.logs) - np.median(a.logs))
    p = min(rank_test([float(np.median(x)) for x in first], [float(np.median(x)) for x in second]) * family, 1.0)
    seen, doubt = None, "too few calls were timed" if min(len(first), len(second)) < 5 else ""
    if lost:
        doubt = OTHERS
    elif not steady:
        least, most = (float(x) for x in np.median(b.logs) - np.median(a.logs) + spread)
        seen = least, most
        doubt = doubt or _UNLIKE * (_waits(a, b) and abs(a.lost_share - b.lost_share) > _ALIKE)
    why = f"few processes: up to {ALLOWANCE:.0%} may be theirs"
    why = why if moved < ALLOWANCE else _SPEED.format(f"{math.expm1(moved):.0%}")
    return _verdict(shown, (low, high), p, FEW, why, _MORE, seen=seen, waits=_waits(a, b), doubt=doubt)


def _chunks(values: np.ndarray, blocks: Sequence[int]) -> list[np.ndarray]:
    """Blocks, or where there are hardly any, stretches of consecutive calls in their place."""
    parts = split_blocks(values, blocks)
    if len(parts) >= 5 or values.size < 10:
        return parts
    return [part for part in np.array_split(values, min(10, values.size // 2)) if part.size]


def _resampled(rng: np.random.Generator, blocks: list[np.ndarray]) -> np.ndarray:
    """Medians of resampled runs: as many block medians as there are blocks, drawn with replacement."""
    medians = np.array([max(float(np.median(block)), 1e-3) for block in blocks])
    picks = rng.integers(0, len(medians), (_RESAMPLES, len(medians)))
    return np.median(medians[picks], axis=1)
