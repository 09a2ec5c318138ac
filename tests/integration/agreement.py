"""When two results agree: a bound by dtype, widened where the computation itself is ill-conditioned."""

from __future__ import annotations

import numpy as np

RELATIVE = {"float64": 1e-11, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def disagreement(result: np.ndarray, expected: np.ndarray, wide: np.ndarray | None = None) -> str | None:
    """Why `result` is not `expected`, or None when it is.

    `wide` is the same computation in a wider dtype: what the narrow reference itself is off by is allowed to us too,
    several times over.
    """
    if result.shape != expected.shape:
        return f"shape {result.shape}, expected {expected.shape}"
    if result.dtype != expected.dtype:
        return f"dtype {result.dtype}, expected {expected.dtype}"
    bound = RELATIVE.get(expected.dtype.name)
    if bound is None:
        wrong = result != expected
        return _where(wrong, result, expected) if wrong.any() else None
    a, b = result.astype(np.float64), expected.astype(np.float64)
    limit = {"float16": 3e4, "bfloat16": 1e38, "float32": 1e38, "float64": 1e307}[expected.dtype.name]
    with np.errstate(all="ignore"):
        settled = np.isfinite(b) & (np.abs(b) < limit)
        scale = np.abs(b[settled]).max() if settled.any() else 0.0
        allowed = bound * (np.abs(b) + scale) + 1e-30
        if wide is not None:
            drift = np.abs(wide.astype(np.float64) - b)
            allowed = allowed + 64 * np.where(np.isfinite(drift), drift, 0.0)
            settled &= np.isfinite(wide.astype(np.float64))
        wrong = settled & ~(np.abs(a - b) <= allowed)
        odd = np.isnan(b) != np.isnan(a)
        if wide is not None:  # where widening changes what is NaN, the narrow result is a matter of overflow
            odd &= np.isnan(b) == np.isnan(wide.astype(np.float64))
            odd &= np.isfinite(wide.astype(np.float64)) | np.isnan(wide.astype(np.float64))
    wrong |= odd
    return _where(wrong, result, expected) if wrong.any() else None


def _where(wrong: np.ndarray, result: np.ndarray, expected: np.ndarray) -> str:
    place = tuple(int(k) for k in np.argwhere(wrong)[0]) if wrong.ndim else ()
    count = f"{int(wrong.sum())} of {wrong.size} elements differ"
    return f"{count}, first at {place}: {result[place]}, expected {expected[place]}"
