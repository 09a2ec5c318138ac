"""Numbers as the window shows them: those of `profiler.units`, with a Greek letter; nothing for what is negative."""

from __future__ import annotations

from profiler import units
from profiler.units import flops as flops


def seconds(value: float) -> str:
    """A time with three figures and the unit that suits it."""
    if value <= 0:
        return "" if value < 0 else "0"
    return units.seconds(value, micro="\u00b5s")


def size(value: float) -> str:
    """Bytes."""
    return units.size(value, places=".3g") if value >= 0 else ""


def count(value: float) -> str:
    """A count with thousands separated; nothing where it is not known."""
    return units.count(int(value)) if value >= 0 else ""


def many(number: int, one: str) -> str:
    """So many things in words: `1 kernel`, `2 kernels`, `3 entries`."""
    several = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{number:,} {one if number == 1 else several}"


def sentence(words: str) -> str:
    """Words that stand by themselves, with a capital."""
    return words[:1].upper() + words[1:]


def time_scale(value: float) -> tuple[float, str]:
    """What to multiply times of about this size by for an axis, and the unit that gives."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "\u00b5s")):
        if value * factor >= 1:
            return factor, unit
    return 1e9, "ns"


def duration(value: float) -> str:
    """A time to wait, as one says it."""
    if value < 90:
        return f"{max(round(value), 1)} s"
    return f"{round(value / 60)} min" if value < 5400 else f"{value / 3600:.1f} h"
