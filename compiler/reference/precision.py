"""The numbers rule of the references: 16-bit floats compute in f32, f32 in f64, and the result is rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

_WIDER = {"float16": np.dtype(np.float32), "bfloat16": np.dtype(np.float32), "float32": np.dtype(np.float64)}


def is_float(x: np.ndarray) -> bool:
    """Whether an array holds floats, bfloat16 included (NumPy itself does not count it as one)."""
    return x.dtype.kind == "f" or x.dtype.name == "bfloat16"


def wide(x: np.ndarray) -> np.ndarray:
    """The array in the dtype its arithmetic is done in; integers, bools and f64 stay as they are."""
    return x.astype(_WIDER.get(x.dtype.name, x.dtype), copy=False)


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run without NumPy's floating-point warnings: inf, nan and wraparound are results here, not accidents.

    The result is always an array: NumPy itself gives scalars for arrays without axes.
    """

    @wraps(function)
    def run(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays, **attrs))

    return run


def widely(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute on `wide` arrays and round the result to the first array's dtype."""

    @wraps(function)
    def run(*arrays: np.ndarray, **attrs: Any) -> Any:
        result = function(*(wide(x) for x in arrays), **attrs)
        return np.asarray(result).astype(arrays[0].dtype, copy=False)

    return run
