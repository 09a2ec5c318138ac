"""The flame of a sampled run: graph node, kernel, line, instruction, each as wide as its share of the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen

from app.theme.look import Look, tint
from app.viewmodels.text.flame import LEVELS, FlameCell
from app.views.parts.chart import PaintedChart, mark_keyboard
from profiler.units import percent

_ROW, _MARGIN, _LEAST = 20, 4, 1.5
"""Pixels: a level's height, what is around all of it, and the least width of a cell that is worth painting."""
_NAMED = 24


class FlameBar(PaintedChart):
    """A click chooses a cell, a double click widens it to the whole width, and once more gives all of it back."""

    chosen = Signal(object)

    def __init__(self, look: Look, number_of: Callable[[str], int]) -> None:
        super().__init__(look, "Where the samples are: node, kernel, line, instruction", _ROW + 2 * _MARGIN)
        self._levels = 0
        self.set_room(len(LEVELS) * _ROW + 2 * _MARGIN)
        self._number_of = number_of
        self.cells: Sequence[FlameCell] = ()
        self._at = -1  # the cell that is chosen
        self._zoom = -1
        self._lit: frozenset[str] = frozenset()

    def set_cells(self, cells: Sequence[FlameCell]) -> None:
        """Another run's samples; all of them in sight."""
        self.cells, self._at, self._zoom = cells, -1, -1
        self.setVisible(bool(cells))
        self.update()

    def set_room(self, pixels: int) -> None:
        """Show as many levels as there is room for, and at least the first."""
        levels = min(max((pixels - 2 * _MARGIN) // _ROW, 1), len(LEVELS))
        if levels != self._levels:
            self._levels = levels
            self.setFixedHeight(levels * _ROW + 2 * _MARGIN)

    def light(self, nodes: frozenset[str]) -> None:
        """Mark the cells of selected nodes."""
        self._lit = nodes
        self.update()

    def cell_at(self, point: QPoint) -> int:
        """The cell under a point, or -1."""
        level = int((point.y() - _MARGIN) // _ROW)
        found = [at for at in self._visible() if self.cells[at].level == level and self.rect_of(at).contains(point)]
        return found[0] if found else -1

    def rect_of(self, at: int) -> QRectF:
        """Where a cell is painted."""
        cell = self.cells[at]
        low, high = self._span()
        width = self.width() - 2 * _MARGIN
        left = _MARGIN + max(cell.begin - low, 0.0) / (high - low) * width
        right = _MARGIN + (min(cell.end, high) - low) / (high - low) * width
        return QRectF(left, _MARGIN + cell.level * _ROW, max(right - left, 0.0), _ROW - 1)

    def tip(self, point: QPoint) -> str:
        at = self.cell_at(point)
        return self.words(at) if at >= 0 else ""

    def words(self, at: int) -> str:
        """A cell in words."""
        cell = self.cells[at]
        waits = ", ".join(f"{name} {count:,}" for name, count in (cell.spot.line.stalls if cell.spot else ())[:3])
        told = f"{LEVELS[cell.level]} {cell.name}\n{percent(cell.share)} of the samples in kernels"
        return f"{told}\nwaits: {waits}" if waits and cell.level == len(LEVELS) - 1 else told

    def choose(self, at: int) -> None:
        """Choose a cell, as a click does."""
        self._at = at
        self.update()
        self.chosen.emit(self.cells[at])

    def zoom(self, at: int) -> None:
        """Widen a cell to the whole width; the one that is, back to all of them."""
        self._zoom = -1 if at == self._zoom else at
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self.cell_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and at >= 0:
            self.choose(at)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = self.cell_at(event.position().toPoint())
        if at >= 0:
            self.zoom(at)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.point_at(self.cell_at(event.position().toPoint()) >= 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self.cells:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._at >= 0:
            self.zoom(self._at)
        elif (at := self._beside(key)) is not None:
            self.choose(at)
        else:
            super().keyPressEvent(event)

    def _beside(self, key: Qt.Key) -> int | None:
        """The cell that an arrow leads to: the parent, the widest part, or a neighbour of the same level."""
        if key not in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right):
            return None
        if self._at < 0:
            return 0
        cell = self.cells[self._at]
        if key == Qt.Key.Key_Up:
            return cell.parent if cell.parent >= 0 else None
        if key == Qt.Key.Key_Down:
            below = self._at + 1  # its widest part comes right after it
            there = below < len(self.cells) and cell.level + 1 < self._levels
            return below if there and self.cells[below].parent == self._at else None
        same = [at for at in self._visible() if self.cells[at].level == cell.level]
        if self._at not in same:
            return None
        place = same.index(self._at) + (1 if key == Qt.Key.Key_Right else -1)
        return same[place] if 0 <= place < len(same) else None

    def _span(self) -> tuple[float, float]:
        if self._zoom >= 0:
            return self.cells[self._zoom].begin, self.cells[self._zoom].end
        return 0.0, max((cell.end for cell in self.cells if cell.level == 0), default=1.0)

    def _visible(self) -> list[int]:
        """The cells wide enough to be seen, of the levels that are."""
        low, high = self._span()
        least = _LEAST * (high - low) / max(self.width() - 2 * _MARGIN, 1)
        return [
            at
            for at, cell in enumerate(self.cells)
            if cell.level < self._levels and min(cell.end, high) - max(cell.begin, low) >= least
        ]  # fmt: skip

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme = self._look.theme
        painter.fillRect(self.rect(), QColor(theme.panel))
        mark_keyboard(painter, self, self._look)
        font = QFont(self._look.ui_font)
        font.setPixelSize(max(min(self._look.code_pixels - 1, 12), 9))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        for at in self._visible():
            self._paint_cell(painter, metrics, at)
        painter.end()

    def _paint_cell(self, painter: QPainter, metrics: QFontMetricsF, at: int) -> None:
        theme, cell, box = self._look.theme, self.cells[at], self.rect_of(at)
        number = self._number_of(cell.node)
        colour = theme.series_colour(number - 1) if number > 0 else theme.muted
        painter.fillRect(box.adjusted(0, 0, -1, 0), tint(colour, (120, 95, 70, 50)[cell.level]))
        if cell.node in self._lit and cell.level == 0:
            painter.fillRect(QRectF(box.left(), box.top(), box.width() - 1, 3), QColor(colour))
        if box.width() > _NAMED:
            painter.setPen(QColor(theme.text))
            name = f"{number} {cell.name}" if cell.level == 0 and number > 0 else cell.name
            words = metrics.elidedText(f"{name}  {percent(cell.share)}", Qt.TextElideMode.ElideRight, box.width() - 8)
            painter.drawText(box.adjusted(4, 0, -4, 0), Qt.AlignmentFlag.AlignVCenter, words)
        if at == self._at:
            painter.setPen(QPen(QColor(theme.accent if self.hasFocus() else theme.strong_border), 1.4))
            painter.drawRect(box.adjusted(0.5, 0.5, -1.5, -0.5))
