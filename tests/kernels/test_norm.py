"""layer_norm and rms_norm over the last axis."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.checked import FLOATS, MODES, assert_matches, random_array, run, wide


def expected_layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    x = wide(x)
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * wide(weight) + wide(bias)


def expected_rms_norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    x = wide(x)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * wide(weight)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1,), (7,), (5, 37), (3, 4, 16), (0, 4)])
def test_rows_of_any_shape(dtype, shape):
    x, weight, bias = random_array(dtype, shape), random_array(dtype, shape[-1:], 1), random_array(dtype, shape[-1:], 2)
    for mode in MODES[:2]:
        result = run("layer_norm(out, in0, in1, in2, eps=1e-5)", dtype, shape, x, weight, bias, **mode)
        assert_matches(result, expected_layer_norm(x, weight, bias))
        result = run("rms_norm(out, in0, in1, eps=1e-5)", dtype, shape, x, weight, **mode)
        assert_matches(result, expected_rms_norm(x, weight))


@pytest.mark.parametrize("m", [0, 1, 65])
@pytest.mark.parametrize("n", [1, 5, 129, 6000])
def test_one_kernel_serves_every_size(m, n):
    x, weight, bias = random_array("f32", (m, n)), random_array("f32", (n,), 1), random_array("f32", (n,), 2)
    result = run(
        "layer_norm(out, in0, in1, in2, eps=1e-5)", "f32", ("M", "N"), x, weight, bias,
        shapes=[("M", "N"), ("N",), ("N",)], sizes={"M": m, "N": n}, threads=2,
    )  # fmt: skip
    assert_matches(result, expected_layer_norm(x, weight, bias))


def test_a_large_mean_does_not_swallow_the_variance():
    x = random_array("f32", (2, 512)) + np.float32(1000)
    ones, zeros = np.ones(512, np.float32), np.zeros(512, np.float32)
    result = run("layer_norm(out, in0, in1, in2, eps=1e-5)", "f32", x.shape, x, ones, zeros, opt_level=3)
    assert_matches(result, expected_layer_norm(x.astype(np.float64), ones, zeros), 1e-3)
