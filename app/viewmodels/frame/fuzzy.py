"""Ranking of names by a few typed letters."""

from __future__ import annotations

from collections.abc import Sequence


def rank(text: str, names: Sequence[str]) -> list[int]:
    """Indices of the names that hold all the letters in order, best first; all of them for no letters."""
    wanted = text.lower().replace(" ", "")
    scored = [(score, index) for index, name in enumerate(names) if (score := _score(wanted, name.lower())) is not None]
    return [index for _, index in sorted(scored)]


def _score(wanted: str, name: str) -> tuple[int, int] | None:
    """Less is better: the very name first, then a plain part, then the fewest jumps."""
    if not wanted:
        return (0, 0)
    packed = name.replace(" ", "")
    if packed == wanted:
        return (-1, 0)
    found = packed.find(wanted)
    if found >= 0:
        return (0, found)
    at, jumps = -1, 0
    for letter in wanted:
        after = name.find(letter, at + 1)
        if after < 0:
            return None
        jumps += after != at + 1
        at = after
    return (1 + jumps, at)
