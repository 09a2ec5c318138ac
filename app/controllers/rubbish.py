"""Python's search for rubbish that holds itself: in the window's own thread, and through all there is while it rests.

Left alone, Python looks in whichever thread makes objects, also in those that read what processes say. A widget that
nobody wants any more would then be destroyed there, while Qt has it live in the window's thread. And it would look
through all there is, which with a large model is felt, at any time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from math import prod

from PySide6.QtCore import QObject, QTimer

_PAUSE = 100  # milliseconds between two looks at whether there is something to do: what is made meanwhile is not felt
_IDLE = 0.004  # seconds of work in such a pause up to which nobody is there: a caret blinks
_REST = 300  # pauses without more, after which nobody feels a long look
_AT_LAST = 20  # so many times what Python has for enough, and it is time even without such a rest
_FELT = 30_000  # young objects that are too many to look through unfelt: what a large model is made of, and stays


class Rubbish(QObject):
    """What is young is looked through soon, which is not felt; not if very much was made at once. What that leaves is
    not looked at again until nobody has been there for a while and nothing is under way: then all there is.

    How much has to be there first is what Python has for itself.
    """

    def __init__(self, under_way: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._under_way = under_way
        self._made = 0  # objects looked through since all were
        self._rested = 0  # pauses in a row
        self._worked = 0.0  # by the thread until the last look
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        self.start()

    def start(self) -> None:
        """Look from now on, in Python's place."""
        self._before = gc.isenabled()
        gc.disable()
        self._timer.start(_PAUSE)

    def stop(self) -> None:
        """The window closes: Python does as before."""
        self._timer.stop()
        gc.unfreeze()
        if self._before:
            gc.enable()

    def _look(self) -> None:
        made, enough = gc.get_count()[0], gc.get_threshold()
        if made > enough[0]:
            self._made += made
            if made < _FELT:
                gc.collect(1)
            gc.freeze()
        self._rested = self._rested + 1 if time.thread_time() - self._worked < _IDLE else 0
        if self._made > prod(enough) * (1 if self._rested >= _REST else _AT_LAST) and not self._under_way():
            self._made = 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        self._worked = time.thread_time()
