import numpy as np
import pytest

from compiler.errors import ExecutionError
from compiler.reference import REFERENCES


def op(name, *arrays, **attrs):
    return REFERENCES[f"mo.{name}"](*arrays, **attrs)


def test_sum_of_f32_is_the_f64_sum_rounded():
    x = np.concatenate([[1e8], np.full(1000, 0.1), [-1e8]]).astype(np.float32)
    got = op("reduce_sum", x, axes=(0,))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, 100.0, rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean"])
def test_reductions_over_several_axes(name):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4, 5))
    np.testing.assert_allclose(op(f"reduce_{name}", x, axes=(0, 2)), getattr(np, name)(x, axis=(0, 2)), rtol=1e-14)


def test_integers_keep_their_dtype_and_wrap():
    x = np.array([100, 100], np.int8)
    got = op("reduce_sum", x, axes=(0,))
    assert got.dtype == np.int8 and got == -56


def test_empty_reductions_give_the_identity_or_say_there_is_none():
    x = np.zeros((2, 0), np.float32)
    np.testing.assert_array_equal(op("reduce_sum", x, axes=(1,)), [0, 0])
    np.testing.assert_array_equal(op("reduce_prod", x, axes=(1,)), [1, 1])
    assert np.isnan(op("reduce_mean", x, axes=(1,))).all()
    for name, where in [("reduce_max", {"axes": (1,)}), ("reduce_min", {"axes": (1,)}), ("argmax", {"axis": 1})]:
        with pytest.raises(ExecutionError, match=r"axis 1 of shape \(2, 0\).*empty axis"):
            op(name, x, **where)


def test_max_propagates_nan_and_argmax_finds_it():
    x = np.array([[1, np.nan, 3], [4, 4, 2]], np.float32)
    np.testing.assert_array_equal(op("reduce_max", x, axes=(1,)), [np.nan, 4])
    got = op("argmax", x, axis=1)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, [1, 0])
    np.testing.assert_array_equal(op("argmin", x, axis=1), [1, 2])


def test_cumsum_along_an_axis():
    x = np.arange(6, dtype=np.float16).reshape(2, 3)
    got = op("cumsum", x, axis=1)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, [[0, 1, 3], [3, 7, 12]])
