"""What widgets painted: nothing tells of speed or of a picture where nothing was painted."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QRect, QSize
from PySide6.QtWidgets import QWidget


class Paintings(QObject):
    """Watches some widgets paint themselves, with all that is in them if `inside`."""

    def __init__(self, widgets: Iterable[QWidget], inside: bool = False) -> None:
        super().__init__()
        self.by: dict[QObject, list[tuple[QSize, QRect]]] = {}
        """Of each widget that painted itself, its size each time and what of it, as a rectangle of its window."""
        self._widgets = [part for each in widgets for part in [each, *(each.findChildren(QWidget) if inside else ())]]
        for widget in self._widgets:
            widget.installEventFilter(self)

    @property
    def complete(self) -> bool:
        """Whether each of them has painted itself."""
        return len(self.by) == len(self._widgets)

    @property
    def boxes(self) -> list[QRect]:
        """What was painted, whoever did."""
        return [box for found in self.by.values() for _, box in found]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(watched, QWidget):
            box = event.region().boundingRect()
            place = QRect(watched.mapTo(watched.window(), box.topLeft()), box.size())
            self.by.setdefault(watched, []).append((watched.size(), place))
        return False
