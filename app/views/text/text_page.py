"""What a text view shows, as a value: the text, which lines have rows, what is marked, where it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.viewmodels.text.text_document import EMPTY, TextDocument

Place = tuple[int, int]  # a line and a column of it


def _no_lines() -> np.ndarray:
    return np.zeros(0, bool)


@dataclass(frozen=True)
class TextPage:
    """Lines are numbered from 0 and -1 is none; a row is a line that is neither folded away nor noise."""

    document: TextDocument = EMPTY
    language: str = ""
    empty: str = ""  # what is said where there is no text
    badges: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))  # provenance number of each set
    strings: dict[int, str] = field(default_factory=dict)  # the lines that begin inside a string, and its quotes
    regions: dict[int, int] = field(default_factory=dict)
    folded: dict[int, int] = field(default_factory=dict)
    noise: np.ndarray | None = None  # lines that are not worth a row
    visible: np.ndarray | None = None  # the lines that have a row; None: all
    diff: np.ndarray | None = None  # 1 added, -1 removed
    numbers: np.ndarray | None = None  # in a difference: the line numbers to show
    heat: np.ndarray | None = None  # 0..1 for each line
    shares: np.ndarray | None = None  # of the samples, for each line; None: not sampled
    lit: np.ndarray = field(default_factory=_no_lines)
    exact: np.ndarray | None = None  # of the lit lines those that are meant; None where all are
    hovered: np.ndarray = field(default_factory=_no_lines)
    matches: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    match: int = -1
    caret: int = -1
    selected: tuple[Place, Place] | None = None
    focused: bool = False
    first_row: int = 0
    shift: int = 0  # columns scrolled away at the left

    @property
    def strong(self) -> np.ndarray:
        """The lines to be shown strongly."""
        return self.lit if self.exact is None else self.exact

    @property
    def marked(self) -> bool:
        """Whether any line is lit or under the mouse."""
        return bool(self.lit.any() or self.hovered.any())

    def marks(self, lines: np.ndarray) -> np.ndarray:
        """How strongly each of these lines is marked, as bits: lines with other bits look otherwise."""
        bits = np.zeros(len(lines), np.uint8)
        exact = self.strong if self.exact is not None else _no_lines()
        for at, marked in enumerate((self.strong, exact, self.lit, self.hovered)):
            known = lines < len(marked)
            bits[known] |= marked[lines[known]].astype(np.uint8) << at
        return bits

    @property
    def rows(self) -> int:
        """How many rows there are to scroll through."""
        return self.document.lines if self.visible is None else len(self.visible)

    def line_of_row(self, row: int) -> int:
        """The line shown in a row."""
        return row if self.visible is None else int(self.visible[row])

    def row_of_line(self, line: int) -> int:
        """The row of a line, or of the fold that hides it."""
        return line if self.visible is None else max(int(np.searchsorted(self.visible, line, "right")) - 1, 0)

    def selected_text(self) -> str:
        """What is selected, or the lit lines, or the caret's line."""
        if self.selected is not None:
            (first, begin), (last, end) = sorted(self.selected)
            lines = [self.document.line(line) for line in range(first, last + 1)]
            lines[-1] = lines[-1][:end]
            lines[0] = lines[0][begin:]
            return "\n".join(lines)
        if self.strong.any():
            return "\n".join(self.document.line(int(line)) for line in np.flatnonzero(self.strong)[:100_000])
        return self.document.line(self.caret) if self.caret >= 0 else ""
