"""mo.cast converts like NumPy where NumPy defines the result, and saturates where it does not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from compiler.graph.dtypes import DTYPES, numpy_dtype
from tests.kernels.harness import run_elementwise

FLOATS = ["f64", "f32", "f16", "bf16"]
INTEGERS = ["i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64"]


def values(dtype: str) -> np.ndarray:
    """Numbers every dtype can be asked to convert, and for floats those between two neighbours of a narrower one."""
    rng = np.random.default_rng(0)
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, 777).astype(bool)
    if dtype in INTEGERS:
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, 777, kind, endpoint=True)
    edges = [0.0, -0.0, np.inf, -np.inf, 65504, 65519.99, 65520, 6e-8, 2.9e-8, 3.0e-8, 1e-40, 3.4e38, 1e300]
    halves = 1 + np.arange(64) * 2.0**-12 + rng.choice([0, 2.0**-40, -(2.0**-40)], 64)
    with np.errstate(all="ignore"):
        return np.concatenate([edges, halves, -halves, rng.normal(0, 300, 600)]).astype(kind)


def same(result: np.ndarray, expected: np.ndarray) -> None:
    assert result.dtype == expected.dtype
    if expected.dtype.kind not in "biu":
        result, expected = result.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    np.testing.assert_array_equal(result, expected)


ALL_PAIRS = [(a, b) for a, b in itertools.product(DTYPES, DTYPES) if not (a in FLOATS and b in INTEGERS)]


@pytest.mark.parametrize(("source", "wanted"), ALL_PAIRS)
def test_conversion_is_numpys(source: str, wanted: str) -> None:
    x = values(source)
    with np.errstate(all="ignore"):
        expected = x.astype(numpy_dtype(wanted))
    same(run_elementwise("cast", x, result=wanted, dtype=wanted), expected)


@pytest.mark.parametrize(("source", "wanted"), list(itertools.product(FLOATS, INTEGERS)))
def test_float_to_integer_goes_toward_zero_and_saturates(source: str, wanted: str) -> None:
    limits = np.iinfo(numpy_dtype(wanted))
    x = np.array([0.9, -0.9, 1.5, -1.5, 100.25, -100.25, 7.999, np.inf, -np.inf, np.nan, 3e4, -3e4, 6e4, -6e4] * 3)
    x = x.astype(numpy_dtype(source))
    ends = {np.inf: int(limits.max), -np.inf: int(limits.min)}
    whole = [0 if value != value else ends[value] if value in ends else int(value) for value in x.astype(np.float64)]
    expected = [min(max(number, int(limits.min)), int(limits.max)) for number in whole]
    same(run_elementwise("cast", x, result=wanted, dtype=wanted), np.array(expected, numpy_dtype(wanted)))


@pytest.mark.parametrize("source", FLOATS)
def test_nan_stays_nan_among_floats_and_is_true(source: str) -> None:
    x = np.full(5, np.nan).astype(numpy_dtype(source))
    for wanted in FLOATS:
        assert np.isnan(run_elementwise("cast", x, result=wanted, dtype=wanted).astype(np.float64)).all()
    assert run_elementwise("cast", x, result="bool", dtype="bool").all()


def test_f64_to_f16_rounds_once() -> None:
    """1 + 2**-11 is halfway between two f16; a little more must go up, though f32 cannot hold the difference."""
    x = np.array([1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40])
    result = run_elementwise("cast", x, result="f16", dtype="f16")
    np.testing.assert_array_equal(result.astype(np.float64), [1, 1 + 2.0**-10, 1 + 2.0**-10])
