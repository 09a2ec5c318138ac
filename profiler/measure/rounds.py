"""Two processes measured by rounds: both live, and in every round each times one block of calls while the other waits.

A machine that others share is fast for some seconds and slow for some. Processes that come one after the other meet
different stretches of that; blocks of some milliseconds that take turns meet the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from time import monotonic

from profiler.measure.cpu.timing import BLOCKS, MOST_BLOCKS, UNDISTURBED, Turn, patience
from profiler.measure.outcome import Outcome

ROUNDS = 2 * BLOCKS
_LEAST = 3
_POLL = 0.1  # seconds between two looks at whether anybody still wants it

Measured = Callable[[Turn, Callable[[], bool]], Outcome]
"""Measures one side: asks for its turns, and now and then whether it is cancelled."""


class Rounds:
    """Hands out the turns of two sides; each waits in a thread of its own.

    There are as many rounds as the budget of both has time for, `ROUNDS` at most; more, within reason, where other
    programs left one of them hardly a call alone.
    """

    def __init__(self, budget: float, cancelled: Callable[[], bool] = lambda: False) -> None:
        self._budget = budget
        self._cancelled = cancelled
        self._changed = Condition()
        self._waits = [False, False]
        self._clean = [0, 0]
        self._ended = False
        self._order: list[int] = []
        """Whose turns are left in this round; whoever is in front of it times."""
        self._begun: float | None = None
        self._count = 0

    def wait(self, side: int, clean: int) -> bool:
        """Until it is the turn of a side that has so many undisturbed calls; False where there is none any more."""
        with self._changed:
            if self._order[:1] == [side] and not self._waits[side]:
                self._order.pop(0)  # that was its turn
            self._clean[side] = clean
            self._waits[side] = True
            self._changed.notify_all()
            while not self._ended:
                if all(self._waits) and not self._order:
                    self._next()
                elif self._order[:1] == [side]:
                    self._waits[side] = False
                    return True
                elif self._cancelled():
                    self._end()
                else:
                    self._changed.wait(_POLL)
            return False

    def leave(self) -> None:
        """A side is done, whatever came of it: the other does not wait for it."""
        with self._changed:
            self._end()

    def until_waiting(self, side: int) -> None:
        """Until a side has asked for its first turn, or there will be none."""
        with self._changed:
            while not (self._waits[side] or self._ended or self._cancelled()):
                self._changed.wait(_POLL)

    def _end(self) -> None:
        self._ended = True
        self._changed.notify_all()

    def _next(self) -> None:
        self._begun = monotonic() if self._begun is None else self._begun
        spent = monotonic() - self._begun
        wanted = self._count < ROUNDS and (self._count < _LEAST or spent < ROUNDS / BLOCKS * self._budget)
        starved = min(self._clean) < UNDISTURBED and self._count < MOST_BLOCKS and spent < patience(self._budget)
        if not wanted and not starved:
            return self._end()
        self._count += 1
        first = secrets.randbelow(2)
        self._order = [first, 1 - first]
        self._changed.notify_all()


def measured_by_rounds(
    sides: Sequence[Measured], budget: float, first: int, cancelled: Callable[[], bool] = lambda: False
) -> list[Outcome]:
    """What came of both sides, the `first` of which is begun first: the other when that one waits for its turn, as what
    comes before is work that disturbs it. Whatever one of them raises is raised here."""
    stopped = False
    rounds = Rounds(budget, lambda: stopped or cancelled())
    found: dict[int, Outcome | BaseException] = {}

    def work(side: int) -> None:
        try:
            found[side] = sides[side](lambda clean: rounds.wait(side, clean), lambda: stopped or cancelled())
        except BaseException as error:  # told by whoever waits for it
            found[side] = error
        finally:
            rounds.leave()

    threads = [Thread(target=work, args=(side,), name=f"side {side}", daemon=True) for side in (0, 1)]
    started: list[Thread] = []
    try:
        for side in (first, 1 - first):
            threads[side].start()
            started.append(threads[side])
            rounds.until_waiting(side)
        for thread in started:
            thread.join()
    finally:
        stopped = True
        for thread in started:
            thread.join()
    for side in (0, 1):
        outcome = found[side]
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for side in (0, 1) if isinstance(outcome := found[side], Outcome)]
