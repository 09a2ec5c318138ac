"""The funnel: bars of time and IR size for each stage, so that one sees where IR explodes and where time goes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.formats import count, seconds, size
from app.viewmodels.funnel import FunnelRow, funnel

_ROW, _HEAD, _NAME, _FIGURE = 28.0, 26.0, 170.0, 84.0


class FunnelView(QWidget):
    """Paints the rows; a click on one asks for that stage."""

    stage_clicked = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.rows: list[FunnelRow] = []
        self.setMinimumHeight(80)
        self.setAccessibleName("Funnel: time and IR size by stage")
        look.changed.connect(self.update)

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its stages."""
        self.rows = funnel(compilation)
        self.setMinimumHeight(int(_HEAD + _ROW * len(self.rows) + 8))
        self.setAccessibleDescription("; ".join(f"{r.title}: {seconds(r.seconds)}" for r in self.rows))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._look.theme
        painter.fillRect(self.rect(), QColor(theme.panel))
        if not self.rows:
            painter.setPen(QColor(theme.faint))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "Compile something to see its stages.")
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = max((self.width() - _NAME - 3 * _FIGURE - 60) / 2, 40.0)
        total = sum(row.seconds for row in self.rows) or 1.0
        longest = max(row.seconds for row in self.rows) or 1.0
        largest = max((row.ops for row in self.rows), default=1) or 1
        left, second = _NAME, _NAME + room + _FIGURE + 24
        painter.setPen(QColor(theme.muted))
        for x, text in (
            (12.0, "Stage"),
            (left, "Time"),
            (second, "Ops in the IR"),
            (second + room + _FIGURE, "Bytes out"),
        ):
            painter.drawText(QRectF(x, 0, 200, _HEAD), Qt.AlignmentFlag.AlignVCenter, text)
        metrics = QFontMetricsF(painter.font())
        for index, row in enumerate(self.rows):
            y = _HEAD + index * _ROW
            painter.setPen(QColor(theme.text))
            name = metrics.elidedText(row.title, Qt.TextElideMode.ElideRight, _NAME - 20)
            painter.drawText(QRectF(12, y, _NAME, _ROW), Qt.AlignmentFlag.AlignVCenter, name)
            self._bar(painter, left, y, room * row.seconds / longest, theme.series[0])
            share = f"{seconds(row.seconds)}  {row.seconds / total:.0%}"
            painter.drawText(
                QRectF(left + room * row.seconds / longest + 8, y, _FIGURE + 60, _ROW),
                Qt.AlignmentFlag.AlignVCenter,
                share,
            )
            if row.ops >= 0:
                self._bar(painter, second, y, room * row.ops / largest, theme.series[1])
                painter.drawText(
                    QRectF(second + room * row.ops / largest + 8, y, _FIGURE, _ROW),
                    Qt.AlignmentFlag.AlignVCenter,
                    count(row.ops),
                )
            painter.drawText(
                QRectF(second + room + _FIGURE, y, _FIGURE, _ROW), Qt.AlignmentFlag.AlignVCenter, size(row.bytes)
            )

    def _bar(self, painter: QPainter, x: float, y: float, width: float, colour: str) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(QRectF(x, y + 7, max(width, 2), _ROW - 14), 3, 3)
        painter.setPen(QColor(self._look.theme.text))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = int((event.position().y() - _HEAD) // _ROW)
        if 0 <= index < len(self.rows):
            self.stage_clicked.emit(self.rows[index].stage)
