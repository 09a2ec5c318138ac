"""References of the steps of sorting and scattering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_COMBINED: dict[str, Any] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def merge_runs(order: np.ndarray, keys: np.ndarray, run: np.ndarray, *, descending: bool) -> np.ndarray:
    """Every stretch of two runs in the order of its keys; NaN is larger than any number."""
    out = order.copy()
    size, step = order.shape[-1], 2 * int(run[0])
    if step >= 2 * size:  # one run, which is sorted
        return out
    rows, found = out.reshape(-1, size), keys.reshape(-1, size)
    for row, key in zip(rows, found, strict=True):
        rank = np.unique(key, return_inverse=True, equal_nan=True)[1]  # equal keys have equal ranks, and NaN the last
        for first in range(0, size, step):
            part = row[first : first + step].copy()
            chosen = -rank[part] if descending else rank[part]
            row[first : first + step] = part[np.argsort(chosen, kind="stable")]
    return out


def scatter_sorted(
    x: np.ndarray, places: np.ndarray, order: np.ndarray, updates: np.ndarray, *, reduction: str
) -> np.ndarray:
    """x with its rows at `places` replaced or combined, update after update; places outside of it are left out."""
    wide = np.float64 if x.dtype.kind == "f" or x.dtype.name == "bfloat16" else x.dtype
    out = x.astype(wide)
    for place, number in zip(places, order, strict=True):
        if 0 <= place < len(x):
            new = updates[number].astype(wide)
            out[place] = new if reduction == "none" else _COMBINED[reduction](out[place], new)
    return out.astype(x.dtype)


ORDERING: dict[str, Callable[..., Any]] = {"mo.merge_runs": merge_runs, "mo.scatter_sorted": scatter_sorted}
