"""Where values lie on an axis, and the round ones that are written beside it: for the reports and for the window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_FURTHEST = 2.0  # times the largest median that an interval is shown to at least


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` on the way from `begin` to `end`, in picture units."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False
    binary: bool = False  # steps are powers of two, as sizes in memory are

    def __call__(self, value: float) -> float:
        """Where a value lies; values outside lie at the edge."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the scale, `most` at the most where it is linear; the 1, 2, 5 or 1 of decades else."""
        if self.log:
            return _log_ticks(self.low, self.high)
        rough = (self.high - self.low) / most
        step = 2.0 ** math.ceil(math.log2(rough)) if self.binary else round_up(rough)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def round_up(value: float) -> float:
    """The next of 1, 2 and 5 of a decade."""
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= value * 0.999)


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) <= 3.2 else (1,)
    found = [10.0**decade * factor for decade in decades for factor in factors]
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def top_of(medians: Sequence[float], highs: Sequence[float]) -> float:
    """Where an axis for medians with intervals ends: one that reaches much further than all medians is cut there. Two
    processes on a busy machine have an interval a thousand times as long as what they measure, beside which nothing
    else is seen."""
    return min(max(highs), _FURTHEST * max(medians))


def linear(low: float, high: float, begin: float, end: float, *, room: float = 0.0) -> Scale:
    """A linear scale with some room at both ends; a span of nothing gets a little width."""
    span = high - low
    if span <= 0:
        span = abs(high) * 0.02 or 1.0
        low, high = low - span / 2, high + span / 2
    return Scale(low - span * room, high + span * room, begin, end)
