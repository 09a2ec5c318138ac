"""Walking a drawn graph with the arrow keys: along edges up and down, to neighbours left and right."""

from __future__ import annotations

import numpy as np

from app.viewmodels.graph.layout import Layout
from app.viewmodels.graph.scene import Scene


def walk(scene: Scene, layout: Layout, box: int, direction: str) -> int:
    """The box one step "up", "down", "left" or "right"; the same box where there is none."""
    centre = layout.positions + scene.sizes / 2
    if direction in ("up", "down"):
        joined = [a if direction == "up" else b for a, b in scene.edges if (b if direction == "up" else a) == box]
        if not joined:
            return box
        return min(joined, key=lambda other: (abs(centre[other, 0] - centre[box, 0]), other))
    across = centre[:, 0] - centre[box, 0]
    ahead = across < -1 if direction == "left" else across > 1
    ahead[box] = False
    if not ahead.any():
        return box
    # A neighbour in the same row first; what lies a row away only where there is none.
    distance = np.abs(across) + 4 * np.maximum(np.abs(centre[:, 1] - centre[box, 1]) - scene.sizes[box, 1] / 2, 0)
    return int(np.argmin(np.where(ahead, distance, np.inf)))
