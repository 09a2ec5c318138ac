"""References of the elementwise ops: one element in, one element out, NumPy's meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.graph.dtypes import numpy_dtype
from compiler.reference.precision import is_float, wide, widely

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, element by element through the C library's."""
    return _erf(x.astype(np.float64))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


def gelu(x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """x times the normal distribution's CDF at x, or its tanh approximation."""
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * _erfc(x.astype(np.float64) * -math.sqrt(0.5))  # erfc keeps its digits where 1 + erf loses them


def silu(x: np.ndarray) -> np.ndarray:
    """x * sigmoid(x)."""
    return x / (1.0 + np.exp(-x))


def relu(x: np.ndarray) -> np.ndarray:
    """The larger of x and 0; NaN stays NaN."""
    return np.maximum(x, x.dtype.type(0))


def cast(x: np.ndarray, *, dtype: str) -> np.ndarray:
    """To another dtype: floats go to integers towards zero, saturating, NaN to 0; integers wrap; bool is x != 0."""
    target = numpy_dtype(dtype)
    if dtype == "bool":
        return wide(x) != 0
    if not is_float(x) or target.kind not in "iu":
        return x.astype(target)
    limits, values = np.iinfo(target), x.astype(np.float64)
    inside = (values > float(limits.min) - 1) & (values < float(limits.max) + 1)
    whole = np.trunc(np.where(inside, values, 0)).astype(np.uint64 if target.kind == "u" else np.int64)
    if target.itemsize == 8:  # float(max) + 1 rounds to 2**63, and float(min) - 1 to -2**63, which does fit
        inside |= values == float(limits.min)
        whole = np.where(values == float(limits.min), whole.dtype.type(limits.min), whole)
    bounds = np.array([limits.min, limits.max], whole.dtype)
    result = np.where(inside, whole, np.where(values > 0, bounds[1], bounds[0]))
    result[np.isnan(values)] = 0
    return result.astype(target)


def bitcast(x: np.ndarray, *, dtype: str) -> np.ndarray:
    """The same bits as another dtype of as many."""
    return np.ascontiguousarray(x).view(numpy_dtype(dtype)).reshape(x.shape)


def power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a to the power b; a negative integer exponent truncates towards zero where NumPy would refuse."""
    if is_float(a):
        return widely(np.power)(a, b)
    if a.dtype.kind == "b":
        return a | ~b
    negative = b < 0
    result = np.power(a, np.where(negative, 0, b).astype(b.dtype))
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)) if a.dtype.kind == "i" else result
    return np.where(negative, inverse, result).astype(a.dtype)


def _rounding(function: Callable[..., Any]) -> Callable[..., Any]:
    """floor and its kin: integers are already whole."""
    return lambda x: widely(function)(x) if is_float(x) else x


def _comparison(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: np.asarray(function(*(wide(x) for x in xs)), dtype=bool)


def _exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Integer ops as they are; float ones by way of the wider dtype."""
    return lambda *xs: widely(function)(*xs) if is_float(xs[0]) else np.asarray(function(*xs)).astype(xs[0].dtype)


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return widely(np.true_divide)(a, b) if is_float(a) else np.true_divide(a, b)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "mo.abs": _exact(np.abs),
    "mo.neg": _exact(np.negative),
    "mo.square": _exact(lambda x: x * x),
    "mo.sign": _exact(np.sign),
    "mo.reciprocal": widely(lambda x: 1.0 / x),
    "mo.exp": widely(np.exp),
    "mo.exp2": widely(np.exp2),
    "mo.expm1": widely(np.expm1),
    "mo.log": widely(np.log),
    "mo.log2": widely(np.log2),
    "mo.log1p": widely(np.log1p),
    "mo.sqrt": widely(np.sqrt),
    "mo.rsqrt": widely(lambda x: 1.0 / np.sqrt(x)),
    "mo.sin": widely(np.sin),
    "mo.cos": widely(np.cos),
    "mo.tanh": widely(np.tanh),
    "mo.erf": widely(erf),
    "mo.sigmoid": widely(sigmoid),
    "mo.relu": _exact(relu),
    "mo.gelu": widely(gelu),
    "mo.silu": widely(silu),
    "mo.floor": _rounding(np.floor),
    "mo.ceil": _rounding(np.ceil),
    "mo.round": _rounding(np.rint),
    "mo.trunc": _rounding(np.trunc),
    "mo.isnan": _comparison(np.isnan),
    "mo.isinf": _comparison(np.isinf),
    "mo.logical_not": _comparison(np.logical_not),
    "mo.bitwise_not": np.invert,
    "mo.cast": cast,
    "mo.bitcast": bitcast,
    "mo.add": _exact(np.add),
    "mo.sub": _exact(np.subtract),
    "mo.mul": _exact(np.multiply),
    "mo.div": _divide,
    "mo.floordiv": _exact(np.floor_divide),
    "mo.mod": _exact(np.mod),
    "mo.pow": power,
    "mo.minimum": _exact(np.minimum),
    "mo.maximum": _exact(np.maximum),
    "mo.equal": _comparison(np.equal),
    "mo.not_equal": _comparison(np.not_equal),
    "mo.less": _comparison(np.less),
    "mo.less_equal": _comparison(np.less_equal),
    "mo.greater": _comparison(np.greater),
    "mo.greater_equal": _comparison(np.greater_equal),
    "mo.and": np.bitwise_and,
    "mo.or": np.bitwise_or,
    "mo.xor": np.bitwise_xor,
    "mo.where": np.where,
}
