"""What of a graph is marked: lit by the selection, hovered, found, and where the keyboard is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class GraphMarks:
    """Masks over the boxes, and numbers of boxes; -1 is none."""

    lit: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    hovered: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    found: frozenset[int] = frozenset()
    current: int = -1
    current_edge: int = -1
    focused: bool = False


NO_MARKS = GraphMarks()
