"""Numbers as people read them."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A time with three figures and the unit that suits it."""
    if value < 0:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("\u00b5s", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}" if value * factor < 1000 else f"{value * factor:.0f} {unit}"
    return f"{value * 1e9:.0f} ns" if value else "0"


def size(value: float) -> str:
    """Bytes."""
    if value < 0:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def count(value: float) -> str:
    """A count with thousands separated; nothing where it is not known."""
    return f"{int(value):,}" if value >= 0 else ""


def flops(value: float) -> str:
    """Operations."""
    for unit in ("", "K", "M", "G", "T"):
        if value < 1000:
            return f"{value:.3g} {unit}FLOP".replace(" FLOP", " FLOP")
        value /= 1000
    return f"{value:.3g} PFLOP"
