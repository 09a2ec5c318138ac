"""The status bar: what runs, how far it is, how long it has taken, and the button that ends it."""

from __future__ import annotations

import re
import time

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QStatusBar, QWidget

from app.viewmodels.frame.formats import duration, many, seconds, sentence, size
from app.views.parts.controls import in_row, push_button
from app.views.parts.later import show_share
from app.views.parts.plain import plain_tip
from app.views.parts.widgets import Elided, label

_SOON, _TELLS = 1.5, 0.1  # seconds, and the share of a job, from which on one can tell how long it will take
_SHORTER = 8  # letters by which the words about the time got shorter when they are of another kind


class Status(QStatusBar):
    """Shows progress within 100 ms of a job's start."""

    cancel_pressed = Signal()

    def __init__(self, device: str) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self.what = Elided("Ready")
        self.share = label("", "muted")
        self.elapsed = label("", "muted")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(150)
        self.progress.setAccessibleName("Progress")
        self.cancel = push_button("Cancel", self.cancel_pressed, "End this now (Esc)", "Cancel", "compact")
        self.addWidget(self.what, 1)
        self._busy = QWidget()  # one widget that comes and goes: the whole window is laid out with each that does
        in_row(self.progress, self.share, self.elapsed, self.cancel, holder=self._busy)
        self.addWidget(self._busy)
        self._busy.hide()
        self.facts = label("", "muted")
        self.cache = label("", "muted")
        self.device = label(device, "muted")
        for widget in (self.facts, self.cache, self.device):
            self.addPermanentWidget(widget)
        self._jobs: dict[str, tuple[str, float]] = {}  # what goes on, by who does it, and since when
        self._done = -1.0  # the share of the job on show, where known
        self._timer = QTimer(self)
        self._timer.setInterval(100)
        self._timer.timeout.connect(self._tick)

    def start(self, what: str, who: str = "compiler") -> None:
        """A job began."""
        self._jobs.pop(who, None)  # to the end: the latest is the one on show
        self._jobs[who] = (what, time.perf_counter())
        self._show_job()

    def _show_job(self) -> None:
        self.what.setText(next(reversed(self._jobs.values()))[0])
        show_share(self.progress, -1.0)
        self.share.setText("")
        self._done = -1.0
        self._give_room("0.0 s")
        self._busy.show()
        self._tick()
        self._timer.start()

    def set_progress(self, stage: str, done: float, who: str = "compiler") -> None:
        """It has come to a stage; `done` is negative where nobody knows."""
        if self._jobs and who != next(reversed(self._jobs)):
            return
        self.what.setText(sentence(stage))
        if done >= 0:
            show_share(self.progress, done)
            self.share.setText(f"{done:.0%}")
            self._done = done

    def finish(self, text: str, who: str = "compiler") -> None:
        """It is over; what else goes on stays in sight, with the button that ends it."""
        self._jobs.pop(who, None)
        if self._jobs:
            self._show_job()
            return
        self._timer.stop()
        self._busy.hide()
        self.what.setText(text)

    def end(self, good: bool, who: str = "compiler") -> None:
        """It is over, and nobody has more to say than how it went: what it was and how long it took."""
        if who in self._jobs:
            what, begun = self._jobs[who]
            took = seconds(time.perf_counter() - begun)
            self.finish(f"{what}: {'done in' if good else 'stopped after'} {took}", who)

    def set_cache(self, entries: int, held: int, folder: str) -> None:
        """What the compilation cache holds."""
        self.cache.setText(f"cache {size(held)}" if entries else "cache empty")
        self.cache.setToolTip(plain_tip(f"Compilation cache: {many(entries, 'entry')}, {size(held)}, in {folder}"))

    def set_device(self, title: str, words: str) -> None:
        """What a run will be on."""
        self.device.setText(title)
        self.device.setToolTip(plain_tip(words))

    def _tick(self) -> None:
        if self._jobs:
            taken = time.perf_counter() - next(reversed(self._jobs.values()))[1]
            words = f"{taken:.1f} s{self._left(taken)}"
            wider = self.elapsed.fontMetrics().horizontalAdvance(words) + 4 > self.elapsed.maximumWidth()
            if wider or len(words) + _SHORTER < len(self.elapsed.text()):
                self._give_room(words)
            self.elapsed.setText(words)

    def _give_room(self, words: str) -> None:
        """Room for words of this kind, with figures that grow: Qt lays the whole window out again whenever a text of no
        fixed size changes, which here is ten times a second while something is measured."""
        room = self.elapsed.fontMetrics().horizontalAdvance(re.sub(r"[0-9]+", lambda found: "0" + found[0], words)) + 4
        self.elapsed.setFixedSize(room, self.elapsed.sizeHint().height())

    def _left(self, taken: float) -> str:
        """How long the rest will take at this pace, once that can be told."""
        if taken < _SOON or not _TELLS <= self._done < 1:
            return ""
        return f", about {duration(taken / self._done * (1 - self._done))} left"
