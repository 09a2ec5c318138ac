"""The gate of a CI job: is a side slower than the first by more than a limit, is it not, or can that not be told?"""

from __future__ import annotations

from dataclasses import dataclass

from profiler.analysis.comparison import Comparison
from profiler.analysis.verdicts import CANNOT_TELL, SLOWER, Verdict


@dataclass(frozen=True)
class Gate:
    """A line for each side that is slower by more than the limit, and for each of which that cannot be told."""

    slower: tuple[str, ...]
    untold: tuple[str, ...]


def gate(comparison: Comparison, limit: float) -> Gate:
    """What a job should stop at: sides measurably slower than the first by more than `limit`, a share.

    A side passes only if its whole interval does: one that reaches past the limit may hide what the gate is there for.
    """
    slower, untold = [], []
    for side, verdict in zip(comparison.sides[1:], comparison.verdicts[1:]):
        if verdict is None:
            untold.append(f"{side.label} has no times to compare")
        elif verdict.verdict == SLOWER and verdict.ratio > 1 + limit:
            words = f"{side.label} is {verdict.ratio - 1:.1%} slower than {comparison.sides[0].label}"
            slower.append(f"{words} ({_interval(verdict)})")
        elif verdict.verdict == CANNOT_TELL or verdict.high > 1 + limit:
            first, share = comparison.sides[0].label, f"{100 * limit:.3g}%"
            words = f"cannot tell whether {side.label} is more than {share} slower than {first}"
            untold.append(f"{words} ({_interval(verdict)}): {verdict.why or 'the interval reaches past the limit'}")
    return Gate(tuple(slower), tuple(untold))


def _interval(verdict: Verdict) -> str:
    return f"interval {verdict.low - 1:+.1%} to {verdict.high - 1:+.1%}"
