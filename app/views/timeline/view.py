"""The timeline: lanes of events, moved with the wheel or WASD, measured with M; a million events stay smooth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.frame.selection import Selection
from app.viewmodels.timeline.timeline import Timeline
from app.views.parts.chart import announce, mark_keyboard
from app.views.parts.plain import plain_tip
from app.views.timeline.camera import AXIS, LANE, TimeCamera, TimeMarks
from app.views.timeline.painter import TimelinePainter


class TimelineView(QWidget):
    """Shows a Timeline; clicking a slice selects the nodes behind it, and a selection made elsewhere lights slices."""

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self.timeline: Timeline | None = None
        drawn = "every pass of its compilation is drawn here, on the worker it ran on"
        self.note = f"Nothing is compiled. Open a sample or a file: {drawn}."
        self.camera, self.marks = TimeCamera(), TimeMarks()
        self._painter = TimelinePainter(look)
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
        self.marks = TimeMarks(lit=timeline.events_of(self._selection.nodes))
        self.camera = replace(self.camera, top=0.0)
        self.fit()

    def clear(self) -> None:
        """There is nothing to show."""
        self.timeline, self.marks = None, TimeMarks()
        self.camera = replace(self.camera, top=0.0)
        self.update()

    def _look_from(self, camera: TimeCamera) -> None:
        self.camera = camera
        self.update()

    def _mark(self, **changes: Any) -> None:
        self.marks = replace(self.marks, **changes)
        self.update()

    # Moving ------------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Show the whole time."""
        if self.timeline is not None:
            self.camera = self.camera.around(*self.timeline.span, 0.01)
        self.update()

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom about a pixel; more than one shows more time."""
        self._look_from(self.camera.zoomed(factor, x))

    def pan(self, share: float) -> None:
        """Move by a share of what is in sight."""
        self._look_from(self.camera.from_time(self.camera.begin + self.camera.span * share))

    def move_lanes(self, by: float) -> None:
        """Move the lanes up or down."""
        self._look_from(self.camera.lanes_moved(self.timeline, by))

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        self.camera = replace(self.camera, width=self.width(), height=self.height())
        self.move_lanes(0)  # with more room, lanes that were out of sight come down again

    def focus(self) -> None:
        """F: the hovered event, or the selected ones."""
        timeline, events = self.timeline, self.marks.meant
        if timeline is None:
            return
        if not len(events):
            self.fit()
            return
        begin, end = float(timeline.start[events].min()), float(timeline.end[events].max())
        self._look_from(self.camera.around(begin, end, 0.1))
        self._show_lane(int(events[0]))

    def _event_at(self, point: QPointF) -> int:
        return self.camera.event_at(self.timeline, point) if self.timeline is not None else -1

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
        timeline, camera = self.timeline, self.camera
        lit = timeline.events_of(nodes) if timeline is not None else np.zeros(0, np.int64)
        self._mark(lit=lit)
        if timeline is not None and len(lit) and origin is not self:
            seen = (timeline.end[lit] >= camera.begin) & (timeline.start[lit] <= camera.end)
            if not seen.any():  # bring the first into sight, at the same scale
                self._look_from(camera.from_time(float(timeline.start[lit[0]]) - camera.span * 0.2))
            self._show_lane(int(lit[np.argmax(seen)]))

    def _show_lane(self, event: int) -> None:
        assert self.timeline is not None
        y = self.camera.lane_y(int(self.timeline.lane[event]))
        if y < AXIS or y + LANE > self.height():
            self.move_lanes(y - AXIS)

    def _choose(self, event: int) -> None:
        """Select what is behind an event, and say what it is."""
        timeline = self.timeline
        if timeline is None:
            return
        self._mark(hover=event)
        announce(self, self.describe(event).replace("\n", ", "))
        if timeline.nodes and timeline.nodes[event]:
            self._selection.select(timeline.nodes[event], self)

    def step(self, by: int) -> None:
        """N and P: the next or previous event of the lane, for those without a mouse."""
        timeline = self.timeline
        if timeline is None or not len(timeline):
            return
        hover, lit = self.marks.hover, self.marks.lit
        now = hover if hover >= 0 else int(lit[0]) - by if len(lit) else -1 if by > 0 else 0
        event = (now + by) % len(timeline)
        middle = float(timeline.start[event] + timeline.duration[event] / 2)
        if not self.camera.begin <= middle <= self.camera.end:
            self._look_from(self.camera.from_time(middle - self.camera.span / 2))
        self._show_lane(event)
        self._choose(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._painter.paint(painter, self.timeline, self.camera, self.marks, self.note)
        mark_keyboard(painter, self, self._painter.look)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press, self._dragged = event.position(), False
        if self.marks.measuring or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            time = self.camera.time_at(event.position().x())
            self._mark(measuring=True, measured=(time, time))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            self._hover(event)
            return
        if self.marks.measuring and self.marks.measured is not None:
            self._mark(measured=(self.marks.measured[0], self.camera.time_at(event.position().x())))
            return
        moved = event.position() - self._press
        self._dragged = self._dragged or moved.manhattanLength() > 3
        if self._dragged:
            self.pan(-moved.x() / self.camera.room)
            self.move_lanes(-moved.y())
            self._press = event.position()

    def _hover(self, event: QMouseEvent) -> None:
        timeline = self.timeline
        if timeline is None:
            return
        hover = self.camera.event_at(timeline, event.position())
        if hover != self.marks.hover:
            self._mark(hover=hover)
            self._selection.hover(timeline.nodes[hover] if hover >= 0 and timeline.nodes else (), self)
        text = self.describe(hover) if hover >= 0 else ""
        if not text and (track := self.camera.track_at(timeline, event.position())) is not None:
            value = track.at(self.camera.time_at(event.position().x()))
            text = f"{track.name}: {size(value)}\n{track.note}" if value is not None else ""
        text = plain_tip(text)
        if text != self.toolTip():
            self.setToolTip(text)
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None
        if self.marks.measuring:
            self._mark(measuring=False)
            return
        if not self._dragged and (hit := self._event_at(event.position())) >= 0:
            self._choose(hit)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._mark(hover=self._event_at(event.position()))
        self.focus()

    def leaveEvent(self, event) -> None:
        self._selection.hover((), self)
        if self.marks.hover >= 0:
            self._mark(hover=-1)

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
        timeline, events = self.timeline, self.marks.meant
        if timeline is not None and len(events) and self.marks.measured is None:
            self._mark(measured=(float(timeline.start[events].min()), float(timeline.end[events].max())))
        else:
            self._mark(measured=None, measuring=True)
