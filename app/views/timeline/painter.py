"""Painting of the timeline: axis, lanes, tracks of bytes, and what is measured."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen

from app.theme.look import Look, tint
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.timeline.timeline import Timeline, Track
from app.views.parts.primitives import draw_rects
from app.views.timeline.camera import AXIS, LABEL, LANE, TimeCamera, TimeMarks
from compiler.printable import printable

_TICK = 90.0  # pixels between two ticks, at least
_WORDS = 34.0  # pixels a slice needs for any text
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_QUIET = (Qt.BrushStyle.Dense5Pattern, Qt.BrushStyle.BDiagPattern)


class TimelinePainter:
    """Paints what a camera sees of a timeline."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def paint(
        self, painter: QPainter, timeline: Timeline | None, camera: TimeCamera, marks: TimeMarks, note: str
    ) -> None:
        """Everything in sight, or a note where there are no events."""
        theme, area = self.look.theme, QRectF(0, 0, camera.width, camera.height)
        painter.fillRect(area, QColor(theme.panel))
        painter.setFont(self.look.ui_font)
        if timeline is None or not len(timeline):
            painter.setPen(QColor(theme.muted))
            words = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(area.adjusted(12, 0, -12, 0), words, note)
            return
        painter.fillRect(QRectF(LABEL, AXIS, area.width(), area.height()), QColor(theme.code))
        self._axis(painter, camera)
        painter.save()
        painter.setClipRect(QRectF(0, AXIS, area.width(), area.height() - AXIS))
        for lane in range(len(timeline.lanes)):
            y = camera.lane_y(lane)
            if y + LANE >= AXIS and y <= area.height():
                self._lane(painter, timeline, camera, marks, lane, y)
        high = camera.track_height(timeline)
        for index, track in enumerate(timeline.tracks):
            y = camera.lane_y(len(timeline.lanes)) + index * high
            if y + high >= AXIS and y <= area.height():
                self._track(painter, track, camera, y, high)
        painter.restore()
        self._measured(painter, camera, marks)
        self._key(painter, timeline, camera)
        self._more(painter, timeline, camera)

    def _axis(self, painter: QPainter, camera: TimeCamera) -> None:
        theme = self.look.theme
        metrics = QFontMetricsF(painter.font())
        span, most = camera.span, max((camera.width - LABEL) / _TICK, 1)
        step = 10.0 ** math.floor(math.log10(span / most))
        step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= most)
        tick = math.ceil(camera.begin / step) * step
        while tick < camera.end:
            x = camera.x_of(tick)
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.drawLine(QPointF(x, AXIS - 4), QPointF(x, camera.height))
            painter.setPen(QColor(theme.muted))
            text = seconds(abs(tick)) if abs(tick) > step / 10 else "0"
            text = f"-{text}" if tick < -step / 10 else text
            if x + 3 + metrics.horizontalAdvance(text) <= camera.width:
                painter.drawText(QRectF(x + 3, 2, _TICK, AXIS - 6), _LEFT, text)
            tick += step

    def _lane(
        self, painter: QPainter, timeline: Timeline, camera: TimeCamera, marks: TimeMarks, lane: int, y: float
    ) -> None:
        theme = self.look.theme
        metrics = QFontMetricsF(painter.font())
        if timeline.lanes[lane]:
            painter.setPen(QColor(theme.muted))
            title = metrics.elidedText(timeline.lanes[lane], Qt.TextElideMode.ElideRight, LABEL - 16)
            painter.drawText(QRectF(10, y, LABEL - 14, LANE), _LEFT, title)
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.drawLine(QPointF(0, y), QPointF(camera.width, y))
        width = int(camera.room)
        left, right, events = timeline.slices(lane, camera.begin, camera.end, width)
        left, right = np.maximum(left, -2) + LABEL, np.minimum(right, width + 2) + LABEL
        high = np.full(len(left), LANE - 6)
        rects = np.column_stack((left, np.full(len(left), y + 3), np.maximum(right - left, 1.0), high))
        # A hair of ground between neighbours, where there is room for it.
        rects[:, 2] -= rects[:, 2] > 3
        kinds = timeline.kinds[events]
        colours = kinds % len(theme.series)
        painter.setPen(Qt.PenStyle.NoPen)
        if timeline.quiet:
            colours = np.where(np.isin(kinds, list(timeline.quiet)), len(theme.series), colours)
            for kind in timeline.quiet:
                painter.setBrush(self._quiet(timeline, kind, 110))
                draw_rects(painter, rects[kinds == kind])
        for colour in np.flatnonzero(np.bincount(colours, minlength=1)[: len(theme.series)]).tolist():
            painter.setBrush(tint(theme.series[colour], 150 if theme.dark else 110))
            draw_rects(painter, rects[colours == colour])
        self._words(painter, metrics, timeline, camera, events, left, right, y)
        lit = events == marks.hover
        if len(marks.lit):
            near = np.minimum(np.searchsorted(marks.lit, events), len(marks.lit) - 1)
            lit |= marks.lit[near] == events
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.accent), 2))
        draw_rects(painter, rects[lit])

    def _quiet(self, timeline: Timeline, kind: int, alpha: int) -> QBrush:
        """What tells kinds without a colour apart."""
        return QBrush(tint(self.look.theme.muted, alpha), _QUIET[timeline.quiet[kind] % len(_QUIET)])

    def _words(
        self,
        painter: QPainter,
        metrics: QFontMetricsF,
        timeline: Timeline,
        camera: TimeCamera,
        events,
        left,
        right,
        y: float,
    ) -> None:
        painter.setPen(QColor(self.look.theme.text))
        for index in np.flatnonzero(right - left > _WORDS)[:400].tolist():
            begin, end = max(float(left[index]), LABEL), min(float(right[index]), camera.width)
            room = end - begin - 9
            if room < _WORDS - 9:
                continue
            text = printable(timeline.label(int(events[index])))
            box = QRectF(begin + 5, y, room, LANE)
            painter.drawText(box, _LEFT, metrics.elidedText(text, Qt.TextElideMode.ElideRight, room))

    def _track(self, painter: QPainter, track: Track, camera: TimeCamera, y: float, height: float) -> None:
        """Bytes over time as filled steps."""
        theme = self.look.theme
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawLine(QPointF(0, y), QPointF(camera.width, y))
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(10, y + 4, LABEL - 16, 18), _LEFT, track.name)
        small = QFont(painter.font())
        small.setPixelSize(max(self.look.ui_pixels - 2, 9))
        painter.save()
        painter.setFont(small)
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(10, y + 22, LABEL - 16, 16), _LEFT, f"peak {size(track.top)}")
        painter.restore()
        left, right, values = track.steps(camera.begin, camera.end, int(camera.room))
        bottom = y + height - 2
        room = height - 10
        high = values / max(track.top, 1e-12) * room
        left, right = np.maximum(left, 0) + LABEL, right + LABEL
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint(theme.accent, 90))
        draw_rects(painter, np.column_stack((left, bottom - high, np.maximum(right - left, 0.5), high)))
        painter.setBrush(QColor(theme.accent))
        thin = np.full(len(left), 1.5)
        draw_rects(painter, np.column_stack((left, bottom - high, np.maximum(right - left, 0.5), thin)))

    def _measured(self, painter: QPainter, camera: TimeCamera, marks: TimeMarks) -> None:
        theme = self.look.theme
        if marks.measured is None:
            if marks.measuring:
                painter.setPen(QColor(theme.accent))
                painter.drawText(QRectF(10, 2, LABEL - 12, AXIS - 6), _LEFT, "drag to measure")
            return
        a, b = sorted(marks.measured)
        box = QRectF(QPointF(camera.x_of(a), AXIS), QPointF(camera.x_of(b), camera.height))
        painter.fillRect(box, tint(theme.accent, 40))
        painter.setPen(QPen(QColor(theme.accent), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box)
        text = seconds(b - a)
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text) + 12
        chip = QRectF(min(max(box.center().x() - wide / 2, LABEL), camera.width - wide), camera.height - 24, wide, 20)
        painter.fillRect(chip, QColor(theme.accent))
        painter.setPen(QColor(theme.accent_text))
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, text)

    def _more(self, painter: QPainter, timeline: Timeline, camera: TimeCamera) -> None:
        """Where the lanes in sight are among all of them, when there is no room for all."""
        room, whole = camera.height - AXIS, camera.content_height(timeline) - AXIS
        if whole > room > 0:
            high = max(room * room / whole, 24.0)
            y = AXIS + camera.top / (whole - room) * (room - high)
            painter.fillRect(QRectF(camera.width - 6, y, 4, high), QColor(self.look.theme.strong_border))

    def _key(self, painter: QPainter, timeline: Timeline, camera: TimeCamera) -> None:
        """What the colours stand for, at the foot, where there is room below the lanes."""
        theme = self.look.theme
        if not timeline.kind_names or camera.content_height(timeline) - camera.top > camera.height - 22:
            return
        metrics, x, y = QFontMetricsF(painter.font()), LABEL + 6.0, camera.height - 18.0
        for index, name in enumerate(timeline.kind_names):
            wide = metrics.horizontalAdvance(name)
            if x + wide + 26 > camera.width:
                return
            fill = QBrush(tint(theme.series[index % len(theme.series)], 190))
            if index in timeline.quiet:
                fill = self._quiet(timeline, index, 160)
            painter.fillRect(QRectF(x, y + 3, 10, 10), fill)
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRectF(x + 15, y, wide + 4, 16), _LEFT, name)
            x += wide + 34
