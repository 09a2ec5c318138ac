"""Long work in a thread beside the window's, which lets that go first.

Threads of one interpreter take turns: while both have something to do each waits for the other about as long as it
works, and what the window does takes twice as long. So work that may wait looks now and then whether it had to wait
itself, which is how it knows that somebody else is at it, and then sleeps for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, sleep, thread_time

_LOOK = 0.0003  # seconds of work between two looks
_WAITED = 1.2  # by the clock for each second of work: somebody else wants the interpreter, or the core
_SLEEP = 0.005
_PATIENCE = 0.6  # seconds slept in all: whoever waits for what is made here counts as well

Pause = Callable[[], object]
"""Called often by long work: it may sleep there."""


def no_pause() -> None:
    """For work that nobody waits beside."""


class GivingWay:
    """Call it often; it sleeps where somebody else is at work too."""

    def __init__(
        self, clock: Callable[[], float] = perf_counter, worked: Callable[[], float] = thread_time,
        rest: Callable[[float], object] = sleep,
    ) -> None:  # fmt: skip
        self._clock, self._worked, self._rest = clock, worked, rest
        self._left = _PATIENCE
        self._began = self._had = -1.0

    def __call__(self) -> None:
        """Sleep, if somebody had to be waited for since the last look."""
        worked = self._worked()
        if self._had < 0:
            self._began, self._had = self._clock(), worked
        elif worked - self._had >= _LOOK:
            if self._left > 0 and self._clock() - self._began > _WAITED * (worked - self._had):
                self._rest(_SLEEP)
                self._left -= _SLEEP
            self._began, self._had = self._clock(), self._worked()
