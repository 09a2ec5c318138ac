"""Work for the window's thread that is spread over turns of the event loop, so that none of it is felt."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from PySide6.QtCore import QObject

from app.views.parts.later import one_shot

_TURN = 0.004  # seconds of work after which events have their turn
_PAUSE = 40  # milliseconds between two steps that nobody waits for
_QUIET = 0.008  # seconds of work in such a pause from which on the thread is somebody's: one types, or looks around


class Turns(QObject):
    """Steps done one after the other, a few milliseconds of them at a time; newer steps replace or follow older. None
    is done while `held` says that something else comes next."""

    def __init__(self, parent: QObject | None = None, held: Callable[[], bool] = lambda: False) -> None:
        super().__init__(parent)
        self._held = held
        self._steps: deque[Callable[[], object]] = deque()
        self._timer = one_shot(self, self._turn)

    @property
    def busy(self) -> bool:
        """Whether steps are waiting."""
        return bool(self._steps)

    def start(self, steps: Iterable[Callable[[], object]]) -> None:
        """Do these steps in place of whatever was left to do."""
        self._steps = deque(steps)
        self._timer.start(0)

    def add(self, steps: Iterable[Callable[[], object]]) -> None:
        """Do these steps after whatever is left to do."""
        self._steps.extend(steps)
        self._timer.start(0)

    def soon(self, step: Callable[[], object]) -> None:
        """Do a step in a turn to come; one that waits already is not done twice."""
        if step not in self._steps:
            self.add((step,))

    def _turn(self) -> None:
        end = time.perf_counter() + _TURN
        while self._steps and not self._held():
            self._steps.popleft()()
            if time.perf_counter() >= end:
                break
        if self._steps:
            self._timer.start(0)


class SpareTime(QObject):
    """Steps that nobody waits for, one at a time and apart, while nothing is under way and the thread has little else
    to do: what is made in advance."""

    def __init__(self, under_way: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._under_way = under_way
        self._tasks: deque[Iterator[Callable[[], object]]] = deque()
        self._worked = 0.0  # by the thread until the pause began
        self._timer = one_shot(self, self._step, _PAUSE)

    @property
    def busy(self) -> bool:
        """Whether there is something to do."""
        return bool(self._tasks)

    def add(self, steps: Iterable[Callable[[], object]]) -> None:
        """Do these steps when there is time for them; each is asked for when the one before is done."""
        self._tasks.append(iter(steps))
        self._pause()

    def stop(self) -> None:
        """The window closes: nothing is made any more."""
        self._tasks.clear()

    def _step(self) -> None:
        busy = time.thread_time() - self._worked > _QUIET
        if self._tasks and not busy and not self._under_way():
            if (step := next(self._tasks[0], None)) is None:
                self._tasks.popleft()
            else:
                step()
        if self._tasks:
            self._pause()

    def _pause(self) -> None:
        self._worked = time.thread_time()
        self._timer.start()
