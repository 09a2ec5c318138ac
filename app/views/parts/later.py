"""Work that is done later: in Qt's pool of threads, or after a pause."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget
from shiboken6 import isValid

Done = Callable[[Any], None]
_POLISHED = 6  # widgets at a time
NEXT = 8  # milliseconds until a turn of the event loop that is surely another


def one_shot(parent: QObject, slot: Callable[[], object], pause: int = 0) -> QTimer:
    """A timer that calls `slot` once, so many milliseconds after it was started last."""
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(pause)
    timer.timeout.connect(slot)
    return timer


def next_turn(parent: QObject, call: Callable[[], object]) -> None:
    """Call it in a turn of the event loop to come, unless `parent` is gone by then: once what else waits had its own.
    After 0 ms Qt does it among what is posted, after 1 ms in the turn in which it shows what came of this one."""
    QTimer.singleShot(NEXT, parent, call)


class Thread(QObject):
    """Short work that releases the GIL (indexing, searching) on Qt's pool; a newer task makes an older one stale."""

    _finished = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._generation = 0
        self._done: Done = lambda _: None
        self._finished.connect(self._take)

    def start(self, work: Callable[[Callable[[], bool]], Any], done: Done) -> None:
        """Run `work(cancelled)`; `done(result)` is called here unless another `start` or `cancel` came first."""
        self._generation += 1
        generation = self._generation
        self._done = done

        def task() -> None:
            result = work(lambda: self._generation != generation)
            with contextlib.suppress(RuntimeError):  # the window closed meanwhile
                self._finished.emit(generation, result)

        QThreadPool.globalInstance().start(QRunnable.create(task))

    def cancel(self) -> None:
        """Make whatever runs stale."""
        self._generation += 1

    def _take(self, generation: int, result: Any) -> None:
        if generation == self._generation:
            done, self._done = self._done, lambda _: None  # what it holds may be large
            done(result)


def in_thread(parent: QObject, work: Callable[[Callable[[], bool]], Any], done: Done) -> None:
    """Run one piece of work on Qt's pool and call `done` with what came of it, unless `parent` is gone by then."""
    thread = Thread(parent)

    def finished(result: Any) -> None:
        thread.deleteLater()
        done(result)

    thread.start(work, finished)


@contextlib.contextmanager
def laid_out_once(*widgets: QWidget) -> Iterator[None]:
    """What is shown, hidden and renamed inside these widgets is laid out afterwards, once: for each part that is shown
    or hidden Qt otherwise lays out all that it is in, up to the whole window, at once."""
    layouts = [layout for widget in widgets if (layout := widget.layout()) is not None and layout.isEnabled()]
    for layout in layouts:
        layout.setEnabled(False)
    try:
        yield
    finally:
        for layout in layouts:  # each has asked for its turn meanwhile, if anything changed
            layout.setEnabled(True)


def show_share(bar: QProgressBar, done: float) -> None:
    """Have a bar show a share; a negative one is not known. It is painted with what else changes: Qt paints a bar
    that is told something at once, and all that waits to be painted in its window with it."""
    most, value = 0 if done < 0 else 100, int(max(done, 0.0) * 100)
    if (most, value) != (bar.maximum(), bar.value()):
        bar.setUpdatesEnabled(False)
        bar.setRange(0, most)
        bar.setValue(value)
        bar.setUpdatesEnabled(True)


def polishing(widget: QWidget) -> Iterator[Callable[[], object]]:
    """Steps that work out the looks of a widget that was never shown, and of all that is in it: what is inside first,
    as Qt goes on into it."""
    inside = [*list(widget.findChildren(QWidget))[::-1], widget]
    for at in range(0, len(inside), _POLISHED):
        some = inside[at : at + _POLISHED]
        yield lambda some=some: [each.ensurePolished() for each in some if isValid(each)]
