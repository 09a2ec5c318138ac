"""The funnel: bars of time and IR size for each stage, so that one sees where IR explodes and where time goes."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QWidget

from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import count, seconds, size
from app.viewmodels.runs.funnel import FunnelRow, bar_share, from_cache, funnel, unaccounted
from app.views.parts.chart import PaintedChart, mark_keyboard
from app.views.parts.controls import column, push_button
from app.views.parts.header import Header
from app.views.parts.widgets import label, scrolled

_ROW, _HEAD, _NAME, _FIGURE, _GAP = 26.0, 24.0, 168.0, 92.0, 18.0
_MEASURES = (("Time by the clock", "elapsed"), ("Operations", "ops"), ("Bytes of IR or code", "bytes"))


class FunnelView(QWidget):
    """The rows and how their bars are scaled."""

    stage_clicked = Signal(str)
    afresh_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.chart = FunnelChart(look)
        self.chart.stage_clicked.connect(self.stage_clicked)
        self.log = QCheckBox("Logarithmic bars")
        self.log.toggled.connect(self.chart.set_log)
        self.note = label("", "muted")
        self.afresh = push_button("Compile without the cache", self.afresh_wanted)
        self.afresh.hide()
        area = scrolled(self.chart)
        self.chart.row_wanted.connect(lambda y: area.ensureVisible(0, y, 0, int(_ROW)))
        column(self, Header(self.log, None, self.note, self.afresh).spare(self.note).spaced(), area, main=area)

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its stages."""
        rows = funnel(compilation)
        self.chart.set_rows([*rows, *unaccounted(compilation)])
        cached = from_cache(rows)
        whole = f"{seconds(max(compilation.elapsed, compilation.seconds))} in all"
        self.note.setText(f"From the cache: most stages did not run; {whole}.  " if cached else whole)
        self.afresh.setVisible(cached)


class FunnelChart(PaintedChart):
    """Paints the rows; a click or Enter on one asks for that stage."""

    stage_clicked = Signal(str)
    row_wanted = Signal(int)  # the height at which the keyboard is, to be scrolled into sight

    def __init__(self, look: Look) -> None:
        super().__init__(look, "Funnel: time and IR size by stage", 80)
        self._log, self._at, self._over = False, 0, -1
        self.rows: list[FunnelRow] = []

    def set_rows(self, rows: list[FunnelRow]) -> None:
        """Show these stages."""
        self.rows, self._at = rows, 0
        self.setMinimumHeight(int(_HEAD + _ROW * len(rows) + 8))
        self.setAccessibleDescription("; ".join(self._words(row) for row in rows))
        self.update()

    def set_log(self, log: bool) -> None:
        """Whether bars are logarithmic."""
        self._log = log
        self.update()

    def row_at(self, y: float) -> int:
        """The row at a height, or -1."""
        index = int((y - _HEAD) // _ROW)
        return index if 0 <= index < len(self.rows) else -1

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._look.theme
        painter.fillRect(self.rect(), QColor(theme.panel))
        mark_keyboard(painter, self, self._look)
        if not self.rows:
            painter.setPen(QColor(theme.muted))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "Compile something to see its stages.")
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = max((self.width() - _NAME - 3 * (_FIGURE + _GAP)) / 3, 30.0)
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(12, 0, _NAME, _HEAD), Qt.AlignmentFlag.AlignVCenter, "Stage")
        painter.fillRect(QRectF(0, _HEAD - 1, self.width(), 1), QColor(theme.border))
        if 0 <= self._over < len(self.rows):
            painter.fillRect(QRectF(0, _HEAD + self._over * _ROW, self.width(), _ROW), QColor(theme.hover))
        for index, row in enumerate(self.rows):
            y = _HEAD + index * _ROW
            if index == self._at and self.hasFocus():
                painter.setPen(QPen(QColor(theme.accent), 1))
                painter.setBrush(QColor(theme.hover))
                painter.drawRoundedRect(QRectF(4.5, y + 1.5, self.width() - 9, _ROW - 3), 4, 4)
            painter.setPen(QColor(theme.text))
            name = metrics.elidedText(row.title, Qt.TextElideMode.ElideRight, _NAME - 20)
            painter.drawText(QRectF(12, y, _NAME, _ROW), Qt.AlignmentFlag.AlignVCenter, name)
        for place, (title, field) in enumerate(_MEASURES):
            x = _NAME + place * (room + _FIGURE + _GAP)
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRectF(x, 0, room + _FIGURE, _HEAD), Qt.AlignmentFlag.AlignVCenter, title)
            values = [getattr(row, field) for row in self.rows]
            for index, (row, value) in enumerate(zip(self.rows, values)):
                if value < 0:
                    continue
                y, width = _HEAD + index * _ROW, room * bar_share(value, values, self._log)
                self._bar(painter, x, y, width, theme.series[place])
                words = {"elapsed": f"{seconds(value)}  {row.share:.0%}", "ops": count(value)}.get(field, size(value))
                painter.drawText(QRectF(x + width + 6, y, _FIGURE, _ROW), Qt.AlignmentFlag.AlignVCenter, words)

    def _bar(self, painter: QPainter, x: float, y: float, width: float, colour: str) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(QRectF(x, y + 7, max(width, 2), _ROW - 14), 3, 3)
        painter.setPen(QColor(self._look.theme.text))

    def _words(self, row: FunnelRow) -> str:
        parts = [f"{row.title}: {seconds(row.elapsed)}, {row.share:.0%} of all"]
        if row.passes:
            work = f" of {seconds(row.seconds)} of work" if row.seconds > 1.05 * row.elapsed else ""
            parts.append(f"{row.passes} pass{'es' * (row.passes != 1)}{work}")
        parts += [f"{count(row.ops)} operations"] if row.ops >= 0 else []
        parts += [size(row.bytes)] if row.bytes >= 0 else []
        return ", ".join(parts)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.row_at(event.position().y()))
        self.point_at(self._over >= 0)

    def leaveEvent(self, event) -> None:
        self._hover(-1)

    def _hover(self, row: int) -> None:
        if row != self._over:
            self._over = row
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.row_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._at = index
            self.update()
            self._open(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step and self.rows:
            self._at = max(0, min(len(self.rows) - 1, self._at + step))
            self.row_wanted.emit(int(_HEAD + self._at * _ROW + _ROW / 2))
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.rows:
            self._open(self._at)
        else:
            super().keyPressEvent(event)

    def _open(self, index: int) -> None:
        if self.rows[index].passes:  # what no pass accounts for has no text
            self.stage_clicked.emit(self.rows[index].stage)

    def tip(self, point: QPoint) -> str:
        """The figures of the stage that is there."""
        index = self.row_at(point.y())
        if index < 0:
            return ""
        more = "\nClick to open this stage" if self.rows[index].passes else ""
        return self._words(self.rows[index]) + more
