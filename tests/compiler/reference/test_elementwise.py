import math
import warnings

import ml_dtypes
import numpy as np
import pytest

from compiler.reference import REFERENCES

BF16 = ml_dtypes.bfloat16


def op(name, *arrays, **attrs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # references are silent about inf, nan and wraparound
        return REFERENCES[f"mo.{name}"](*arrays, **attrs)


@pytest.mark.parametrize(
    "name, formula",
    [
        ("exp", math.exp),
        ("exp2", lambda v: 2.0**v),
        ("expm1", math.expm1),
        ("sin", math.sin),
        ("cos", math.cos),
        ("tanh", math.tanh),
        ("erf", math.erf),
        ("sigmoid", lambda v: 1 / (1 + math.exp(-v))),
        ("silu", lambda v: v / (1 + math.exp(-v))),
        ("square", lambda v: v * v),
    ],
)
def test_unary_is_the_f64_value_rounded_once(name, formula):
    x = np.linspace(-4, 4, 41, dtype=np.float32)
    wanted = np.array([formula(float(v)) for v in x])
    got = op(name, x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted.astype(np.float32), rtol=1e-7)


@pytest.mark.parametrize(
    "name, formula",
    [
        ("log", math.log),
        ("log2", math.log2),
        ("log1p", math.log1p),
        ("sqrt", math.sqrt),
        ("rsqrt", lambda v: v**-0.5),
        ("reciprocal", lambda v: 1 / v),
    ],
)
def test_unary_of_positive_numbers(name, formula):
    x = np.geomspace(1e-3, 1e3, 31, dtype=np.float32)
    np.testing.assert_allclose(op(name, x), [formula(float(v)) for v in x], rtol=1e-6)


def test_gelu_exact_and_tanh():
    x = np.array([-6.0, -1.0, 0.0, 0.5, 3.0], dtype=np.float64)
    exact = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x]
    np.testing.assert_allclose(op("gelu", x, approximate="none"), exact, rtol=1e-14)
    tanh = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x]
    np.testing.assert_allclose(op("gelu", x, approximate="tanh"), tanh, rtol=1e-14)


def test_sixteen_bit_floats_compute_in_f32_and_round():
    for dtype in (np.float16, BF16):
        x = np.array([0.1, 1.7, -2.3], dtype=dtype)
        got = op("exp", x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.exp(x.astype(np.float32)).astype(dtype))


def test_floors_and_roundings():
    x = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], dtype=np.float32)
    np.testing.assert_array_equal(op("round", x), [-2, -0.0, 0, 2, 2])
    np.testing.assert_array_equal(op("floor", x), [-2, -1, 0, 1, 2])
    np.testing.assert_array_equal(op("ceil", x), [-1, -0.0, 1, 2, 3])
    np.testing.assert_array_equal(op("trunc", x), [-1, -0.0, 0, 1, 2])


def test_relu_sign_and_abs_keep_nan():
    x = np.array([np.nan, -2.0, -0.0, 3.0], dtype=np.float32)
    np.testing.assert_array_equal(op("relu", x), [np.nan, 0, 0, 3])
    np.testing.assert_array_equal(op("sign", x), [np.nan, -1, 0, 1])
    np.testing.assert_array_equal(op("abs", x), [np.nan, 2, 0, 3])


def test_integers_wrap_around():
    x = np.array([127, -128, 100], dtype=np.int8)
    np.testing.assert_array_equal(op("add", x, np.array([1, -1, 100], np.int8)), np.array([-128, 127, -56], np.int8))
    np.testing.assert_array_equal(op("neg", x), np.array([-127, -128, -100], np.int8))
    np.testing.assert_array_equal(op("mul", x, x), np.array([1, 0, 16], np.int8))
    assert op("add", x, x).dtype == np.int8


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8, np.uint8])
def test_integer_division_by_zero_is_zero(dtype):
    a, zero = np.array([7, 0], dtype), np.zeros(2, dtype)
    np.testing.assert_array_equal(op("floordiv", a, zero), [0, 0])
    np.testing.assert_array_equal(op("mod", a, zero), [0, 0])


def test_floor_division_and_remainder_follow_the_divisor():
    a, b = np.array([7, -7, 7, -7], np.int32), np.array([3, 3, -3, -3], np.int32)
    np.testing.assert_array_equal(op("floordiv", a, b), [2, -3, -3, 2])
    np.testing.assert_array_equal(op("mod", a, b), [1, 2, -2, -1])
    floats = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(op("floordiv", *floats), [2, -3, -3, 2])
    np.testing.assert_array_equal(op("mod", *floats), [1, 2, -2, -1])


def test_minimum_and_maximum_propagate_nan():
    a, b = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 3], np.float32)
    np.testing.assert_array_equal(op("maximum", a, b), [np.nan, np.nan, 3])
    np.testing.assert_array_equal(op("minimum", a, b), [np.nan, np.nan, 2])


def test_power_of_integers():
    a = np.array([2, 3, -1, 1, 0, -1], np.int32)
    b = np.array([10, 21, -3, -5, -1, -2], np.int32)
    wrapped = (3**21 + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(op("pow", a, b), [1024, wrapped, -1, 1, 0, 1])


def test_comparisons_give_bool_and_nan_is_unequal():
    a, b = np.array([1, np.nan, 2], BF16), np.array([1, np.nan, 1], BF16)
    truth = {"equal": [1, 0, 0], "not_equal": [0, 1, 1], "less": [0, 0, 0], "greater_equal": [1, 0, 1]}
    for name, wanted in truth.items():
        got = op(name, a, b)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, np.array(wanted, bool))


def test_and_or_xor_are_logical_on_bool_and_bitwise_on_integers():
    t, f = np.array([True, True, False]), np.array([True, False, False])
    np.testing.assert_array_equal(op("xor", t, f), [False, True, False])
    np.testing.assert_array_equal(op("and", np.array([6], np.uint8), np.array([3], np.uint8)), [2])
    np.testing.assert_array_equal(op("bitwise_not", np.array([5], np.int16)), [-6])
    np.testing.assert_array_equal(op("logical_not", t), ~t)


def test_cast_of_floats_to_integers_saturates():
    x = np.array([np.nan, np.inf, -np.inf, 1.9, -1.9, 1e20, -1e20, 300.0])
    np.testing.assert_array_equal(op("cast", x, dtype="i8"), np.array([0, 127, -128, 1, -1, 127, -128, 127], np.int8))
    np.testing.assert_array_equal(op("cast", x, dtype="u8"), np.array([0, 255, 0, 1, 0, 255, 0, 255], np.uint8))
    big = np.iinfo(np.int64)
    np.testing.assert_array_equal(op("cast", x, dtype="i64"), [0, big.max, big.min, 1, -1, big.max, big.min, 300])
    edge = np.array([-(2.0**63), 2.0**63])
    np.testing.assert_array_equal(op("cast", edge, dtype="i64"), [big.min, big.max])


def test_cast_of_integers_wraps_and_bool_is_nonzero():
    np.testing.assert_array_equal(op("cast", np.array([300, -1]), dtype="u8"), np.array([44, 255], np.uint8))
    np.testing.assert_array_equal(op("cast", np.array([0.0, -0.0, np.nan, 0.1]), dtype="bool"), [0, 0, 1, 1])
    got = op("cast", np.array([1.0, 3.1415926], np.float32), dtype="bf16")
    assert got.dtype == BF16
    np.testing.assert_array_equal(got.astype(np.float32), [1.0, 3.140625])


def test_where_selects():
    got = op("where", np.array([True, False]), np.array([1, 2], BF16), np.array([3, 4], BF16))
    assert got.dtype == BF16
    np.testing.assert_array_equal(got, np.array([1, 4], BF16))


@pytest.mark.parametrize("value, dtype, expected", [
    (3.7, "i64", 3), (-(2.0**63), "i64", -(2**63)), (-1.0, "u64", 0), (1e30, "u64", 2**64 - 1), (np.nan, "i64", 0),
])  # fmt: skip
def test_a_number_alone_is_cast_as_one_among_others(value, dtype, expected):
    for shape in ((), (2,)):
        assert (REFERENCES["mo.cast"](np.full(shape, value), dtype=dtype) == expected).all()
