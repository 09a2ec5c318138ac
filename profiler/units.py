"""Numbers with units a person reads at a glance."""

from __future__ import annotations


def seconds(value: float | None) -> str:
    """A duration in the unit that gives it one to three digits before the point."""
    if value is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {unit}" if value / scale < 1000 else f"{value / scale:.0f} {unit}"
    return f"{value / 1e-9:.0f} ns"


def size(value: float | None) -> str:
    """A number of bytes in binary units."""
    if value is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def count(value: float | None) -> str:
    """A number with thousands set apart."""
    return "" if value is None else f"{value:,.0f}"


def figure(value: float | None, digits: int = 3) -> str:
    """A number with a few digits; empty where there is none."""
    return "" if value is None else f"{value:.{digits}g}"


def percent(value: float | None) -> str:
    """A share, in percent."""
    return "" if value is None else f"{value:.0%}"
