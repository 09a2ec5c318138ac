"""Weights for models whose shapes are what matters: parts of one file of random numbers, which the cache keeps.

The file is a little larger than the largest array of a model, and its arrays are different parts of it that overlap.
So a model of gigabytes takes a fraction of them on disk and in memory, and still reads as many bytes as it would.
The numbers are the same each time, spread as transformers start their training.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path

import numpy as np

from compiler.cache import key_of, weights_folder
from compiler.constants.file_arrays import MappedFile
from compiler.errors import UnavailableError
from compiler.graph.dtypes import numpy_dtype
from compiler.importers.weights.stored_tensor import StoredTensor

SPREAD = 0.02  # the standard deviation
_BLOCK = 1 << 20  # elements that are drawn; the file is made of them, turned by another amount each time
_TURN = 367_001
_ONES = 1 << 15
_STEP = 64  # bytes between the places where an array may begin
_ROOM = 1 << 20  # bytes by which the file exceeds its largest array
_SCATTER = 2_654_435_761


class GeneratedWeights:
    """Arrays of random numbers of a dtype, of up to `largest` elements each."""

    def __init__(self, dtype: str, largest: int) -> None:
        self._dtype = dtype
        self._width = numpy_dtype(dtype).itemsize
        self._start = _ONES * self._width
        self._count = 0
        self._file = MappedFile(_made(dtype, -(-(largest + _ROOM // self._width) // _BLOCK)))

    def random(self, name: str, shape: tuple[int, ...]) -> StoredTensor:
        """The next array: another part of the file than those before it."""
        free = (self._file.state.size - self._start - prod(shape) * self._width) // _STEP
        self._count += 1
        place = self._start + self._count * _SCATTER % (free + 1) * _STEP
        return StoredTensor(name, shape, self._dtype, self._file, place)

    def ones(self, name: str, shape: tuple[int, ...]) -> StoredTensor:
        """An array of ones, as norms begin with."""
        assert prod(shape) <= _ONES, shape
        return StoredTensor(name, shape, self._dtype, self._file, 0)


def _made(dtype: str, blocks: int) -> Path:
    """The file of so many blocks, written if it is not there."""
    try:
        folder = weights_folder()
        if folder is None:
            raise UnavailableError("generated weights are kept in the cache folder, which cannot be used")
        place = folder / f"{key_of('generated weights', 1, dtype, blocks)}.bytes"
        if not place.exists():
            _write(place, dtype, blocks)
    except OSError as error:
        raise UnavailableError(
            f"cannot write generated weights to the cache folder: {error.strerror or error}"
        ) from None
    return place


def _write(place: Path, dtype: str, blocks: int) -> None:
    drawn = np.random.default_rng(0).standard_normal(_BLOCK, dtype=np.float32) * np.float32(SPREAD)
    block = drawn.astype(numpy_dtype(dtype)).view(np.uint8)
    waiting = place.with_suffix(f".{os.getpid()}.tmp")
    try:
        with open(waiting, "wb") as file:
            file.write(np.ones(_ONES, numpy_dtype(dtype)).view(np.uint8).data)
            for number in range(blocks):
                turn = number * _TURN % _BLOCK * (len(block) // _BLOCK)
                file.write(block[turn:].data)
                file.write(block[:turn].data)
        # Another process may have been faster, and have mapped its own: it must stay the file of that name.
        if not place.exists():
            os.rename(waiting, place)
    finally:
        waiting.unlink(missing_ok=True)
