"""The memory plan as blocks over the launches: width is a buffer's life, height its size."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.theme.look import Look, tint
from app.viewmodels.compilation import Compilation, MemoryBlock
from app.viewmodels.formats import size
from app.viewmodels.selection import Selection

_LEFT, _TOP, _BOTTOM = 76.0, 26.0, 10.0


class MemoryView(QWidget):
    """Paints the plan; a click on a block selects the nodes whose value it holds."""

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._compilation: Compilation | None = None
        self.setMouseTracking(True)
        self.setMinimumHeight(90)
        self.setAccessibleName("Memory plan")
        look.changed.connect(self.update)
        selection.changed.connect(lambda nodes, origin: self.update())

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its plan."""
        self._compilation = compilation
        self.update()

    def _rect(self, block: MemoryBlock) -> QRectF:
        compilation = self._compilation
        assert compilation is not None
        step = (self.width() - _LEFT - 12) / max(len(compilation.calls), 1)
        room = (self.height() - _TOP - _BOTTOM) / max(compilation.peak, 1)
        top = self.height() - _BOTTOM - (block.offset + block.size) * room
        return QRectF(_LEFT + block.first * step, top, (block.last - block.first + 1) * step, block.size * room)

    def block_at(self, point: QPointF) -> MemoryBlock | None:
        """The block under a point."""
        blocks = self._compilation.blocks if self._compilation else ()
        return next((block for block in blocks if self._rect(block).contains(point)), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._look.theme
        area = QRectF(self.rect())
        painter.fillRect(area, QColor(theme.panel))
        compilation = self._compilation
        if compilation is None or not compilation.blocks:
            painter.setPen(QColor(theme.faint))
            note = "Compile something to see its memory plan."
            if compilation is not None:
                note = (
                    compilation.plan_note
                    or "This model needs no temporary memory: kernels write straight to the outputs."
                )
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, note)
            return
        painter.fillRect(
            QRectF(_LEFT, _TOP, area.width() - _LEFT - 12, area.height() - _TOP - _BOTTOM), QColor(theme.code)
        )
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(8, _TOP - 8, _LEFT - 14, 20), Qt.AlignmentFlag.AlignRight, size(compilation.peak))
        painter.drawText(QRectF(8, area.height() - _BOTTOM - 16, _LEFT - 14, 20), Qt.AlignmentFlag.AlignRight, "0")
        step = (area.width() - _LEFT - 12) / len(compilation.calls)
        metrics = QFontMetricsF(painter.font())
        for call in compilation.calls:
            x = _LEFT + call.index * step
            painter.setPen(QColor(theme.muted))
            text = metrics.elidedText(f"{call.index + 1} {call.kernel}", Qt.TextElideMode.ElideRight, step - 8)
            if step > 22:
                painter.drawText(QRectF(x + 4, 4, step, 18), Qt.AlignmentFlag.AlignVCenter, text)
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.drawLine(QPointF(x, _TOP), QPointF(x, area.height() - _BOTTOM))
        for index, block in enumerate(compilation.blocks):
            self._paint_block(painter, block, index, metrics)

    def _paint_block(self, painter: QPainter, block: MemoryBlock, index: int, metrics: QFontMetricsF) -> None:
        theme, rect = self._look.theme, self._rect(block).adjusted(1, 0.5, -1, -0.5)
        compilation = self._compilation
        assert compilation is not None
        number = compilation.number(block.nodes[0]) if block.nodes else index + 1
        lit = not self._selection.nodes.isdisjoint(block.nodes)
        painter.setBrush(tint(theme.series_colour(number - 1), 120 if theme.dark else 90))
        painter.setPen(QPen(QColor(theme.accent if lit else theme.border), 2 if lit else 1))
        painter.drawRect(rect)
        if rect.height() > 13 and rect.width() > 40:
            painter.setPen(QColor(theme.text))
            text = f"{number} {block.name}  {size(block.size)}"
            painter.drawText(
                rect.adjusted(6, 0, -4, 0),
                Qt.AlignmentFlag.AlignVCenter,
                metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width() - 10),
            )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        block = self.block_at(event.position())
        self._selection.hover(block.nodes if block else (), self)
        self.setToolTip(f"{block.name}: {size(block.size)} at offset {block.offset:,}" if block else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        block = self.block_at(event.position())
        if block is not None:
            self._selection.select(block.nodes, self)

    def leaveEvent(self, event) -> None:
        self._selection.hover((), self)
