"""Where the timeline is looked at from and what of it is marked, as values: the time in sight, how far lanes are moved,
the view's size; the event under the mouse, what the selection lights, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from PySide6.QtCore import QPointF

from app.viewmodels.timeline.timeline import Timeline, Track

LABEL, AXIS, LANE, TRACK = 130.0, 24.0, 24.0, 54.0
FOOT = 26.0  # of what the colours stand for
_NEAR = 3.0  # pixels beside a short event that still hit it


@dataclass(frozen=True)
class TimeCamera:
    """From `begin` to `end` in seconds; `top` pixels of the lanes are out of sight above."""

    begin: float = 0.0
    end: float = 1.0
    top: float = 0.0
    width: float = 0.0
    height: float = 0.0

    @property
    def span(self) -> float:
        """The time in sight."""
        return self.end - self.begin

    @property
    def room(self) -> float:
        """Pixels for the time in sight."""
        return max(self.width - LABEL, 1)

    def time_at(self, x: float) -> float:
        """The time at a pixel."""
        return self.begin + (x - LABEL) / self.room * self.span

    def x_of(self, time: float) -> float:
        """The pixel of a time."""
        return LABEL + (time - self.begin) / self.span * (self.width - LABEL)

    def around(self, begin: float, end: float, margin: float) -> TimeCamera:
        """These times in sight, with a share of them as margin."""
        room = max((end - begin) * margin, 1e-9)
        return replace(self, begin=begin - room, end=end + room)

    def from_time(self, begin: float) -> TimeCamera:
        """The same scale, beginning at a time."""
        return replace(self, begin=begin, end=begin + self.span)

    def zoomed(self, factor: float, x: float | None = None) -> TimeCamera:
        """About a pixel; more than one shows more time."""
        centre = self.time_at((self.width + LABEL) / 2 if x is None else x)
        span = max(self.span * factor, 1e-9)
        begin = centre - span * (centre - self.begin) / self.span
        return replace(self, begin=begin, end=begin + span)

    def lanes_moved(self, timeline: Timeline | None, by: float) -> TimeCamera:
        """The lanes up or down, as far as there are any."""
        most = max(self.content_height(timeline) - self.height, 0.0)
        return replace(self, top=max(0.0, min(most, self.top + by)))

    def track_height(self, timeline: Timeline | None) -> float:
        """How high each track is: what the lanes leave, so that a tall window is not half empty."""
        if timeline is None or not timeline.tracks:
            return TRACK
        left = self.height - AXIS - len(timeline.lanes) * LANE - FOOT
        return max(TRACK, left / len(timeline.tracks))

    def content_height(self, timeline: Timeline | None) -> float:
        """The axis, the lanes and the tracks."""
        if timeline is None:
            return AXIS
        return AXIS + len(timeline.lanes) * LANE + len(timeline.tracks) * self.track_height(timeline)

    def lane_y(self, lane: int) -> float:
        """Where a lane begins."""
        return AXIS + lane * LANE - self.top

    def event_at(self, timeline: Timeline, point: QPointF) -> int:
        """The event under a point, or -1."""
        if point.x() < LABEL or point.y() < AXIS:
            return -1
        lane = int((point.y() - AXIS + self.top) // LANE)
        return timeline.at(lane, self.time_at(point.x()), self.span / self.room * _NEAR)

    def track_at(self, timeline: Timeline, point: QPointF) -> Track | None:
        """The track under a point."""
        if point.y() < AXIS:
            return None
        index = int((point.y() - self.lane_y(len(timeline.lanes))) // self.track_height(timeline))
        return timeline.tracks[index] if 0 <= index < len(timeline.tracks) else None


@dataclass(frozen=True)
class TimeMarks:
    """`lit` are numbers of events in order; `measured` is the time from one end to the other."""

    hover: int = -1
    lit: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    measured: tuple[float, float] | None = None
    measuring: bool = False

    @property
    def meant(self) -> np.ndarray:
        """The hovered event, or the selected ones."""
        return np.array([self.hover]) if self.hover >= 0 else self.lit
