"""References of the ops that choose, repeat or make elements by their index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.types import format_shape


def concat(*xs: np.ndarray, axis: int) -> np.ndarray:
    """The operands one after another along `axis`."""
    return np.concatenate(xs, axis=axis)


def pad(x: np.ndarray, *, low: tuple[int, ...], high: tuple[int, ...], value: float | int | bool) -> np.ndarray:
    """The operand inside a frame of `value`."""
    return np.pad(x, tuple(zip(low, high)), constant_values=x.dtype.type(value))


def gather(x: np.ndarray, indices: np.ndarray, *, axis: int) -> np.ndarray:
    """np.take: negative indices count from the end, and what is still outside is clamped to the nearest element."""
    size = x.shape[axis]
    if size == 0 and indices.size:
        raise ExecutionError(f"gather from axis {axis} of shape {format_shape(x.shape)}: an empty axis has no elements")
    chosen = indices.astype(np.int64)
    chosen = np.clip(np.where(chosen < 0, chosen + size, chosen), 0, max(size - 1, 0))
    return np.take(x, chosen, axis=axis)


def iota(*, shape: tuple[int, ...], axis: int, dtype: str) -> np.ndarray:
    """Each element is its own index along `axis`."""
    line = np.arange(shape[axis], dtype=np.int64).astype(numpy_dtype(dtype))
    return np.broadcast_to(line.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))]), shape)


INDEXING: dict[str, Callable[..., Any]] = {
    "mo.concat": concat,
    "mo.pad": pad,
    "mo.gather": gather,
    "mo.tile": lambda x, *, repeats: np.tile(x, repeats),
    "mo.iota": iota,
    "mo.constant": lambda *, value: np.asarray(value),
}
