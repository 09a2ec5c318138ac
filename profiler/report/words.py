"""Figures in words as a page shows them: the units of `profiler.units`, set as a typographer would."""

from __future__ import annotations

from datetime import datetime

from profiler import units


def seconds(value: float | None) -> str:
    """A duration; a microsecond is µs."""
    return units.seconds(value, micro="µs")


def exact(value: float | None) -> str:
    """A duration with four digits, where three would make different ones look the same."""
    return "" if value is None else _in_unit(value, value, 4)


def interval(ends: tuple[float, float]) -> str:
    """From one duration to another in one unit, with as many digits as tell them apart, five at the most."""
    low, high = ends
    for digits in (3, 4, 5):
        first, second = _in_unit(low, high, digits), _in_unit(high, high, digits)
        if first != second or low == high:
            break
    return f"{first.rsplit(' ', 1)[0]} to {second}"


def time_unit(most: float) -> tuple[str, float]:
    """The unit in which times up to `most` seconds read well, and its size in seconds."""
    return next(
        ((unit, scale) for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if most >= scale), ("ns", 1e-9)
    )


def _in_unit(value: float, scale_of: float, digits: int) -> str:
    """A duration in the unit that suits another one."""
    unit, one = time_unit(scale_of)
    shown = value / one
    return f"{shown:.{digits}g} {unit}" if shown < 10**digits else f"{shown:.0f} {unit}"


def moment(text: str | None) -> str:
    """A stored moment as date and time, in UTC as it was stored."""
    if not text:
        return ""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{found:%Y-%m-%d %H:%M:%S} UTC" if found.tzinfo else text


def short(number: float | None) -> str:
    """A large count in three digits and a unit: 67.4 M."""
    if number is None:
        return ""
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number:.0f}"
