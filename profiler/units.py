"""Numbers with units a person reads at a glance: the one place that words them, for tables, reports and the window."""

from __future__ import annotations


def seconds(value: float | None, *, micro: str = "us") -> str:
    """A duration in the unit that gives it one to three digits before the point; nothing where it is not known.

    `micro` is the unit of a millionth of a second, for places that can show a Greek letter.
    """
    if value is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), (micro, 1e6)):
        scaled = value * factor
        if abs(scaled) >= 0.9995:  # what three digits make a whole one of is said in this unit
            return f"{figure(scaled)} {unit}"
    return f"{value * 1e9:.0f} ns"


def size(value: float | None, *, places: str = ".1f") -> str:
    """A number of bytes in binary units, with `places` for those that are not whole; nothing where it is not known."""
    if value is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            whole = unit == "B" or (places.endswith("g") and abs(value) >= 999.5)  # no powers of ten
            return f"{value:.0f} {unit}" if whole else f"{value:{places}} {unit}"
        value /= 1024
    return f"{value:{places}} TiB"


def count(value: float | None) -> str:
    """A number with thousands set apart."""
    return "" if value is None else f"{value:,.0f}"


def flops(value: float) -> str:
    """A number of operations."""
    for unit in ("", "K", "M", "G", "T"):
        if value < 999.5:
            return f"{value:.3g} {unit}FLOP"
        value /= 1000
    return f"{value:.3g} PFLOP"


def figure(value: float | None, digits: int = 3) -> str:
    """A number with a few digits, a large one whole; empty where there is none."""
    if value is None:
        return ""
    return f"{value:.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:.0f}"


def rate(value: float, unit: str) -> str:
    """GB/s or GFLOP/s with three digits; from a thousand on in the next larger unit."""
    if value < 1000 or not unit.startswith("G"):
        return f"{figure(value)} {unit}"
    return f"{figure(value / 1000)} T{unit[1:]}"


def moment(stored: object) -> str:
    """When something was, to the second, of a moment as it is stored."""
    return str(stored)[:19].replace("T", " ")


def percent(value: float | None, digits: int = 0) -> str:
    """A share, in percent."""
    return "" if value is None else f"{value:.{digits}%}"
