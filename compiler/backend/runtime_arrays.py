"""Taking a call's arrays without Python: their addresses go into the program's table, and the program runs.

A model that is called again with arrays like those of the call before needs no more than a comparison with those, which
takes Python many microseconds and native code next to nothing. `kg_arrays` reads NumPy's and Python's objects where
they lie in memory; `tuple_items` looks at objects it made itself whether they lie as `kg_arrays` expects.

`Call` (words of 8 bytes): where a tuple's items begin, the type of a NumPy array, the program's table, its arguments or
null if it is not to be run, how many arrays there are; then for each: dtype, number of dims, where their sizes lie, the
flags that must be set, the place in the table or -1.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from compiler.backend.runtime import load_runtime

_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_NEEDED = _C_CONTIGUOUS | _ALIGNED
_DATA, _RANK, _SIZES, _DTYPE, _FLAGS = (
    16,
    24,
    32,
    56,
    64,
)  # bytes into a NumPy array; its type lies at 8 as in any object
_TYPE = 8


@dataclass(frozen=True, eq=False)
class ArraysLike:
    """What the arrays of a call must be for `take` to accept them."""

    words: np.ndarray
    owners: tuple[object, ...]


@cache
def tuple_items() -> int | None:
    """Where a tuple's items begin, or None where objects do not lie in memory as `kg_arrays` reads them."""
    try:
        probe = np.zeros((2, 3), np.float32)
        other = np.zeros((5,), np.int64)[1:]
        if not (_lies_as_expected(probe) and _lies_as_expected(other)):
            return None
        pair = (probe, other)
        for offset in (24, 32):
            if all(_word(id(pair) + offset + 8 * k) == id(item) for k, item in enumerate(pair)):
                return offset
    except (ValueError, OSError, TypeError):  # an interpreter whose ids are no addresses
        return None
    return None


def _lies_as_expected(array: np.ndarray) -> bool:
    start = id(array)
    if type(array).__basicsize__ < _FLAGS + 4:
        return False
    sizes = _word(start + _SIZES)
    flags = ctypes.c_int32.from_address(start + _FLAGS).value
    return (
        _word(start + _TYPE) == id(np.ndarray)
        and _word(start + _DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(start + _RANK).value == array.ndim
        and _word(start + _DTYPE) == id(array.dtype)
        and flags & (_NEEDED | _WRITEABLE) == array.flags.num & (_NEEDED | _WRITEABLE)
        and all(_word(sizes + 8 * axis) == size for axis, size in enumerate(array.shape))
    )


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def arrays_like(
    arrays: Sequence[np.ndarray], places: Sequence[int | None], table: int, program: int
) -> ArraysLike | None:
    """A description of `arrays`, whose addresses go to `places` of `table`; None where native code cannot read them."""
    items = tuple_items()
    if items is None:
        return None
    sizes = [np.array(array.shape or (0,), np.int64) for array in arrays]
    dtypes = [array.dtype for array in arrays]
    words = [items, id(np.ndarray), table, program, len(arrays)]
    for array, dtype, dims, place in zip(arrays, dtypes, sizes, places, strict=True):
        words += [id(dtype), array.ndim, dims.ctypes.data, _NEEDED, -1 if place is None else place]
    described = np.array(words, np.int64)
    return ArraysLike(described, (sizes, dtypes))


@cache
def native_take() -> Callable[[tuple[Any, ...], int], int]:
    """`take(arrays, address of like.words)`: 1 if a tuple's arrays are so; they are then bound and the program run."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_void_p)(load_runtime().address("kg_arrays"))
