"""A bisection as the window knows it: what was asked, what is known so far, and the IR around the guilty pass."""

from __future__ import annotations

from dataclasses import dataclass

from app.viewmodels.compilation import LineText
from app.viewmodels.requests import Progress


@dataclass(frozen=True)
class BisectRequest:
    """What makes the second of two stored runs wrong, or slower than the first?"""

    runs: tuple[int, int]
    most: int = 12


@dataclass(frozen=True)
class Known:
    """What is known: in a sentence, and a line for each trial."""

    words: str
    trials: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """All of it."""
        return "\n".join([self.words, *self.trials])


@dataclass(frozen=True)
class BisectProgress(Progress):
    """A trial ended."""

    known: Known = Known("")


@dataclass(frozen=True)
class Bisected:
    """The result; a guilty pass has the IR before and after it of a kernel, a guilty fusion the two nodes."""

    known: Known
    name: str = ""
    kernel: str = ""
    stage: str = ""
    before: LineText | None = None
    after: LineText | None = None
    nodes: tuple[str, ...] = ()
