"""The timeline: lanes of events, moved with the wheel or WASD, measured with M; a million events stay smooth."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look, tint
from app.viewmodels.formats import seconds
from app.viewmodels.selection import Selection
from app.viewmodels.timeline import Timeline

_LABEL, _AXIS, _LANE = 130.0, 22.0, 24.0


class TimelineView(QWidget):
    """Paints a Timeline; clicking a slice selects the nodes behind it."""

    event_clicked = Signal(int)

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self.timeline: Timeline | None = None
        self.note = "Compile something to see where the time went."
        self.begin, self.end = 0.0, 1.0
        self.top = 0.0
        self.measured: tuple[float, float] | None = None
        self._measuring = False
        self._press: QPointF | None = None
        self._dragged = False
        self._hover = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(80)
        self.setAccessibleName("Timeline")
        look.changed.connect(self.update)
        selection.changed.connect(lambda nodes, origin: self.update())

    def set_timeline(self, timeline: Timeline) -> None:
        """Show other events, all of them."""
        self.timeline = timeline
        self.measured, self._hover, self.top = None, -1, 0.0
        self.fit()

    def fit(self) -> None:
        """Show the whole time."""
        if self.timeline is not None:
            begin, end = self.timeline.span
            room = (end - begin) * 0.01
            self.begin, self.end = begin - room, end + room
        self.update()

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom about a pixel; more than one shows more time."""
        centre = self._time((self.width() + _LABEL) / 2 if x is None else x)
        span = max((self.end - self.begin) * factor, 1e-9)
        share = (centre - self.begin) / (self.end - self.begin)
        self.begin = centre - span * share
        self.end = self.begin + span
        self.update()

    def pan(self, share: float) -> None:
        """Move by a share of what is in sight."""
        by = (self.end - self.begin) * share
        self.begin, self.end = self.begin + by, self.end + by
        self.update()

    def focus(self) -> None:
        """F: the hovered event, or the selected ones."""
        timeline = self.timeline
        if timeline is None:
            return
        events = [self._hover] if self._hover >= 0 else self._selected_events()
        if not events:
            self.fit()
            return
        begin, end = float(timeline.start[events].min()), float(timeline.end[events].max())
        room = max((end - begin) * 0.1, 1e-9)
        self.begin, self.end = begin - room, end + room
        self.update()

    def _selected_events(self) -> list[int]:
        timeline, nodes = self.timeline, self._selection.nodes
        if timeline is None or not nodes or len(timeline.nodes) > 100_000:
            return []
        return [index for index, entry in enumerate(timeline.nodes) if not nodes.isdisjoint(entry)]

    def _time(self, x: float) -> float:
        return self.begin + (x - _LABEL) / max(self.width() - _LABEL, 1) * (self.end - self.begin)

    def _x(self, time: float) -> float:
        return _LABEL + (time - self.begin) / (self.end - self.begin) * (self.width() - _LABEL)

    def event_at(self, point: QPointF) -> int:
        """The event under a point, or -1."""
        if self.timeline is None or point.x() < _LABEL or point.y() < _AXIS:
            return -1
        return self.timeline.at(int((point.y() - _AXIS + self.top) // _LANE), self._time(point.x()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._look.theme
        area = QRectF(self.rect())
        painter.fillRect(area, QColor(theme.panel))
        painter.setFont(self._look.ui_font)
        if self.timeline is None or not len(self.timeline):
            painter.setPen(QColor(theme.faint))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, self.note)
            return
        painter.fillRect(QRectF(_LABEL, _AXIS, area.width(), area.height()), QColor(theme.code))
        self._paint_axis(painter)
        lit = self._selected_events()
        painter.save()
        painter.setClipRect(QRectF(0, _AXIS, area.width(), area.height() - _AXIS))
        for lane in range(len(self.timeline.lanes)):
            y = _AXIS + lane * _LANE - self.top
            if y + _LANE >= _AXIS and y <= area.height():
                self._paint_lane(painter, lane, y, set(lit))
        painter.restore()
        self._paint_measure(painter)

    def _paint_axis(self, painter: QPainter) -> None:
        theme = self._look.theme
        span = self.end - self.begin
        step = 10.0 ** np.floor(np.log10(span / max((self.width() - _LABEL) / 90, 1)))
        step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= max((self.width() - _LABEL) / 90, 1))
        tick = np.ceil(self.begin / step) * step
        small = self._look.ui_font
        painter.setFont(small)
        while tick < self.end:
            x = self._x(tick)
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.drawLine(QPointF(x, _AXIS - 4), QPointF(x, self.height()))
            painter.setPen(QColor(theme.muted))
            text = seconds(abs(tick)) if abs(tick) > step / 10 else "0"
            painter.drawText(
                QRectF(x + 3, 1, 90, _AXIS - 4),
                Qt.AlignmentFlag.AlignVCenter,
                ("-" if tick < -step / 10 else "") + text,
            )
            tick += step

    def _paint_lane(self, painter: QPainter, lane: int, y: float, lit: set[int]) -> None:
        theme, timeline = self._look.theme, self.timeline
        assert timeline is not None
        painter.setPen(QColor(theme.muted))
        metrics = QFontMetricsF(painter.font())
        title = metrics.elidedText(timeline.lanes[lane], Qt.TextElideMode.ElideRight, _LABEL - 16)
        painter.drawText(QRectF(10, y, _LABEL - 14, _LANE), Qt.AlignmentFlag.AlignVCenter, title)
        width = int(self.width() - _LABEL)
        found = timeline.slices(lane, self.begin, self.end, max(width, 1))
        lefts = np.maximum(found.left, -2) + _LABEL
        rights = np.minimum(found.right, width + 2) + _LABEL
        names = timeline.name[found.event]
        colours = names % len(theme.series)
        painter.setPen(Qt.PenStyle.NoPen)
        for colour in np.unique(colours).tolist():
            chosen = colours == colour
            painter.setBrush(tint(theme.series[colour], 150 if theme.dark else 120))
            painter.drawRects(
                [
                    QRectF(a, y + 3, max(b - a, 1), _LANE - 6)
                    for a, b in zip(lefts[chosen].tolist(), rights[chosen].tolist())
                ]
            )
        wide = np.flatnonzero(rights - lefts > 34)
        painter.setPen(QColor(theme.text))
        for index in wide[:400].tolist():
            begin, end = max(float(lefts[index]), _LABEL), float(rights[index])
            box = QRectF(begin + 5, y, end - begin - 8, _LANE)
            text = timeline.label(int(found.event[index]))
            painter.drawText(
                box, Qt.AlignmentFlag.AlignVCenter, metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
            )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if len(found.event) < 5000:
            painter.setPen(QPen(QColor(theme.accent), 2))
            for index, event in enumerate(found.event.tolist()):
                if event in lit or event == self._hover:
                    painter.drawRect(QRectF(lefts[index], y + 3, max(rights[index] - lefts[index], 1), _LANE - 6))

    def _paint_measure(self, painter: QPainter) -> None:
        if self.measured is None:
            return
        theme = self._look.theme
        a, b = sorted(self.measured)
        box = QRectF(QPointF(self._x(a), _AXIS), QPointF(self._x(b), self.height()))
        painter.fillRect(box, tint(theme.accent, 40))
        painter.setPen(QPen(QColor(theme.accent), 1))
        painter.drawRect(box)
        painter.setPen(QColor(theme.text))
        painter.drawText(
            box.adjusted(4, 0, 200, -4), Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, seconds(b - a)
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press, self._dragged = event.position(), False
        if self._measuring or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._measuring = True
            time = self._time(event.position().x())
            self.measured = (time, time)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            hover = self.event_at(event.position())
            if hover != self._hover and self.timeline is not None:
                self._hover = hover
                self._selection.hover(self.timeline.nodes[hover] if hover >= 0 and self.timeline.nodes else (), self)
                text = (
                    f"{self.timeline.label(hover)}: {seconds(float(self.timeline.duration[hover]))}"
                    if hover >= 0
                    else ""
                )
                self.setToolTip(text)
                self.update()
            return
        if self._measuring and self.measured is not None:
            self.measured = (self.measured[0], self._time(event.position().x()))
        else:
            by = (event.position().x() - self._press.x()) / max(self.width() - _LABEL, 1) * (self.end - self.begin)
            self._dragged = self._dragged or abs(event.position().x() - self._press.x()) > 3
            if self._dragged:
                self.begin, self.end = self.begin - by, self.end - by
                self._press = event.position()
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None
        if self._measuring:
            self._measuring = False
            return
        if not self._dragged and (hit := self.event_at(event.position())) >= 0 and self.timeline is not None:
            self.event_clicked.emit(hit)
            if self.timeline.nodes:
                self._selection.select(self.timeline.nodes[hit], self)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(-event.angleDelta().y() / 1200)
        else:
            self.zoom(0.9985 ** event.angleDelta().y(), event.position().x())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier & ~Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_A, Qt.Key.Key_Left, Qt.Key.Key_D, Qt.Key.Key_Right):
            self.pan(-0.15 if key in (Qt.Key.Key_A, Qt.Key.Key_Left) else 0.15)
        elif key in (Qt.Key.Key_W, Qt.Key.Key_S):
            self.zoom(0.7 if key == Qt.Key.Key_W else 1.4)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            most = max(len(self.timeline.lanes) * _LANE - self.height() + _AXIS, 0) if self.timeline else 0
            self.top = max(0.0, min(most, self.top + (_LANE if key == Qt.Key.Key_Down else -_LANE)))
            self.update()
        elif key == Qt.Key.Key_F:
            self.focus()
        elif key == Qt.Key.Key_Space:
            self.fit()
        elif key == Qt.Key.Key_M:
            self._measuring = True
            self.measured = None
            self.update()
        else:
            super().keyPressEvent(event)
