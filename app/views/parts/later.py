"""Work that is done later: in Qt's pool of threads, or after a pause."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QRunnable, QThreadPool, QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget
from shiboken6 import isValid

Done = Callable[[Any], None]
_POLISHED = 6  # widgets at a time
_FELT, _LATEST = 0.004, 3  # seconds of other work that a picture is not painted right after; turns that it waits then
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


class PicturesApart(QObject):
    """Has what waits take its turn between what changes a window and the picture of it, and after that picture. Qt
    paints at the end of the turn that changed something, all that changed at once: so the two are felt as one."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window, self._painting = window, False
        self._asked, self._late = 0.0, 0
        self._timer = one_shot(self, self._turn)
        self._after = one_shot(self, lambda: None, 1)

    def begin(self) -> None:
        """From now on; what the window is made and first shown with is one picture."""
        self._window.installEventFilter(self)

    @property
    def due(self) -> bool:
        """Whether a picture comes next, or came just now: work that can wait would be felt together with it."""
        return self._timer.isActive() or self._after.isActive()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.UpdateRequest or watched is not self._window or self._painting:
            return False
        self._late = 0
        self._wait()
        return True

    def _wait(self) -> None:
        self._asked = time.perf_counter()
        self._timer.start()

    def _turn(self) -> None:
        """Paint, unless another timer of the same turn took long: then in the next one."""
        if time.perf_counter() - self._asked > _FELT and self._late < _LATEST:
            self._late += 1
            self._wait()
            return
        self._painting = True
        try:
            QCoreApplication.sendEvent(self._window, QEvent(QEvent.Type.UpdateRequest))
        finally:
            self._painting = False
        self._after.start()


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
