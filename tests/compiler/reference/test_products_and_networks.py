import math

import ml_dtypes
import numpy as np
import pytest

from compiler.reference import REFERENCES

RNG = np.random.default_rng(1)


def op(name, *arrays, **attrs):
    return REFERENCES[f"mo.{name}"](*arrays, **attrs)


def uniform(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def test_matmul_of_f32_is_the_f64_product_rounded():
    a, b = uniform(2, 5, 70), uniform(2, 70, 4)
    wanted = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(op("matmul", a, b), wanted)


def test_matmul_of_bf16_accumulates_in_f32():
    a, b = uniform(3, 64).astype(ml_dtypes.bfloat16), uniform(64, 2).astype(ml_dtypes.bfloat16)
    got = op("matmul", a, b)
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got, (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16))


def test_matmul_of_integers_wraps():
    a = np.array([[100, 100]], np.int8)
    np.testing.assert_array_equal(op("matmul", a, a.T), np.array([[20000 % 256]], np.int8))


@pytest.mark.parametrize("stride", [(1, 1), (2, 1)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_is_the_sum_it_is_defined_by(stride, padding, dilation, groups):
    x, w = uniform(2, 4, 6, 7), uniform(6, 4 // groups, 3, 2)
    got = op("conv2d", x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    framed = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)).astype(np.float64)
    wanted = np.zeros(got.shape)
    for n, o, i, j in np.ndindex(*got.shape):
        first = (o // (6 // groups)) * (4 // groups)
        for c, p, q in np.ndindex(*w.shape[1:]):
            y, z = i * stride[0] + p * dilation[0], j * stride[1] + q * dilation[1]
            wanted[n, o, i, j] += framed[n, first + c, y, z] * w[o, c, p, q]
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


def test_conv2d_of_no_images_is_no_images():
    assert op("conv2d", uniform(0, 4, 6, 7), uniform(6, 2, 3, 2), groups=2).shape == (0, 6, 4, 6)


def test_softmax_sums_to_one_and_survives_large_values():
    x = np.array([[1000.0, 1000.0, -np.inf], [0.0, math.log(3), -np.inf]], np.float32)
    np.testing.assert_allclose(op("softmax", x, axis=-1), [[0.5, 0.5, 0], [0.25, 0.75, 0]], rtol=1e-6)
    np.testing.assert_allclose(np.exp(op("log_softmax", x, axis=1)), op("softmax", x, axis=1), rtol=1e-5)
    assert op("softmax", np.zeros((2, 0), np.float32), axis=1).shape == (2, 0)


def test_layer_norm_and_rms_norm():
    x, weight, bias = uniform(3, 16), uniform(16), uniform(16)
    wide = x.astype(np.float64)
    normed = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    got = op("layer_norm", x, weight, bias, eps=1e-5)
    np.testing.assert_allclose(got, normed * weight + bias, rtol=1e-5, atol=1e-6)
    rms = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(op("rms_norm", x, weight, eps=1e-6), rms * weight, rtol=1e-5)


def test_rope_rotates_pairs():
    angle = uniform(5, 4)
    cos, sin = np.cos(angle), np.sin(angle)
    x = uniform(2, 5, 8)
    halves = (x[..., :4] + 1j * x[..., 4:]) * np.exp(1j * angle)
    got = op("rope", x, cos, sin, interleaved=False)
    np.testing.assert_allclose(got, np.concatenate([halves.real, halves.imag], -1), rtol=1e-5, atol=1e-6)
    pairs = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    got = op("rope", x, cos, sin, interleaved=True)
    np.testing.assert_allclose(got[..., ::2], pairs.real, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[..., 1::2], pairs.imag, rtol=1e-5, atol=1e-6)


def attend(q, k, v, visible, scale):
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for place in np.ndindex(*q.shape[:-1]):
        head, row = place[:-1], place[-1]
        scores = np.where(visible[row], k[head] @ q[place] * scale, -np.inf)
        weights = np.exp(scores - scores.max())
        out[place] = weights / weights.sum() @ v[head]
    return out


def test_attention_plain_causal_and_masked():
    q, k, v = uniform(2, 3, 4, 8), uniform(2, 3, 5, 8), uniform(2, 3, 5, 6)
    every, causal = np.ones((4, 5), bool), np.tri(4, 5, dtype=bool)
    name, flags = "scaled_dot_product_attention", {"scale": None, "enable_gqa": False}
    got = op(name, q, k, v, is_causal=False, **flags)
    np.testing.assert_allclose(got, attend(q, k, v, every, 8**-0.5), rtol=1e-5, atol=1e-6)
    got = op(name, q, k, v, is_causal=True, **flags | {"scale": 0.7})
    np.testing.assert_allclose(got, attend(q, k, v, causal, 0.7), rtol=1e-5, atol=1e-6)
    masked = op(name, q, k, v, np.broadcast_to(causal, (2, 3, 4, 5)), is_causal=False, **flags)
    np.testing.assert_array_equal(masked, op(name, q, k, v, is_causal=True, **flags))
    added = np.where(causal, np.float32(0), np.float32(-np.inf))
    np.testing.assert_array_equal(op(name, q, k, v, added, is_causal=False, **flags), masked)


def test_attention_with_grouped_heads_repeats_keys_and_values():
    q, k, v = uniform(1, 6, 4, 8), uniform(1, 2, 4, 8), uniform(1, 2, 4, 8)
    name = "scaled_dot_product_attention"
    grouped = op(name, q, k, v, is_causal=True, scale=None, enable_gqa=True)
    full = op(name, q, np.repeat(k, 3, 1), np.repeat(v, 3, 1), is_causal=True, scale=None, enable_gqa=False)
    np.testing.assert_array_equal(grouped, full)


def test_attention_row_that_sees_nothing_is_zero():
    x = uniform(1, 2, 4)
    mask = np.array([[[False, False], [True, True]]])
    got = op("scaled_dot_product_attention", x, x, x, mask, is_causal=False, scale=None, enable_gqa=False)
    np.testing.assert_array_equal(got[0, 0], np.zeros(4))
    assert np.isfinite(got).all()


def test_max_pool_ignores_padding_and_keeps_nan():
    x = -np.ones((1, 1, 4, 4), np.float32)
    got = op("max_pool2d", x, kernel=(2, 2), stride=(2, 2), padding=(1, 1), dilation=(1, 1))
    np.testing.assert_array_equal(got, -np.ones((1, 1, 3, 3)))
    x[0, 0, 0, 0] = np.nan
    got = op("max_pool2d", x, kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))
    np.testing.assert_array_equal(got[0, 0], [[np.nan, -1], [-1, -1]])


def test_avg_pool_counts_padding_or_not():
    x = np.ones((1, 1, 2, 2), np.float32)
    flags = {"kernel": (2, 2), "stride": (1, 1), "padding": (1, 1)}
    corner = op("avg_pool2d", x, **flags, count_include_pad=True)
    np.testing.assert_array_equal(corner[0, 0], [[0.25, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 0.25]])
    np.testing.assert_array_equal(op("avg_pool2d", x, **flags, count_include_pad=False), np.ones((1, 1, 3, 3)))
