"""Two texts as one: lines that stayed, went or came, in the order a reader expects, with the nodes they had."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import numpy as np

from app.viewmodels.compilation import LineText, Nodes
from app.viewmodels.text_document import TextDocument, index_text

_LARGEST = 20_000  # lines on a side; above this the comparison would take seconds


@dataclass(frozen=True)
class DiffDocument:
    """The merged text; `marks` is 1 for a line that came, -1 for one that went; `numbers` are its own line numbers."""

    document: TextDocument
    marks: np.ndarray
    numbers: np.ndarray

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
        return f"+{int((self.marks > 0).sum())} \u2212{int((self.marks < 0).sum())}"


def diff_documents(before: TextDocument, after: TextDocument) -> DiffDocument:
    """Compare two texts line by line."""
    if max(before.lines, after.lines) > _LARGEST:
        raise ValueError(f"the texts are too long to compare ({before.lines:,} and {after.lines:,} lines)")
    old = [before.line_bytes(line) for line in range(before.lines)]
    new = [after.line_bytes(line) for line in range(after.lines)]
    lines: list[bytes] = []
    marks: list[int] = []
    numbers: list[int] = []
    nodes: list[Nodes] = []

    def take(side: TextDocument, texts: list[bytes], first: int, last: int, mark: int) -> None:
        for line in range(first, last):
            lines.append(texts[line])
            marks.append(mark)
            numbers.append(line + 1)
            nodes.append(side.nodes(line))

    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            take(after, new, c, d, 0)
        else:
            take(before, old, a, b, -1)
            take(after, new, c, d, 1)
    table: dict[Nodes, int] = {(): 0}
    sets = np.array([table.setdefault(entry, len(table)) for entry in nodes], np.int32)
    text = LineText(b"\n".join(lines) + b"\n" if lines else b"", tuple(table), sets.tobytes())
    return DiffDocument(index_text(text), np.array(marks, np.int8), np.array(numbers, np.int32))
