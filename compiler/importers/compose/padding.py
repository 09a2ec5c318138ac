"""Padding by what is there: the edge repeated, the tensor mirrored at its edges, or begun anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.value import Value
from compiler.importers.compose.places import as_number

MODES = ("edge", "reflect", "wrap")
_LARGEST = 1 << 24  # elements along a padded axis of known size: their places are a constant of the graph


def padded(x: Value, axis: int, low: Any, high: Any, mode: str) -> Value:
    """x with `low` and `high` elements more along an axis, which are taken from itself."""
    size = x.shape[axis]
    if mode not in MODES:
        raise GraphError(f"the padding mode {mode!r} is not constant, {', '.join(MODES)}")
    if isinstance(size, Dim) or isinstance(low, Dim) or isinstance(high, Dim):
        return ops.gather(x, _computed(size, low, high, mode), axis)
    if low + size + high > _LARGEST or size == 0:
        raise GraphError(f"padding {mode!r} of {size} elements by {low} and {high}")
    places = np.arange(-low, size + high)
    if mode == "edge":
        places = np.clip(places, 0, size - 1)
    elif mode == "wrap":
        places = places % size
    else:
        around = max(2 * (size - 1), 1)
        places = np.abs((places + size - 1) % around - (size - 1)) if size > 1 else np.zeros_like(places)
    return ops.gather(x, places, axis)


def _computed(size: Any, low: Any, high: Any, mode: str) -> Value:
    """The same places where only the run knows the sizes."""
    places = ops.sub(ops.iota((size + low + high,)), as_number(low))
    count = as_number(size)
    last = ops.sub(count, 1)
    if mode == "edge":
        return ops.minimum(ops.maximum(places, 0), last)
    if mode == "wrap":
        return ops.mod(places, count)
    around = ops.maximum(ops.mul(last, 2), 1)
    return ops.abs(ops.sub(ops.mod(ops.add(places, last), around), last))
