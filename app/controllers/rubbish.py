"""Python's search for rubbish that holds itself: in the window's own thread, and through all there is in quiet moments.

Left alone, Python looks in whichever thread makes objects, also in those that read what processes say. A widget that
nobody wants any more would then be destroyed there, while Qt has it live in the window's thread.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from math import prod

from PySide6.QtCore import QObject, QTimer

_PAUSE = 100  # milliseconds between two looks at whether there is something to do: what is made meanwhile is not felt


class Rubbish(QObject):
    """What is young is looked through soon, which is not felt; all there is only while nothing is under way.

    How much has to be there first is what Python has for itself.
    """

    def __init__(self, under_way: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._under_way = under_way
        self._made = 0  # objects looked through since all were
        self._before = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(_PAUSE)

    def stop(self) -> None:
        """The window closes: Python does as before."""
        self._timer.stop()
        if self._before:
            gc.enable()

    def _look(self) -> None:
        made, enough = gc.get_count()[0], gc.get_threshold()
        if made > enough[0]:
            self._made += made
            gc.collect(1)
        if self._made > prod(enough) and not self._under_way():
            self._made = 0
            gc.collect()
