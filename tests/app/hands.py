"""Where a mouse would go in views that paint themselves, and what a hand does to choose several entries of a menu."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from PySide6.QtCore import QPoint, QPointF

from app.views.timeline.camera import LANE


def point_of_line(view: Any, line: int) -> QPoint:
    """The middle of a line of a TextView, in its viewport, where its text begins."""
    y = (view.shown.row_of_line(line) - view.first_row + 0.5) * view._painter.row
    return QPoint(int(view._painter.gutter + 20), int(y))


def point_of_event(view: Any, event: int) -> QPointF:
    """The middle of an event of a TimelineView."""
    timeline, camera = view.timeline, view.camera
    middle = float(timeline.start[event] + timeline.duration[event] / 2)
    return QPointF(camera.x_of(middle), camera.lane_y(int(timeline.lane[event])) + LANE / 2)


def choose(field: Any, values: Collection[str]) -> None:
    """Choose these entries of a ManyChoice."""
    for wanted in (True, False):  # first what is added: the last one chosen cannot be taken away
        for value, action in field.entries.items():
            if (value in values) is wanted:
                action.setChecked(wanted)
