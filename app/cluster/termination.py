"""SIGTERM while there is a cluster of our own: it is taken down in order.

What multiprocessing made for its processes, semaphores above all, stays behind where nobody takes it down.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.errors import TERMINATED


@dataclass
class _Signal:
    """Whether the signal came, and whether there is something yet that can be taken down."""

    came: bool = False
    heeded: bool = False

    def note(self, *_about: object) -> None:
        """Called with the signal. The next one ends the program: what is being taken down is not waited for."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.came = True
        if self.heeded:
            self._interrupt()

    def heed(self) -> None:
        """From here on it ends what is under way, as Ctrl+C does, and at once where it has come already."""
        self.heeded = True
        if self.came:
            self._interrupt()

    def _interrupt(self) -> None:
        if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):  # begun with Ctrl+C turned off
            raise SystemExit(TERMINATED)
        signal.raise_signal(signal.SIGINT)


@contextmanager
def terminated_in_order() -> Iterator[Callable[[], None]]:
    """Leave the block on SIGTERM, but not before what it yields was called: only then is all of it taken down.

    Whoever heeds the signal themselves, and threads, which hear none, are left alone.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield lambda: None
        return
    found = _Signal()
    signal.signal(signal.SIGTERM, found.note)
    try:
        yield found.heed
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if found.came:
            raise SystemExit(TERMINATED) from None
