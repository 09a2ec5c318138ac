"""max_pool2d and avg_pool2d: windows that hang over the edge, dilation, what padding counts for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.checked import FLOATS, INTEGERS, MODES, assert_matches, random_array, run, wide

CASES = [
    ((2, 3, 8, 9), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((1, 2, 11, 13), (3, 3), (2, 1), (1, 1), (1, 1)),
    ((1, 2, 11, 13), (3, 2), (1, 1), (1, 1), (2, 3)),
    ((1, 2, 7, 70), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((1, 1, 9, 171), (5, 5), (2, 2), (2, 2), (1, 1)),
    ((1, 1, 5, 80), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((1, 1, 6, 90), (2, 3), (1, 2), (0, 1), (1, 2)),
    ((1, 1, 6, 190), (2, 3), (1, 3), (0, 1), (1, 1)),
]


def windows(x, kernel, stride, padding, dilation):
    """(i, j, the part of x in the window), for every window."""
    sizes = [(x.shape[2 + k] + 2 * padding[k] - dilation[k] * (kernel[k] - 1) - 1) // stride[k] + 1 for k in (0, 1)]
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            taps = [
                [at * stride[k] - padding[k] + p * dilation[k] for p in range(kernel[k])] for k, at in enumerate((i, j))
            ]
            rows, columns = ([t for t in taps[k] if 0 <= t < x.shape[2 + k]] for k in (0, 1))
            yield i, j, x[:, :, rows][:, :, :, columns]


def pooled(x, kernel, stride, padding, dilation, value) -> np.ndarray:
    found = {(i, j): value(part) for i, j, part in windows(wide(x), kernel, stride, padding, dilation)}
    rows, columns = max(i for i, _ in found) + 1, max(j for _, j in found) + 1
    out = np.stack([np.stack([found[i, j] for j in range(columns)], -1) for i in range(rows)], -2)
    return out.astype(x.dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("case", CASES)
def test_max_pool2d(dtype, case):
    x = random_array(dtype, case[0])
    expected = pooled(x, *case[1:], lambda part: part.max((2, 3)))
    kernel, stride, padding, dilation = case[1:]
    call = f"max_pool2d(out, in0, kernel={kernel}, stride={stride}, padding={padding}, dilation={dilation})"
    assert_matches(run(call, dtype, expected.shape, x), expected)


def test_max_pool2d_keeps_nan():
    x = random_array("f32", (1, 1, 4, 4))
    x[0, 0, 1, 1] = np.nan
    call = "max_pool2d(out, in0, kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))"
    assert np.isnan(run(call, "f32", (1, 1, 2, 2), x)).ravel().tolist() == [True, False, False, False]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", [case for case in CASES if case[-1] == (1, 1)])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_avg_pool2d(dtype, case, count_include_pad):
    shape, kernel, stride, padding, dilation = case
    x = random_array(dtype, shape)

    def mean(part: np.ndarray) -> np.ndarray:
        count = kernel[0] * kernel[1] if count_include_pad else part.shape[2] * part.shape[3]
        return part.sum((2, 3)) / part.dtype.type(count)

    expected = pooled(x, kernel, stride, padding, dilation, mean)
    geometry = f"kernel={kernel}, stride={stride}, padding={padding}"
    call = f"avg_pool2d(out, in0, {geometry}, count_include_pad={count_include_pad})"
    for mode in MODES[:2]:
        assert_matches(run(call, dtype, expected.shape, x, **mode), expected)
