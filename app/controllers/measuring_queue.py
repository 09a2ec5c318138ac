"""Measurements one after another: two at once would time each other."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

RUNNING, MEASURING_FLOWS = "Running", "Measuring flows"


class MeasuringQueue(QObject):
    """What is asked for while something goes on waits its turn. `waits(what)` and `forgotten(what)` tell about it."""

    waits = Signal(str)
    forgotten = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._busy: list[Callable[[], object]] = []
        self._waiting: dict[str, Callable[[], object]] = {}

    def watch(self, busy: Callable[[], object]) -> None:
        """Something that takes the machine: nothing is started while `busy()`."""
        self._busy.append(busy)

    @property
    def waiting(self) -> tuple[str, ...]:
        """What waits, in order."""
        return tuple(self._waiting)

    def ask(self, what: str, start: Callable[[], object]) -> None:
        """Start it now, or when what goes on has ended; asked for twice it is still done once."""
        if self._waiting or any(busy() for busy in self._busy):
            self._waiting[what] = start
            self.waits.emit(what)
        else:
            start()

    def go_on(self, *_: object) -> None:
        """Something ended: in the next turn, when all have heard of it, the first that waits is started."""
        if self._waiting:
            QTimer.singleShot(0, self, self._start)

    def forget(self, *_: object) -> None:
        """What waits is not wanted any more."""
        waiting, self._waiting = self._waiting, {}
        for what in waiting:
            self.forgotten.emit(what)

    def _start(self) -> None:
        if self._waiting and not any(busy() for busy in self._busy):
            self._waiting.pop(next(iter(self._waiting)))()
            self.go_on()  # one that could not begin must not hold up the next
