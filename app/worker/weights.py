"""The statistics of a constant, read where it lies: of a large one only a sample, so that no more is read than that."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.viewmodels.frame.weights import BINS, Weights
from compiler.errors import CompilerError

MOST = 1 << 22
"""Elements that are read of one constant."""
_STRETCH = 4096  # neighbours that are read together: whole pages of the file


def weights_of(graph: Any, node: str) -> Weights:
    """The statistics of the constant that a node is."""
    op = next((op for op in graph.ops if op.nodes[0] == node), None)
    if op is None or op.name != "mo.constant":
        raise CompilerError(f"{node} is no constant: it has no weights to show")
    array = np.asarray(op.attrs["value"])
    return statistics(node, array)


def statistics(node: str, array: np.ndarray, most: int = MOST) -> Weights:
    """The statistics of an array, from a sample where it has more elements than `most`."""
    values = _sample(array, most)
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    nans = int(np.isnan(numbers).sum())
    note = (
        "whole numbers as in the file; a quantised tensor is decoded in its kernel" if array.dtype.kind in "ui" else ""
    )
    found = Weights(
        node, array.size, values.size, zeros=int((numbers == 0).sum()), nans=nans,
        infinities=int(numbers.size - finite.size - nans), note=note,
    )  # fmt: skip
    if not finite.size:
        return found
    low, high = float(finite.min()), float(finite.max())
    with np.errstate(over="ignore"):  # of numbers near the largest there are
        mean, deviation = float(finite.mean()), float(finite.std())
        wide = np.isfinite(high - low)
    counts, edges = np.histogram(finite, BINS) if wide else ([], [])
    return Weights(
        node, found.elements, found.read, low, high, mean, deviation, found.zeros, nans, found.infinities,
        tuple(float(edge) for edge in edges), tuple(int(count) for count in counts), note,
    )  # fmt: skip


def _sample(array: np.ndarray, most: int) -> np.ndarray:
    """All elements, or stretches of them from its beginning to its end; never a copy of the whole."""
    if array.size <= most:
        return array.reshape(-1)
    if not array.flags.c_contiguous and array.flags.f_contiguous:
        array = array.T
    if not array.flags.c_contiguous:
        return array[:: -(-array.shape[0] * array[0].size // most)].reshape(-1)[:most]
    flat = array.reshape(-1)
    starts = np.linspace(0, flat.size - _STRETCH, most // _STRETCH).astype(np.int64)
    return np.concatenate([flat[start : start + _STRETCH] for start in starts])
