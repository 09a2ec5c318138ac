"""What an IR pane is made of. Each part is made when it is first asked for, so that a pane that is made in advance can
have them one by one: all at once would be felt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from app.theme.look import Look
from app.viewmodels.frame.devices import TARGETS
from app.views.parts.widgets import Choice, MessageBar
from app.views.text.find_bar import FindBar
from app.views.text.pane_strip import PaneStrip
from app.views.text.text_view import TextView
from app.views.text.waiting import Waiting


class PaneParts:
    """The parts of one pane."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def steps(self) -> Iterator[Callable[[], object]]:
        """What makes them, a few at a time."""
        yield lambda: self.waiting
        yield lambda: self.find_bar
        yield lambda: (self.bar, self.strip)
        yield lambda: (self.stage, self.kernel, self.target)

    @cached_property
    def text(self) -> TextView:
        """The text itself."""
        return TextView(self._look)

    @cached_property
    def waiting(self) -> Waiting:
        """What stands over a text that is on its way."""
        return Waiting(self.text)

    @cached_property
    def find_bar(self) -> FindBar:
        """What searches the text."""
        return FindBar(self._look, self.text)

    @cached_property
    def bar(self) -> MessageBar:
        """What went wrong."""
        return MessageBar(self._look, "pane")

    @cached_property
    def strip(self) -> PaneStrip:
        """What is compared with what."""
        return PaneStrip(self._look)

    @cached_property
    def stage(self) -> Choice:
        """The stage on show."""
        return Choice("Stage", flat=True)

    @cached_property
    def kernel(self) -> Choice:
        """The kernel on show."""
        return Choice("Kernel", flat=True)

    @cached_property
    def target(self) -> Choice:
        """The target that it is compiled for."""
        return Choice("Target of this pane", [(name, name) for name, _ in TARGETS], flat=True)
