"""softmax and log_softmax along any axis."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.checked import FLOATS, MODES, assert_matches, random_array, run, wide


def expected_softmax(x: np.ndarray, axis: int, logarithm: bool) -> np.ndarray:
    x = wide(x)
    shifted = x - x.max(axis, keepdims=True, initial=-np.inf)
    total = np.exp(shifted).sum(axis, keepdims=True)
    return shifted - np.log(total) if logarithm else np.exp(shifted) / total


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axis", [((7,), 0), ((5, 37), 1), ((5, 37), 0), ((3, 4, 16), 1)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_any_axis_in_any_dtype(dtype, shape, axis, name):
    x = random_array(dtype, shape)
    expected = expected_softmax(x, axis, name == "log_softmax")
    for mode in MODES[:2]:
        assert_matches(run(f"{name}(out, in0, axis={axis})", dtype, shape, x, **mode), expected)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("mode", MODES)
def test_rows_too_long_for_the_stack(name, mode):
    x = random_array("f32", (3, 5000))
    expected = expected_softmax(x, 1, name == "log_softmax")
    assert_matches(run(f"{name}(out, in0, axis=1)", "f32", x.shape, x, **mode), expected)


@pytest.mark.parametrize("m", [0, 1, 65])
@pytest.mark.parametrize("n", [0, 1, 5, 129])
@pytest.mark.parametrize("axis", [0, 1])
def test_one_kernel_serves_every_size(m, n, axis):
    x = random_array("f32", (m, n))
    result = run(
        f"softmax(out, in0, axis={axis})", "f32", ("M", "N"), x, shapes=[("M", "N")], sizes={"M": m, "N": n}, threads=2
    )
    assert_matches(result, expected_softmax(x, axis, False))


def test_large_values_do_not_overflow_and_masked_rows_are_nan():
    x = np.array([[1e30, 1e30, -1e30], [-np.inf, 0, 0], [-np.inf] * 3], np.float32)
    result = run("softmax(out, in0, axis=1)", "f32", (3, 3), x)
    assert_matches(result, np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [np.nan] * 3], np.float32))
