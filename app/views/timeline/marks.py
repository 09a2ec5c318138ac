"""What of a timeline is marked: the event under the mouse, what the selection lights, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class TimeMarks:
    """`lit` are numbers of events in order; `measured` is the time from one end to the other."""

    hover: int = -1
    lit: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    measured: tuple[float, float] | None = None
    measuring: bool = False

    @property
    def meant(self) -> np.ndarray:
        """The hovered event, or the selected ones."""
        return np.array([self.hover]) if self.hover >= 0 else self.lit
