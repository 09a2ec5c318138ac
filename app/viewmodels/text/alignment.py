"""Which lines of two texts belong together: unique lines first (patience), the gaps between them by longest matches.

IR is renumbered whenever an operation goes: `%12` and `!dbg !7` are other numbers for the same thing. Lines are matched
without those numbers; `same_but_numbers` then tells whether a matched pair uses the same values under one renaming.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

_DEBUG = re.compile(rb",? !dbg !\d+|(?<=[ (])#?![\w.]*\d+|^!\d+ =|#\d+(?= [{=]|$)")
_NUMBERED = re.compile(rb"%\d+\b")
_GAP = 400_000  # cells of a gap (lines times lines) that are worth the longest-match search


def plain_line(line: bytes) -> bytes:
    """A line of IR without the numbers that change when something else does."""
    if b"%" in line or b"!" in line:
        return _NUMBERED.sub(b"%", _DEBUG.sub(b"", line))
    return line


def matched_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pairs of equal lines, in order on both sides."""
    table: dict[bytes, int] = {}
    a = [table.setdefault(line, len(table)) for line in old]
    b = [table.setdefault(line, len(table)) for line in new]
    pairs: list[tuple[int, int]] = []
    work = [(0, len(a), 0, len(b))]
    while work:
        a0, a1, b0, b1 = work.pop()
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            pairs.append((a0, b0))
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
            pairs.append((a1, b1))
        if a0 == a1 or b0 == b1:
            continue
        anchors = _anchors(a, b, a0, a1, b0, b1)
        if anchors:
            at, bt = a0, b0
            for left, right in anchors:
                work.append((at, left, bt, right))
                pairs.append((left, right))
                at, bt = left + 1, right + 1
            work.append((at, a1, bt, b1))
        elif (a1 - a0) * (b1 - b0) <= _GAP:
            blocks = difflib.SequenceMatcher(None, a[a0:a1], b[b0:b1], autojunk=False).get_matching_blocks()
            pairs += [(a0 + m.a + i, b0 + m.b + i) for m in blocks for i in range(m.size)]
    return sorted(pairs)


def _anchors(
    a: Sequence[int], b: Sequence[int], a0: int, a1: int, b0: int, b1: int
) -> list[tuple[int, int]]:  # fmt: skip
    """Lines that occur once on each side, as many as keep their order."""
    here, there = _once(a, a0, a1), _once(b, b0, b1)
    candidates = [(place, there[line]) for line, place in here.items() if line in there]  # in order of the old side
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(candidates):
        at = bisect_left(tails, place)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(place)
            ends.append(number)
        else:
            tails[at], ends[at] = place, number
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(candidates[number])
        number = before[number]
    return chain[::-1]


def _once(lines: Sequence[int], begin: int, end: int) -> dict[int, int]:
    seen: dict[int, int] = {}
    for place in range(begin, end):
        line = lines[place]
        seen[line] = -1 if line in seen else place
    return {line: place for line, place in seen.items() if place >= 0}


def same_but_numbers(pairs: Iterable[tuple[bytes, bytes]]) -> list[bool]:
    """For each matched pair, in order, whether its numbered values are those of the other side, renamed."""
    forth: dict[bytes, bytes] = {}
    back: dict[bytes, bytes] = {}
    verdicts: list[bool] = []
    for old, new in pairs:
        same = True
        if b"%" in old:
            if old.lstrip().startswith((b"func", b"define", b"llvm.func", b"gpu.func", b"kgen.func")):
                forth, back = {}, {}  # numbering starts anew in each function
            for one, other in zip(_NUMBERED.findall(old), _NUMBERED.findall(new), strict=False):
                if forth.setdefault(one, other) != other or back.setdefault(other, one) != one:
                    same = False
        verdicts.append(same)
    return verdicts
