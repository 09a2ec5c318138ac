"""What an IR pane is made of. Where a pane is made in advance, its parts are made a few at a time: all at once would be
felt."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from app.theme.look import Look
from app.viewmodels.frame.devices import TARGETS
from app.views.parts.widgets import Choice, MessageBar
from app.views.text.find_bar import FindBar
from app.views.text.pane_strip import PaneStrip
from app.views.text.text_view import TextView
from app.views.text.waiting import Waiting

_STEPS = 4


class PaneParts:
    """The parts of one pane: there at once, or in `advance` once its steps were taken."""

    def __init__(self, look: Look, advance: bool = False) -> None:
        self._to_come = self._make(look)
        for step in self.steps() if not advance else ():
            step()

    def steps(self) -> Iterator[Callable[[], object]]:
        """What makes them, a few at a time."""
        for _ in range(_STEPS):
            yield lambda: next(self._to_come, None)

    def _make(self, look: Look) -> Iterator[None]:
        self.text = TextView(look)
        self.waiting = Waiting(self.text)  # what stands over a text that is on its way
        yield
        self.find_bar = FindBar(look, self.text)
        yield
        self.bar = MessageBar(look, "pane")  # what went wrong
        self.strip = PaneStrip(look)  # what is compared with what
        yield
        self.stage = Choice("Stage", flat=True)
        self.kernel = Choice("Kernel", flat=True)
        self.target = Choice("Target of this pane", [(name, name) for name, _ in TARGETS], flat=True)
