"""concat, pad, gather, tile, iota and rope: right at any position, along any axis, and never outside an input."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.graph.dtypes import numpy_dtype
from tests.kernels.checked import MODES, assert_matches, random_array, run, wide

SHAPE = (4, 5, 11)


def through_driver(value: str, dtype: str, shape: tuple[int | str, ...]) -> str:
    """The call that stores a pointwise value at every position."""
    return f"elementwise(out, FusedInput(lambda at: {value}, {dtype}, ({''.join(f'{n}, ' for n in shape)})))"


def with_axis(axis: int, size: int) -> tuple[int, ...]:
    return SHAPE[:axis] + (size,) + SHAPE[axis + 1 :]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat_joins_along_any_axis(dtype, axis):
    parts = [random_array(dtype, with_axis(axis, size), size) for size in (3, 0, 1, 9, 2)]
    expected = np.concatenate(parts, axis)
    call = through_driver(f"concatenate(at, in0, in1, in2, in3, in4, axis={axis})", dtype, expected.shape)
    for mode in MODES[:2]:
        assert_matches(run(call, dtype, expected.shape, *parts, **mode), expected)


@pytest.mark.parametrize("m", [0, 1, 3, 20])
def test_concat_finds_borders_at_run_time(m):
    x, y = random_array("f32", (2, m)), random_array("f32", (2, 5))
    call = through_driver("concatenate(at, in0, in1, in0, axis=1)", "f32", (2, "2*M+5"))
    result = run(call, "f32", (2, "2*M+5"), x, y, shapes=[(2, "M"), (2, 5)], sizes={"M": m}, threads=2)
    assert_matches(result, np.concatenate([x, y, x], 1))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8", "bool"])
@pytest.mark.parametrize(
    "low, high",
    [((3, 0, 0), (2, 0, 0)), ((0, 0, 3), (0, 0, 10)), ((1, 0, 2), (2, 3, 1)), ((0, 0, 0), (0, 0, 0))],
)
def test_pad_surrounds_with_the_value(dtype, low, high):
    x = random_array(dtype, SHAPE)
    expected = np.pad(x, list(zip(low, high, strict=True)), constant_values=np.asarray(1).astype(x.dtype))
    call = through_driver(f"pad(at, in0, low={low}, high={high}, value=1)", dtype, expected.shape)
    for mode in MODES[:2]:
        assert_matches(run(call, dtype, expected.shape, x, **mode), expected)


@pytest.mark.parametrize("m", [0, 1, 30])
def test_pad_of_an_unknown_size(m):
    x = random_array("f32", (2, m))
    call = through_driver("pad(at, in0, low=(0, 2), high=(0, 3), value=-1.5)", "f32", (2, "M+5"))
    result = run(call, "f32", (2, "M+5"), x, shapes=[(2, "M")], sizes={"M": m})
    assert_matches(result, np.pad(x, ((0, 0), (2, 3)), constant_values=-1.5))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (7,), (2, 6)])
def test_gather_takes_as_numpy_takes(axis, shape):
    x = random_array("f32", SHAPE)
    indices = np.random.default_rng(1).integers(-SHAPE[axis], SHAPE[axis], shape)
    expected = np.take(x, indices, axis)
    call = through_driver(f"gather(at, in0, in1, axis={axis})", "f32", expected.shape)
    for mode in MODES[:2]:
        assert_matches(run(call, "f32", expected.shape, x, np.asarray(indices), **mode), expected)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_gather_clamps_and_survives_an_empty_source(m):
    x = random_array("f32", (2, m))
    indices = np.array([0, 1, -1, 50, -50], np.int32)
    call = through_driver("gather(at, in0, in1, axis=1)", "f32", (2, 5))
    result = run(call, "f32", (2, 5), x, indices, shapes=[(2, "M"), (5,)], sizes={"M": m})
    wrapped = np.clip(np.where(indices < 0, indices + m, indices), 0, max(m - 1, 0))
    assert_matches(result, np.take(x, wrapped, 1) if m else np.zeros((2, 5), np.float32))


@pytest.mark.parametrize("repeats", [(3, 1, 1), (1, 1, 3), (2, 3, 2)])
def test_tile_repeats_each_axis(repeats):
    x = random_array("f32", SHAPE)
    expected = np.tile(x, repeats)
    call = through_driver(f"tile(at, in0, repeats={repeats})", "f32", expected.shape)
    for mode in MODES[:2]:
        assert_matches(run(call, "f32", expected.shape, x, **mode), expected)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64", "u8"])
@pytest.mark.parametrize("axis", [0, 1])
def test_iota_counts_along_its_axis(dtype, axis):
    expected = np.indices((9, 10))[axis].astype(numpy_dtype(dtype))
    call = through_driver(f"count_along(at, shape=(9, 10), axis={axis}, dtype={dtype})", dtype, (9, 10))
    assert_matches(run(call, dtype, (9, 10)), expected)


def rotated(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, interleaved: bool) -> np.ndarray:
    half = x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    a, b = first * cos - second * sin, second * cos + first * sin
    return np.stack([a, b], -1).reshape(x.shape) if interleaved else np.concatenate([a, b], -1)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("size", [2, 22, 64])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_rope_turns_pairs(interleaved, size, dtype):
    x = random_array(dtype, (2, 3, 7, size))
    cos, sin = random_array(dtype, (7, size // 2), 1), random_array(dtype, (7, size // 2), 2)
    expected = rotated(wide(x), wide(cos), wide(sin), interleaved)
    value = f"rope(at, in0, in1, in2, interleaved={interleaved}, result={dtype})"
    for mode in MODES[:2]:
        assert_matches(run(through_driver(value, dtype, x.shape), dtype, x.shape, x, cos, sin, **mode), expected)
    turned = f"elementwise(out, transpose(FusedInput(lambda at: {value}, {dtype}, {x.shape}), perm=(0, 1, 3, 2)))"
    flipped = expected.swapaxes(-1, -2)
    assert_matches(run(turned, dtype, flipped.shape, x, cos, sin), flipped)
