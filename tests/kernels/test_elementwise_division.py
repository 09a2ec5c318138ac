"""floordiv and mod give what NumPy gives, bit for bit, for every dtype; division by zero never traps."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from tests.kernels.harness import run_elementwise

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8]


def pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs, small divisors, and every pair of a few edge values."""
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    low = max(-3, limits.min)
    edges = np.array([limits.min, limits.min + 1, limits.max, 0, 1, 2, 7] + ([-1, -2, -7] if low else []), dtype)
    x, y = np.meshgrid(edges, edges)
    draws = rng.integers(limits.min, limits.max, (3, 2000), dtype, endpoint=True)
    small = rng.integers(low, 4, 2000).astype(dtype)
    return np.concatenate([x.ravel(), draws[0], draws[0]]), np.concatenate([y.ravel(), draws[1], small])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("name", "function"), [("floordiv", np.floor_divide), ("mod", np.remainder)])
def test_integers_wrap_and_zero_divides_to_zero(name: str, function: np.ufunc, dtype: type) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = function(x, y)
    np.testing.assert_array_equal(run_elementwise(name, x, y), expected)
    assert not expected[y == 0].any()


def float_pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of near and of wholly different size, multiples, and every pair of a few edge values."""
    limits = np.finfo(dtype)
    rng = np.random.default_rng(1)
    values = [0, 1, 3, 0.1, 1e10, np.inf, limits.max, limits.tiny, limits.smallest_subnormal]
    edges = np.array([*values, *(-v for v in values), np.nan], dtype)
    x, y = np.meshgrid(edges, edges)
    span = int(limits.maxexp) - 2
    sizes = rng.uniform(-span, span, (2, 3000))
    far = (np.exp2(sizes) * rng.choice([-1, 1], (2, 3000))).astype(dtype)
    near = rng.uniform(-100, 100, (2, 20_000)).astype(dtype)
    divisor = rng.uniform(-8, 8, 5000).astype(np.float16).astype(dtype)
    multiple = divisor * rng.integers(-1000, 1000, 5000).astype(dtype)
    return (
        np.concatenate([x.ravel(), far[0], near[0], multiple]),
        np.concatenate([y.ravel(), far[1], near[1] / 10, divisor]),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "function"),
    [("fmod_function", np.fmod), ("mod", np.remainder), ("floordiv", np.floor_divide)],
)
def test_floats_are_exactly_numpys(name: str, function: np.ufunc, dtype: type) -> None:
    x, y = float_pairs(dtype)
    with np.errstate(all="ignore"):
        expected = function(x, y)
    result = run_elementwise(name, x, y)
    np.testing.assert_array_equal(result, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap(dtype: type) -> None:
    rng = np.random.default_rng(2)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, 3000, dtype, endpoint=True)
    y = rng.integers(0, 70, 3000).astype(dtype)
    np.testing.assert_array_equal(run_elementwise("pow", x, y), np.power(x, y))


def test_negative_integer_powers_round_toward_zero() -> None:
    x = np.array([1, 1, -1, -1, 2, -2, 0, 5, np.iinfo(np.int32).min], np.int32)
    y = np.array([-1, -2, -1, -2, -1, -1, -1, np.iinfo(np.int32).min, -3], np.int32)
    np.testing.assert_array_equal(run_elementwise("pow", x, y), [1, 1, -1, 1, 0, 0, 0, 0, 0])


def test_one_number_to_many_integer_powers() -> None:
    with Graph("powers", inputs=[TensorType("i64", (40,))]) as g:
        g.output(ops.pow(ops.constant(2, "i64"), g.inputs[0]))
    exponents = np.arange(40)
    np.testing.assert_array_equal(compile(g).execute(exponents)[0], 2**exponents)
