"""Two texts as one, or side by side: lines that stayed, went or came, with the nodes they had."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from app.viewmodels.compilation import LineText, Nodes
from app.viewmodels.text.alignment import matched_lines, plain_line, same_but_numbers
from app.viewmodels.text.text_document import TextDocument, index_text, packed_places

_LARGEST = 200_000  # lines on a side; above this the comparison would take seconds
SAME, CAME, WENT, GAP = 0, 1, -1, 2
Row = tuple[int, int]  # a line of the text before and one of the text after; -1 where there is none


@dataclass(frozen=True)
class DiffDocument:
    """The text to show; `marks` is 1 for a line that came, -1 for one that went, 2 for room left for the other side.

    `numbers` are the lines' own numbers on their side, 0 where there is no line.
    """

    document: TextDocument
    marks: np.ndarray
    numbers: np.ndarray
    came: int
    went: int

    @property
    def changes(self) -> list[int]:
        """The first line of each changed block."""
        changed = np.flatnonzero(self.marks)
        if not len(changed):
            return []
        return changed[np.concatenate(([True], np.diff(changed) > 1))].tolist()

    @property
    def summary(self) -> str:
        """How much came and went."""
        return f"+{self.came} \u2212{self.went}" if self.came or self.went else "no difference"


def diff_rows(before: TextDocument, after: TextDocument) -> list[Row]:
    """The lines of both texts in the order a reader expects: what went before what came in its place."""
    if max(before.lines, after.lines) > _LARGEST:
        raise ValueError(f"the texts are too long to compare ({before.lines:,} and {after.lines:,} lines)")
    old = [before.line_bytes(line) for line in range(before.lines)]
    new = [after.line_bytes(line) for line in range(after.lines)]
    pairs = matched_lines([plain_line(line) for line in old], [plain_line(line) for line in new])
    same = same_but_numbers((old[a], new[b]) for a, b in pairs)
    rows: list[Row] = []
    a = b = 0
    for (left, right), equal in zip([*pairs, (len(old), len(new))], [*same, True], strict=True):
        if not equal:
            continue
        rows += [(line, -1) for line in range(a, left)]
        rows += [(-1, line) for line in range(b, right)]
        if left < len(old):
            rows.append((left, right))
        a, b = left + 1, right + 1
    return rows


def diff_documents(before: TextDocument, after: TextDocument) -> DiffDocument:
    """Both texts in one: what went stands before what came."""
    rows = diff_rows(before, after)
    lines = [(after, right) if right >= 0 else (before, left) for left, right in rows]
    marks = [SAME if left >= 0 <= right else CAME if right >= 0 else WENT for left, right in rows]
    return _built(lines, marks, rows)


def diff_sides(before: TextDocument, after: TextDocument) -> tuple[DiffDocument, DiffDocument]:
    """Each text by itself, with room left so that equal lines stand at the same height."""
    rows = diff_rows(before, after)
    beside: list[tuple[int, int, bool]] = []
    went: list[int] = []
    came: list[int] = []

    def flush() -> None:
        beside.extend((a, b, True) for a, b in zip_longest(went, came, fillvalue=-1))
        went.clear()
        came.clear()

    for left, right in rows:
        if left >= 0 <= right:
            flush()
            beside.append((left, right, False))
        elif right >= 0:
            came.append(right)
        else:
            went.append(left)
    flush()
    sides: list[DiffDocument] = []
    for text, place, mark in ((before, 0, WENT), (after, 1, CAME)):
        lines = [(text, row[place]) for row in beside]
        marks = [SAME if not row[2] else mark if row[place] >= 0 else GAP for row in beside]
        sides.append(_built(lines, marks, rows))
    return sides[0], sides[1]


def _built(lines: list[tuple[TextDocument, int]], marks: list[int], rows: list[Row]) -> DiffDocument:
    table: dict[Nodes, int] = {(): 0}
    nodes = [text.nodes(line) if line >= 0 else () for text, line in lines]
    sets = np.array([table.setdefault(entry, len(table)) for entry in nodes], np.int32)
    files: dict[str, int] = {"": 0}
    at = [text.place(line) if line >= 0 else ("", 0) for text, line in lines]
    calls = [text.library_place(line) if line >= 0 else ("", 0) for text, line in lines]
    places, library = packed_places(at, files), packed_places(calls, files)
    body = b"".join((text.line_bytes(line) if line >= 0 else b"") + b"\n" for text, line in lines)
    return DiffDocument(
        index_text(LineText(body, tuple(table), sets.tobytes(), tuple(files), places, library)),
        np.array(marks, np.int8),
        np.array([line + 1 for _, line in lines], np.int32),
        sum(left < 0 for left, _ in rows),
        sum(right < 0 for _, right in rows),
    )
