"""The memory plan as blocks over the launches: width is a buffer's life, height its size."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen

from app.theme.look import Look, tint
from app.viewmodels.compilation import Compilation, MemoryBlock
from app.viewmodels.frame.formats import size
from app.viewmodels.frame.selection import Selection
from app.viewmodels.timeline.memory_plan import describe, summary
from app.views.parts.chart import PaintedChart, mark_keyboard

_LEFT, _TOP, _BOTTOM, _RIGHT = 84.0, 42.0, 12.0, 14.0


class MemoryView(PaintedChart):
    """Paints the plan; a click on a block, or Enter, selects the nodes whose value it holds. Arrows walk the blocks."""

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__(look, "Memory plan", 90)
        self._selection = selection
        self._compilation: Compilation | None = None
        self._summary = ""
        self._at = -1
        selection.changed.connect(lambda nodes, origin: self.update())

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its plan."""
        self._compilation, self._at = compilation, -1
        self._summary = summary(compilation) if compilation.blocks else ""
        self.setAccessibleDescription(self._summary or self._nothing())
        self.update()

    def rect_of(self, block: MemoryBlock) -> QRectF:
        """Where a block is drawn."""
        compilation = self._compilation
        assert compilation is not None
        step = (self.width() - _LEFT - _RIGHT) / max(len(compilation.calls), 1)
        room = (self.height() - _TOP - _BOTTOM) / max(compilation.peak, 1)
        top = self.height() - _BOTTOM - (block.offset + block.size) * room
        return QRectF(_LEFT + block.first * step, top, (block.last - block.first + 1) * step, block.size * room)

    def block_at(self, point: QPointF) -> MemoryBlock | None:
        """The block under a point."""
        blocks = self._compilation.blocks if self._compilation else ()
        return next((block for block in blocks if self.rect_of(block).contains(point)), None)

    def _launch_at(self, x: float, y: float) -> str:
        """The launch whose heading is there, whole where there is no room for it; else the plan in short."""
        compilation = self._compilation
        if compilation is None or not compilation.calls or not _TOP - 20 <= y <= _TOP:
            return self._summary
        at = int((x - _LEFT) / (self.width() - _LEFT - _RIGHT) * len(compilation.calls))
        return f"{at + 1} {compilation.calls[at].kernel}" if 0 <= at < len(compilation.calls) else self._summary

    def _nothing(self) -> str:
        if self._compilation is None:
            return "Open a sample or a file: its temporary buffers are drawn here, as blocks over the launches."
        if note := self._compilation.plan_note:
            sizes = ", ".join(f'"{name}": 256' for name in self._compilation.unsized)
            hint = f". Write usual sizes into the source to see it, as in DIMS = {{{sizes}}}" if sizes else ""
            return f"The memory plan: {note}{hint}."
        return "This model needs no temporary memory: its kernels write straight to the outputs."

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._look.theme
        area = QRectF(self.rect())
        painter.fillRect(area, QColor(theme.panel))
        mark_keyboard(painter, self, self._look)
        compilation = self._compilation
        if compilation is None or not compilation.blocks:
            painter.setPen(QColor(theme.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(area.adjusted(12, 8, -12, -8), flags, self._nothing())
            return
        ground = area.adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM)
        painter.fillRect(ground, QColor(theme.code))
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(theme.muted))
        words = self._summary + ("  \u00b7  " + self._current() if self._at >= 0 and self.hasFocus() else "")
        painter.drawText(
            QRectF(12, 2, area.width() - 24, 18), Qt.AlignmentFlag.AlignVCenter,
            metrics.elidedText(words, Qt.TextElideMode.ElideRight, area.width() - 24),
        )  # fmt: skip
        for share in (0.0, 0.5, 1.0):
            y = ground.bottom() - ground.height() * share
            painter.setPen(QColor(theme.muted))
            painter.drawText(
                QRectF(8, y - 9, _LEFT - 16, 18),
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
                size(compilation.peak * share) if share else "0",
            )
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.drawLine(QPointF(ground.left(), y), QPointF(ground.right(), y))
        self._paint_launches(painter, ground, metrics)
        for index, block in enumerate(compilation.blocks):
            self._paint_block(painter, block, index, metrics)

    def _paint_launches(self, painter: QPainter, ground: QRectF, metrics: QFontMetricsF) -> None:
        compilation, theme = self._compilation, self._look.theme
        assert compilation is not None
        step = ground.width() / max(len(compilation.calls), 1)
        every = max(1, round(34 / step)) if step < 34 else 1  # where launches are many, only some have room for a name
        for call in compilation.calls:
            x = ground.left() + call.index * step
            painter.setPen(QPen(QColor(theme.border), 1))
            if step > 4:
                painter.drawLine(QPointF(x, ground.top()), QPointF(x, ground.bottom()))
            if call.index % every == 0:
                painter.setPen(QColor(theme.muted))
                text = f"{call.index + 1} {call.kernel}" if step > 60 else str(call.index + 1)
                text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, step * every - 6)
                if x + 3 + metrics.horizontalAdvance(text) > self.width():  # the last one, near the edge
                    continue
                painter.drawText(QRectF(x + 3, _TOP - 20, step * every, 18), Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_block(self, painter: QPainter, block: MemoryBlock, index: int, metrics: QFontMetricsF) -> None:
        theme, rect = self._look.theme, self.rect_of(block).adjusted(1, 0.5, -1, -0.5)
        compilation = self._compilation
        assert compilation is not None
        number = compilation.number(block.nodes[0]) if block.nodes else 0
        lit = not self._selection.nodes.isdisjoint(block.nodes)
        current = index == self._at and self.hasFocus()
        colour = theme.series_colour(number - 1) if number else theme.faint
        painter.fillRect(rect, QColor(theme.code))  # no line of the ground shows through, and none crosses the words
        painter.setBrush(tint(colour, 120 if theme.dark else 90))
        painter.setPen(QPen(QColor(theme.accent if lit or current else theme.border), 2 if lit or current else 1))
        painter.drawRect(rect)
        if rect.height() > metrics.height() * 0.8 and rect.width() > 40:
            painter.setPen(QColor(theme.text))
            text = f"{number or ''} {block.name}  {size(block.size)}".strip()
            painter.drawText(
                rect.adjusted(6, -4, -4, 4),
                Qt.AlignmentFlag.AlignVCenter,
                metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width() - 10),
            )

    def _current(self) -> str:
        assert self._compilation is not None
        return describe(self._compilation, self._compilation.blocks[self._at]).replace("\n", ", ")

    def _choose(self, block: MemoryBlock) -> None:
        """Select what a block holds; a workspace belongs to its launch."""
        assert self._compilation is not None
        calls = self._compilation.calls
        nodes = block.nodes or (calls[block.first].nodes if block.first < len(calls) else ())
        self._selection.select(nodes, self)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        block = self.block_at(event.position())
        self._selection.hover(block.nodes if block else (), self)
        self.point_at(block is not None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        block = self.block_at(event.position())
        if block is not None and self._compilation is not None:
            self._at = self._compilation.blocks.index(block)
            self._choose(block)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        blocks = self._compilation.blocks if self._compilation else ()
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        step = steps.get(Qt.Key(event.key()))
        if step and blocks:
            self._at = (self._at + step) % len(blocks) if self._at >= 0 else 0
            self.setAccessibleDescription(self._current())
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._at >= 0:
            self._choose(blocks[self._at])
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event) -> None:
        self._selection.hover((), self)

    def tip(self, point: QPoint) -> str:
        """The block that is there, or else the launch, or the plan in short."""
        block = self.block_at(QPointF(point))
        if block is None or self._compilation is None:
            return self._launch_at(point.x(), point.y())
        return describe(self._compilation, block)
