"""The timeline: lanes of events, moved with the wheel or WASD, measured with M; a million events stay smooth."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.frame.selection import Selection
from app.viewmodels.timeline.timeline import Timeline, Track
from app.views.parts.speech import announce
from app.views.timeline.timeline_painter import AXIS, FOOT, LABEL, LANE, TALLEST, TRACK, TimelinePainter

_NEAR = 3.0  # pixels beside a short event that still hit it


class TimelineView(QWidget):
    """Shows a Timeline; clicking a slice selects the nodes behind it, and a selection made elsewhere lights slices."""

    event_clicked = Signal(int)

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self.look, self._selection = look, selection
        self.timeline: Timeline | None = None
        self.note = "Open a sample or a file: every pass of its compilation is drawn here, on the worker it ran on."
        self.begin, self.end = 0.0, 1.0
        self.top = 0.0
        self.measured: tuple[float, float] | None = None
        self.measuring = False
        self.hover = -1
        self.lit: np.ndarray = np.zeros(0, np.int64)
        self._painter = TimelinePainter(self)
        self._press: QPointF | None = None
        self._dragged = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(80)
        self.setAccessibleName("Timeline")
        look.changed.connect(self.update)
        selection.changed.connect(self._selected)

    def set_timeline(self, timeline: Timeline) -> None:
        """Show other events, all of them."""
        self.timeline = timeline
        self.measured, self.hover, self.top = None, -1, 0.0
        self.lit = timeline.events_of(self._selection.nodes)
        self.fit()

    def clear(self) -> None:
        """There is nothing to show."""
        self.timeline, self.measured, self.hover, self.top = None, None, -1, 0.0
        self.lit = np.zeros(0, np.int64)
        self.update()

    # Moving ------------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Show the whole time."""
        if self.timeline is not None:
            begin, end = self.timeline.span
            room = (end - begin) * 0.01
            self.begin, self.end = begin - room, end + room
        self.update()

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom about a pixel; more than one shows more time."""
        centre = self.time_at((self.width() + LABEL) / 2 if x is None else x)
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

    def move_lanes(self, by: float) -> None:
        """Move the lanes up or down."""
        self.top = max(0.0, min(max(self.content_height - self.height(), 0.0), self.top + by))
        self.update()

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        self.move_lanes(0)  # with more room, lanes that were out of sight come down again

    def focus(self) -> None:
        """F: the hovered event, or the selected ones."""
        timeline = self.timeline
        if timeline is None:
            return
        events = np.array([self.hover]) if self.hover >= 0 else self.lit
        if not len(events):
            self.fit()
            return
        begin, end = float(timeline.start[events].min()), float(timeline.end[events].max())
        room = max((end - begin) * 0.1, 1e-9)
        self.begin, self.end = begin - room, end + room
        self._show_lane(int(events[0]))
        self.update()

    # Where things are --------------------------------------------------------------------------------------------

    @property
    def content_height(self) -> float:
        """The axis, the lanes and the tracks."""
        if self.timeline is None:
            return AXIS
        return AXIS + len(self.timeline.lanes) * LANE + len(self.timeline.tracks) * self.track_height

    @property
    def track_height(self) -> float:
        """How high each track is: what the lanes leave, so that a tall window is not half empty."""
        if self.timeline is None or not self.timeline.tracks:
            return TRACK
        left = self.height() - AXIS - len(self.timeline.lanes) * LANE - FOOT
        return max(TRACK, min(left / len(self.timeline.tracks), TALLEST))

    def time_at(self, x: float) -> float:
        """The time at a pixel."""
        return self.begin + (x - LABEL) / max(self.width() - LABEL, 1) * (self.end - self.begin)

    def x_of(self, time: float) -> float:
        """The pixel of a time."""
        return LABEL + (time - self.begin) / (self.end - self.begin) * (self.width() - LABEL)

    def event_at(self, point: QPointF) -> int:
        """The event under a point, or -1."""
        if self.timeline is None or point.x() < LABEL or point.y() < AXIS:
            return -1
        slack = (self.end - self.begin) / max(self.width() - LABEL, 1) * _NEAR
        return self.timeline.at(int((point.y() - AXIS + self.top) // LANE), self.time_at(point.x()), slack)

    def track_at(self, point: QPointF) -> Track | None:
        """The track under a point."""
        if self.timeline is None or point.y() < AXIS:
            return None
        index = int((point.y() - AXIS + self.top - len(self.timeline.lanes) * LANE) // self.track_height)
        return self.timeline.tracks[index] if 0 <= index < len(self.timeline.tracks) else None

    def point_of(self, event: int) -> QPointF:
        """The middle of an event."""
        assert self.timeline is not None
        time = float(self.timeline.start[event] + self.timeline.duration[event] / 2)
        return QPointF(self.x_of(time), AXIS + (int(self.timeline.lane[event]) + 0.5) * LANE - self.top)

    def describe(self, event: int) -> str:
        """An event in words."""
        timeline = self.timeline
        assert timeline is not None
        kind = f"{timeline.kind_names[int(timeline.kinds[event])]}: " if timeline.kind_names else ""
        lane = int(timeline.lane[event])
        while lane > 0 and not timeline.lanes[lane]:
            lane -= 1
        return (
            f"{kind}{timeline.label(event)}\n{seconds(float(timeline.duration[event]))}, "
            f"from {seconds(float(timeline.start[event])) or '0'} on {timeline.lanes[lane]}"
        )

    # What happens ------------------------------------------------------------------------------------------------

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        timeline = self.timeline
        self.lit = timeline.events_of(nodes) if timeline is not None else np.zeros(0, np.int64)
        if timeline is not None and len(self.lit) and origin is not self:
            seen = (timeline.end[self.lit] >= self.begin) & (timeline.start[self.lit] <= self.end)
            if not seen.any():  # bring the first into sight, at the same scale
                span = self.end - self.begin
                self.begin = float(timeline.start[self.lit[0]]) - span * 0.2
                self.end = self.begin + span
            self._show_lane(int(self.lit[np.argmax(seen)]))
        self.update()

    def _show_lane(self, event: int) -> None:
        assert self.timeline is not None
        y = AXIS + int(self.timeline.lane[event]) * LANE - self.top
        if y < AXIS or y + LANE > self.height():
            self.move_lanes(y - AXIS)

    def _choose(self, event: int) -> None:
        """Select what is behind an event, and say what it is."""
        timeline = self.timeline
        if timeline is None:
            return
        self.hover = event
        announce(self, self.describe(event).replace("\n", ", "))
        self.event_clicked.emit(event)
        if timeline.nodes and timeline.nodes[event]:
            self._selection.select(timeline.nodes[event], self)
        self.update()

    def step(self, by: int) -> None:
        """N and P: the next or previous event of the lane, for those without a mouse."""
        timeline = self.timeline
        if timeline is None or not len(timeline):
            return
        now = self.hover if self.hover >= 0 else int(self.lit[0]) - by if len(self.lit) else -1 if by > 0 else 0
        event = (now + by) % len(timeline)
        middle = float(timeline.start[event] + timeline.duration[event] / 2)
        if not self.begin <= middle <= self.end:
            span = self.end - self.begin
            self.begin = middle - span / 2
            self.end = self.begin + span
        self._show_lane(event)
        self._choose(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._painter.paint(painter)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press, self._dragged = event.position(), False
        if self.measuring or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.measuring = True
            time = self.time_at(event.position().x())
            self.measured = (time, time)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            self._hover(event)
            return
        if self.measuring and self.measured is not None:
            self.measured = (self.measured[0], self.time_at(event.position().x()))
            self.update()
            return
        moved = event.position() - self._press
        self._dragged = self._dragged or moved.manhattanLength() > 3
        if self._dragged:
            self.pan(-moved.x() / max(self.width() - LABEL, 1))
            self.move_lanes(-moved.y())
            self._press = event.position()

    def _hover(self, event: QMouseEvent) -> None:
        timeline = self.timeline
        if timeline is None:
            return
        hover = self.event_at(event.position())
        if hover != self.hover:
            self.hover = hover
            self._selection.hover(timeline.nodes[hover] if hover >= 0 and timeline.nodes else (), self)
            self.update()
        text = self.describe(hover) if hover >= 0 else ""
        if not text and (track := self.track_at(event.position())) is not None:
            value = track.at(self.time_at(event.position().x()))
            text = f"{track.name}: {size(value)}\n{track.note}" if value is not None else ""
        if text != self.toolTip():
            self.setToolTip(text)
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None
        if self.measuring:
            self.measuring = False
            return
        if not self._dragged and (hit := self.event_at(event.position())) >= 0:
            self._choose(hit)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.hover = self.event_at(event.position())
        self.focus()

    def leaveEvent(self, event) -> None:
        self._selection.hover((), self)
        if self.hover >= 0:
            self.hover = -1
            self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(delta.x()) > abs(delta.y()):
            self.pan(-(delta.y() or delta.x()) / 1200)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.move_lanes(-delta.y() / 120 * LANE)
        else:
            self.zoom(0.9985 ** delta.y(), event.position().x())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        actions = {
            Qt.Key.Key_A: lambda: self.pan(-0.15), Qt.Key.Key_Left: lambda: self.pan(-0.15),
            Qt.Key.Key_D: lambda: self.pan(0.15), Qt.Key.Key_Right: lambda: self.pan(0.15),
            Qt.Key.Key_W: lambda: self.zoom(0.7), Qt.Key.Key_S: lambda: self.zoom(1.4),
            Qt.Key.Key_Up: lambda: self.move_lanes(-LANE), Qt.Key.Key_Down: lambda: self.move_lanes(LANE),
            Qt.Key.Key_F: self.focus, Qt.Key.Key_Space: self.fit, Qt.Key.Key_M: self._measure,
            Qt.Key.Key_N: lambda: self.step(1), Qt.Key.Key_P: lambda: self.step(-1),
        }  # fmt: skip
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier & ~Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
        elif key in actions:
            actions[key]()
        else:
            super().keyPressEvent(event)

    def _measure(self) -> None:
        """M: measure the hovered or selected events at once, else from where the mouse is pressed next."""
        timeline = self.timeline
        events = np.array([self.hover]) if self.hover >= 0 else self.lit
        if timeline is not None and len(events) and self.measured is None:
            self.measured = (float(timeline.start[events].min()), float(timeline.end[events].max()))
        else:
            self.measured, self.measuring = None, True
        self.update()
