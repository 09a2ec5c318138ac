"""Memory for results that is used again once nobody holds them.

Fresh memory is handed out by the system page by page, which takes longer than many kernels do. What a model gave out
before and its caller has let go of is already there. A result is an array over a block of bytes that is kept here; the
block is free when only this keeps it, and no view of a view, no other framework's tensor does.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from compiler.program.memory_plan import ALIGNMENT

KEPT_BYTES = 256 << 20
"""How much is kept for the next call at most, used or not."""
_WORTH_KEEPING = 64 << 10  # smaller blocks come back from the allocator as they were
_KEPT_ALONE = 3  # references to a block: the list's, the loop's, and the question's own
_COUNTS_REFERENCES = getattr(sys, "_is_gil_enabled", lambda: True)() and hasattr(sys, "getrefcount")


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array that begins on a cache line."""
    return _over(_block(math.prod(shape) * dtype.itemsize), shape, dtype)


class ResultMemory:
    """The blocks of one model. Whoever asks holds the model's lock."""

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An uninitialised array that begins on a cache line."""
        size = math.prod(shape) * dtype.itemsize
        if size < _WORTH_KEEPING or not _COUNTS_REFERENCES:
            return _over(_block(size), shape, dtype)
        for block in self._blocks:
            if block.size == size + ALIGNMENT and sys.getrefcount(block) == _KEPT_ALONE:
                return _over(block, shape, dtype)
        made = _block(size)
        self._blocks.append(made)
        while sum(block.size for block in self._blocks) > KEPT_BYTES:
            self._blocks.pop(0)  # its holder, if it has one, keeps it until he is done
        return _over(made, shape, dtype)


def _block(size: int) -> np.ndarray:
    return np.empty(size + ALIGNMENT, np.uint8)


def _over(block: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.ndarray(shape, dtype, block, -block.ctypes.data % ALIGNMENT)
