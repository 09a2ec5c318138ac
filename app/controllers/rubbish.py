"""Python's search for rubbish that holds itself: while nothing is under way, as the whole window waits for it."""

from __future__ import annotations

import gc
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

_PAUSE = 1000  # milliseconds between two looks at whether there is something to do
_ENOUGH = 10  # looks through what is young after which all of it is looked through, as Python has it by itself
_NEVER = 1 << 30


class Rubbish(QObject):
    """What is young is looked through as ever, which is not felt; all there is only in a quiet moment."""

    def __init__(self, under_way: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._under_way = under_way
        self._before = gc.get_threshold()
        gc.set_threshold(*self._before[:2], _NEVER)
        timer = QTimer(self)
        timer.timeout.connect(self._look)
        timer.start(_PAUSE)

    def stop(self) -> None:
        """The window closes: Python does as before."""
        gc.set_threshold(*self._before)

    def _look(self) -> None:
        if gc.get_count()[2] >= _ENOUGH and not self._under_way():
            gc.collect()
