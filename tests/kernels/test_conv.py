"""conv2d: strides, padding, dilation, groups; through panels and, for few channels a group, directly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.checked import FLOATS, INTEGERS, MODES, Shape, assert_matches, random_array, run, wide

TOLERANCES = {"f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}


def expected_conv2d(x, w, stride, padding, dilation, groups) -> np.ndarray:
    dtype = x.dtype
    x, w = wide(x), wide(w)
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    sizes = [
        (x.shape[2 + k] + 2 * padding[k] - dilation[k] * (w.shape[2 + k] - 1) - 1) // stride[k] + 1 for k in (0, 1)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    outputs, inputs = w.shape[0] // groups, w.shape[1]
    for group in range(groups):
        o, c = slice(group * outputs, (group + 1) * outputs), slice(group * inputs, (group + 1) * inputs)
        for p in range(w.shape[2]):
            for q in range(w.shape[3]):
                rows = slice(p * dilation[0], p * dilation[0] + stride[0] * (sizes[0] - 1) + 1, stride[0])
                columns = slice(q * dilation[1], q * dilation[1] + stride[1] * (sizes[1] - 1) + 1, stride[1])
                out[:, o] += np.einsum("nchw,oc->nohw", padded[:, c, rows, columns], w[o, :, p, q])
    return out.astype(dtype)


CASES = [
    ((1, 3, 8, 9), (8, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 10, 7), (12, 2, 3, 2), (2, 1), (1, 0), (1, 2), 2),
    ((1, 6, 9, 40), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), 6),
    ((1, 6, 9, 40), (12, 1, 5, 3), (2, 2), (2, 1), (1, 1), 6),
    ((2, 5, 6, 6), (9, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((1, 1, 5, 5), (1, 1, 3, 3), (1, 1), (2, 2), (1, 1), 1),
    ((1, 2, 4, 4), (5, 2, 2, 2), (3, 3), (3, 3), (2, 2), 1),
    ((1, 64, 14, 14), (32, 64, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((0, 3, 5, 5), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
]


def call(stride, padding, dilation, groups) -> str:
    return f"conv2d(out, in0, in1, stride={stride}, padding={padding}, dilation={dilation}, groups={groups})"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_every_geometry(case, mode):
    x, w = random_array("f32", case[0]), random_array("f32", case[1], 1)
    expected = expected_conv2d(x, w, *case[2:])
    assert_matches(run(call(*case[2:]), "f32", expected.shape, x, w, **mode), expected, 1e-4)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("case", [CASES[0], CASES[2]])
def test_every_dtype(dtype, case):
    x, w = random_array(dtype, case[0]), random_array(dtype, case[1], 1)
    expected = expected_conv2d(x, w, *case[2:])
    assert_matches(run(call(*case[2:]), dtype, expected.shape, x, w), expected, TOLERANCES.get(dtype))


@pytest.mark.parametrize("height, width", [(5, 5), (9, 17), (30, 31)])
@pytest.mark.parametrize("weights, groups", [((8, 4, 3, 3), 1), ((4, 1, 3, 3), 4)])
def test_one_kernel_serves_every_image(height, width, weights, groups):
    x, w = random_array("f32", (2, 4, height, width)), random_array("f32", weights, 1)
    geometry = ((2, 2), (1, 1), (1, 1), groups)
    shape: Shape = (2, weights[0], "(H-1)//2 + 1", "(W-1)//2 + 1")
    shapes: list[Shape] = [(2, 4, "H", "W"), weights]
    result = run(call(*geometry), "f32", shape, x, w, shapes=shapes, sizes={"H": height, "W": width}, threads=2)
    assert_matches(result, expected_conv2d(x, w, *geometry), 1e-4)
