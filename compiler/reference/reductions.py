"""References of the reductions: an axis or several disappear (or, for cumsum, are summed along). The dtype stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.types import format_shape
from compiler.reference.precision import wide, widely


def _total(function: Callable[..., Any]) -> Callable[..., Any]:
    """sum, prod and cumsum: floats add up in the wider dtype, integers wrap around in their own."""

    def run(x: np.ndarray, **where: Any) -> np.ndarray:
        return function(x, dtype=x.dtype, **where)

    return widely(run)


def _over_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axes, **more: function(x, axis=tuple(axes), **more)


def reduce_mean(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    """The mean over `axes`; over nothing it is NaN."""
    count = np.prod([x.shape[axis] for axis in axes], dtype=x.dtype)
    return np.sum(x, axis=tuple(axes)) / count


def _extreme(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """max and min: NaN wins, and an empty axis has neither."""

    def run(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
        for axis in axes:
            _check_not_empty(x, axis, name)
        return function(x, axis=tuple(axes))

    return widely(run)


def _position(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """argmax and argmin: the first of equals, the first NaN if there is one."""

    def run(x: np.ndarray, *, axis: int) -> np.ndarray:
        _check_not_empty(x, axis, name)
        return np.asarray(function(wide(x), axis=axis), dtype=np.int64)

    return run


def _check_not_empty(x: np.ndarray, axis: int, name: str) -> None:
    if x.shape[axis] == 0:
        raise ExecutionError(f"{name} over axis {axis} of shape {format_shape(x.shape)}: an empty axis has no {name}")


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "mo.reduce_sum": _total(_over_axes(np.sum)),
    "mo.reduce_prod": _total(_over_axes(np.prod)),
    "mo.reduce_mean": widely(reduce_mean),
    "mo.reduce_max": _extreme(np.max, "max"),
    "mo.reduce_min": _extreme(np.min, "min"),
    "mo.argmax": _position(np.argmax, "argmax"),
    "mo.argmin": _position(np.argmin, "argmin"),
    "mo.cumsum": _total(np.cumsum),
}
