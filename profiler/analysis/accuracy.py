"""How far apart two results are, element by element."""

from __future__ import annotations

import numpy as np


def relative_errors(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Each element's error over its own size, or over the output's typical size where it is smaller than that.

    A sum whose terms cancel has a tiny result but the rounding error of its terms. Integers and bools are right (0) or
    wrong (1); NaN equals NaN, and what is infinite where it should not be is infinitely wrong.
    """
    if wanted.dtype.kind in "iub":
        return (got != wanted).astype(np.float64)
    mine, theirs = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(theirs)
    with np.errstate(all="ignore"):
        typical = float(np.sqrt(np.mean(np.square(theirs, where=finite, out=np.zeros_like(theirs)))))
        errors = np.abs(mine - theirs) / np.maximum(np.abs(theirs), typical)
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    return np.where(same, 0.0, np.where(np.isnan(errors) | ~finite, np.inf, errors))


def relative_error(got: np.ndarray, wanted: np.ndarray) -> float:
    """The largest of them; 0 where there is nothing to compare."""
    return float(np.max(relative_errors(got, wanted))) if wanted.size else 0.0
