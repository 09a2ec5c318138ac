"""Reductions over any axes, in any dtype, with any number of threads."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from compiler.graph.dtypes import numpy_dtype
from tests.kernels.checked import DTYPES, FLOATS, INTEGERS, MODES, assert_matches, random_array, run, wide

NUMPY = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


def reduced(name: str, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(NUMPY[name](wide(x), axis=axes))


def subsets(rank: int) -> list[tuple[int, ...]]:
    return [axes for count in range(rank + 1) for axes in combinations(range(rank), count)]


# A mean of integers does not come here: the builder casts first.
@pytest.mark.parametrize("name, dtype", [(n, d) for n in NUMPY for d in (FLOATS if n == "mean" else DTYPES)])
def test_every_dtype(name, dtype):
    result = "i64" if name in ("sum", "prod") and dtype not in FLOATS else dtype
    for shape, axes in (((5, 37), (1,)), ((64, 33), (0,)), ((100,), (0,))):
        x = random_array(dtype, shape)
        if name == "prod" and dtype in FLOATS:
            x = (1 + np.abs(wide(x)) * 0.01).astype(x.dtype)
        expected = reduced(name, x, axes).astype(numpy_dtype(result))
        assert_matches(run(f"reduce_{name}(out, in0, axes={axes})", result, expected.shape, x), expected)


@pytest.mark.parametrize("axes", subsets(3))
@pytest.mark.parametrize("mode", MODES)
def test_every_set_of_axes(axes, mode):
    x = random_array("f32", (3, 4, 37))
    expected = reduced("sum", x, axes)
    assert_matches(run(f"reduce_sum(out, in0, axes={axes})", "f32", expected.shape, x, **mode), expected)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_nan_wins(name, axes):
    x = random_array("f32", (5, 70))
    x[2, 33] = x[3, 69] = np.nan
    expected = reduced(name, x, axes)
    assert_matches(run(f"reduce_{name}(out, in0, axes={axes})", "f32", expected.shape, x), expected)


@pytest.mark.parametrize("shape, axes", [((0, 5), (0,)), ((3, 0), (1,)), ((3, 0), (0, 1)), ((2, 0, 3), (1,))])
def test_nothing_sums_to_zero(shape, axes):
    x = random_array("f32", shape)
    expected = reduced("sum", x, axes)
    assert_matches(run(f"reduce_sum(out, in0, axes={axes})", "f32", expected.shape, x, threads=2), expected)


@pytest.mark.parametrize("m", [0, 1, 65])
@pytest.mark.parametrize("n", [0, 5, 5000])
@pytest.mark.parametrize("axes, shape", [((0,), ("N",)), ((1,), ("M",)), ((0, 1), ())])
def test_one_kernel_serves_every_size(m, n, axes, shape):
    x = random_array("f32", (m, n))
    result = run(
        f"reduce_sum(out, in0, axes={axes})", "f32", shape, x, shapes=[("M", "N")], sizes={"M": m, "N": n}, threads=2
    )
    assert_matches(result, reduced("sum", x, axes), 1e-4)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_sum_of_everything_does_not_depend_on_the_threads(threads):
    x = random_array("f32", (70001,))
    alone = run("reduce_sum(out, in0, axes=(0,))", "f32", (), x)
    assert run("reduce_sum(out, in0, axes=(0,))", "f32", (), x, threads=threads) == alone


@pytest.mark.parametrize("shape, axes", [((1_000_000,), (0,)), ((4, 250_000), (1,)), ((20_000, 40), (0,))])
def test_long_sums_stay_accurate(shape, axes):
    x = np.abs(random_array("f32", shape))
    expected = np.asarray(x.sum(axes, dtype=np.float64))
    result = run(f"reduce_sum(out, in0, axes={axes})", "f32", expected.shape, x, opt_level=3)
    assert np.max(np.abs(result - expected) / expected) < 2e-6


def searched(name: str, x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(getattr(np, name)(wide(x), axis)).astype(np.int64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions_find_the_first_place(dtype, name):
    for shape, axis in (((100,), 0), ((5, 37), 1), ((3, 4, 16), 1)):
        x = random_array(dtype, shape)
        expected = searched(name, x, axis)
        assert_matches(run(f"{name}(out, in0, axis={axis})", "i64", expected.shape, x), expected)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_arg_reductions_stop_at_the_first_nan(name, axis, mode):
    x = random_array("f32", (9, 37))
    x[4, 5] = x[4, 6] = x[7, 36] = x[8, 5] = np.nan
    x[2] = -np.inf
    expected = searched(name, x, axis)
    assert_matches(run(f"{name}(out, in0, axis={axis})", "i64", expected.shape, x, **mode), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", [((37,), 0), ((5, 33), 0), ((3, 4, 7), 1), ((2, 9), 1)])
def test_cumsum_adds_along_the_axis(dtype, shape, axis):
    x = random_array(dtype, shape)
    result = dtype if dtype in FLOATS else "i64"
    expected = np.cumsum(wide(x), axis, dtype=None if dtype in FLOATS else np.int64)
    tolerance = {"f16": 1e-2, "bf16": 5e-2}.get(dtype)
    for mode in MODES[:2]:
        assert_matches(run(f"cumsum(out, in0, axis={axis})", result, shape, x, **mode), expected, tolerance)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_extremes_survive(dtype):
    limits = np.iinfo(numpy_dtype(dtype))
    x = np.array([[limits.min, limits.max, 0] * 13], numpy_dtype(dtype))
    for name in ("max", "min"):
        expected = reduced(name, x, (1,))
        assert_matches(run(f"reduce_{name}(out, in0, axes=(1,))", dtype, (1,), x), expected)
