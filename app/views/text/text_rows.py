"""Which lines of a text are on show, in which rows, and how far it is scrolled: folding, noise, the scroll bars."""

from __future__ import annotations

# pyright: reportIncompatibleMethodOverride=false
# (the stubs of Qt name the events differently in every class)
import numpy as np
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.theme.look import Look
from app.viewmodels.text.folding import visible_lines
from app.viewmodels.text.text_document import EMPTY, TextDocument, widest
from app.views.text.text_painter import TextPainter

RULER = 8  # width of the strip beside the scroll bar that shows where lit lines are
_MEASURED = 1 << 20  # bytes of a text up to which the widest of the lines on show is looked for


class TextRows(QAbstractScrollArea):
    """Scrolls over the lines of a document that are neither folded away nor noise."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.look = look
        self.document: TextDocument = EMPTY
        self.language = ""
        self.badges: np.ndarray = np.zeros(0, np.int32)  # provenance number of each set
        self.regions: dict[int, int] = {}
        self.folded: dict[int, int] = {}
        self.noise: np.ndarray | None = None  # lines that are not worth a row
        self._visible: np.ndarray | None = None
        self._widest = 0  # columns of the lines on show
        self._painter = TextPainter(self)  # type: ignore[arg-type]
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)

    def refresh(self) -> None:
        """Fonts, sizes or folds changed."""
        self._painter.measure()
        self._update_bars()
        self.viewport().update()

    # Rows and lines ----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many rows there are to scroll through: lines less what is folded away."""
        return self.document.lines if self._visible is None else len(self._visible)

    def line_of_row(self, row: int) -> int:
        """The line shown in a row."""
        return row if self._visible is None else int(self._visible[row])

    def row_of_line(self, line: int) -> int:
        """The row of a line, or of the fold that hides it."""
        return line if self._visible is None else max(int(np.searchsorted(self._visible, line, "right")) - 1, 0)

    @property
    def first_row(self) -> int:
        """The topmost row in sight."""
        return self.verticalScrollBar().value()

    @property
    def page(self) -> int:
        """How many whole rows fit."""
        return max(int(self.viewport().height() / self._painter.row), 1)

    def visible_range(self) -> tuple[int, int]:
        """The first and last line in sight."""
        if not self.rows:
            return 0, -1
        last = min(self.first_row + self.page - 1, self.rows - 1)
        return self.line_of_row(self.first_row), self.line_of_row(last)

    def reveal(self, line: int, centre: bool = True) -> None:
        """Unfold what hides a line and scroll until it is in sight."""
        for begin, end in list(self.folded.items()):
            if begin < line <= end:
                self.toggle_fold(begin)
        row = self.row_of_line(line)
        if not self.first_row <= row < self.first_row + self.page:
            self.verticalScrollBar().setValue(row - (self.page // 3 if centre else 0))

    def _reveal_columns(self, begin: int, end: int) -> None:
        """Scroll sideways, as little as it takes, until these columns are in sight; to the left where they can be."""
        bar = self.horizontalScrollBar()
        if end <= bar.pageStep():
            bar.setValue(0)
        elif not bar.value() <= begin <= end <= bar.value() + bar.pageStep():
            bar.setValue(max(min(begin - 8, end + 8 - bar.pageStep()), 0) if end - begin < bar.pageStep() else begin)

    def toggle_fold(self, line: int) -> None:
        """Fold or unfold the region that begins at a line."""
        if line in self.folded:
            del self.folded[line]
        elif line in self.regions:
            self.folded[line] = self.regions[line]
        self._show_lines(visible_lines(self.document.lines, self.folded, self.noise))
        self._update_bars()
        self.viewport().update()

    def fold_all(self, fold: bool) -> None:
        """Fold every region, or none. One around the whole text stays open where there are others inside."""
        within = {begin: end for begin, end in self.regions.items() if begin > 0 or end < self.document.lines - 3}
        self.folded = dict(within or self.regions) if fold else {}
        self._show_lines(visible_lines(self.document.lines, self.folded, self.noise))
        self._update_bars()
        self.viewport().update()

    def set_noise(self, noise: np.ndarray | None) -> None:
        """Leave these lines out; None shows all."""
        anchor = self.visible_range()[0]
        self.noise = noise
        self._show_lines(visible_lines(self.document.lines, self.folded, noise))
        self._update_bars()
        self.verticalScrollBar().setValue(self.row_of_line(anchor))
        self.viewport().update()

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        self._update_bars()

    def _show_lines(self, lines: np.ndarray | None) -> None:
        """Show these lines, or all; how wide they are is measured where that takes no time."""
        self._visible = lines
        if len(self.document.data) <= _MEASURED:
            self._widest = widest(self.document, lines)
        else:
            self._widest = self.document.longest * (2 if self.language in ("asm", "ptx") else 1)

    def _update_bars(self) -> None:
        vertical, horizontal = self.verticalScrollBar(), self.horizontalScrollBar()
        vertical.setRange(0, max(self.rows - self.page, 0))
        vertical.setPageStep(self.page)
        vertical.setSingleStep(3)
        columns = max(int((self.viewport().width() - self._painter.gutter - RULER) / self.look.column), 1)
        horizontal.setRange(0, max(min(self._widest, 1 << 24) + 2 - columns, 0))
        horizontal.setPageStep(columns)
