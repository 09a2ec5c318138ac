import ml_dtypes
import numpy as np
import pytest

from compiler.errors import ExecutionError
from compiler.reference import REFERENCES


def op(name, *arrays, **attrs):
    return REFERENCES[f"mo.{name}"](*arrays, **attrs)


GRID = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_reshape_transpose_and_broadcast():
    np.testing.assert_array_equal(op("reshape", GRID, shape=(2, 12)), GRID.reshape(2, 12))
    np.testing.assert_array_equal(op("transpose", GRID, perm=(1, 0)), GRID.T)
    wanted = np.broadcast_to(GRID[:, :1], (3, 4, 6))
    np.testing.assert_array_equal(op("broadcast_to", GRID[:, :1], shape=(3, 4, 6)), wanted)


def test_slices_step_forwards_and_backwards():
    np.testing.assert_array_equal(op("slice", GRID, starts=(1, 0), steps=(2, 1), shape=(2, 3)), GRID[1:4:2, :3])
    np.testing.assert_array_equal(op("slice", GRID, starts=(3, 5), steps=(-1, -2), shape=(4, 3)), GRID[::-1, ::-2])
    assert op("slice", GRID, starts=(4, 0), steps=(1, 1), shape=(0, 6)).shape == (0, 6)


def test_concat_pad_and_tile():
    np.testing.assert_array_equal(op("concat", GRID, GRID[:1], axis=0), np.vstack([GRID, GRID[:1]]))
    padded = op("pad", GRID, low=(1, 0), high=(0, 2), value=-1.0)
    np.testing.assert_array_equal(padded, np.pad(GRID, ((1, 0), (0, 2)), constant_values=-1))
    assert padded.dtype == np.float32
    np.testing.assert_array_equal(op("tile", GRID, repeats=(2, 1)), np.tile(GRID, (2, 1)))


def test_pad_of_bf16_keeps_its_dtype():
    got = op("pad", np.ones(2, ml_dtypes.bfloat16), low=(1,), high=(0,), value=0.5)
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got.astype(np.float32), [0.5, 1, 1])


def test_gather_wraps_negative_indices_then_clamps():
    got = op("gather", GRID, np.array([[0, -1], [-100, 100]], np.int32), axis=1)
    np.testing.assert_array_equal(got, GRID[:, [[0, 5], [0, 5]]])


def test_gather_from_nothing_is_an_error_unless_nothing_is_asked():
    empty = np.zeros((0, 3), np.float32)
    assert op("gather", empty, np.zeros((0,), np.int64), axis=0).shape == (0, 3)
    with pytest.raises(ExecutionError, match="empty axis"):
        op("gather", empty, np.zeros((1,), np.int64), axis=0)


def test_iota_counts_along_its_axis():
    np.testing.assert_array_equal(op("iota", shape=(2, 3), axis=1, dtype="i32"), [[0, 1, 2], [0, 1, 2]])
    assert op("iota", shape=(2, 3), axis=0, dtype="bf16").dtype == ml_dtypes.bfloat16
