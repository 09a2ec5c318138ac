"""A thread that waits for work and has a priority of its own, which on Linux is each thread's.

A process that gave way to others cannot take that back. But a child process has the priority of the thread which starts
it: so one begun before can start what is measured. And one that gives way itself can do what nobody waits for, while
the others, and what they start, keep theirs.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import Any


class OwnPriority:
    """One thread that waits, with the priority of whoever makes it, unless `begin` gives it another.

    It is not a `threading.Thread`: as long as it waits it holds no lock that a fork of this process could miss, and
    whoever counts threads to know whether a fork is safe (`compiler.backend.workers`) need not know of it.
    """

    def __init__(self, begin: Callable[[], object] = lambda: None) -> None:
        self._begin = begin
        self._asked, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._asked.acquire()
        self._done.acquire()
        self._work: Callable[[], Any] = lambda: None
        self._result: Any = None
        self._error: BaseException | None = None
        _thread.start_new_thread(self._serve, ())

    def call(self, work: Callable[[], Any]) -> Any:
        """What the work gives or raises, done there."""
        self._work = work
        self._asked.release()
        self._done.acquire()
        result, error = self._result, self._error
        self._result = self._error = None
        if error is not None:
            raise error
        return result

    def _serve(self) -> None:
        self._begin()
        while True:
            self._asked.acquire()
            try:
                self._result = self._work()
            except BaseException as error:  # whoever asked has to know, whatever it was
                self._error = error
            self._done.release()
