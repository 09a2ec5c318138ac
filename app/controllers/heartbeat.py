"""A heartbeat on the window's own thread: what it misses is how long the window did not answer.

Turned on with `KERNELGLASS_HEARTBEAT=FILE`: each stall over 50 ms goes there, and at the end the longest.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer

VARIABLE = "KERNELGLASS_HEARTBEAT"
STALL = 0.05  # seconds: what a hand notices
_BEAT = 4  # milliseconds


@dataclass(frozen=True)
class Stall:
    """When the window did not answer, for how long by the clock, and how long its thread worked meanwhile."""

    at: float
    seconds: float
    worked: float


class Heartbeat(QObject):
    """Beats while it lives; `begin` forgets what was before."""

    def __init__(self, path: str = "", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = Path(path) if path else None
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self.begin()
        self._timer.start(_BEAT)

    def begin(self) -> None:
        """Count from now on."""
        self.begun = self.last = time.perf_counter()
        self._worked = time.thread_time()
        self.longest = self.busiest = Stall(0.0, 0.0, 0.0)
        self.stalls: list[Stall] = []

    def end(self) -> None:
        """The window closes: write what was the longest."""
        self._timer.stop()
        self._write({"longest": asdict(self.longest), "busiest": asdict(self.busiest), "over": len(self.stalls)})

    def _beat(self) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        missed = Stall(self.last - self.begun, now - self.last - _BEAT / 1e3, worked - self._worked)
        self.last, self._worked = now, worked
        self.longest = max(self.longest, missed, key=lambda stall: stall.seconds)
        self.busiest = max(self.busiest, missed, key=lambda stall: stall.worked)
        if missed.seconds > STALL:
            self.stalls.append(missed)
            self._write(asdict(missed))

    def _write(self, line: dict[str, object]) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def heartbeat_of(parent: QObject) -> Heartbeat | None:
    """The heartbeat that the environment asks for, or none."""
    path = os.environ.get(VARIABLE)
    return Heartbeat(path, parent) if path else None
