"""References of the views: the same elements under other indices. Results may share memory with their operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def slice_(x: np.ndarray, *, starts: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Element i along an axis is element start + i*step of the operand; steps may be negative."""
    cut = []
    for start, step, count in zip(starts, steps, shape):
        stop = start + count * step
        cut.append(slice(0, 0) if count == 0 else slice(start, None if stop < 0 else stop, step))
    return x[tuple(cut)]


VIEWS: dict[str, Callable[..., Any]] = {
    "mo.reshape": lambda x, *, shape: x.reshape(shape),
    "mo.transpose": lambda x, *, perm: x.transpose(perm),
    "mo.broadcast_to": lambda x, *, shape: np.broadcast_to(x, shape),
    "mo.slice": slice_,
}
