"""What the mathematical functions give where no error bound speaks: zeros, infinities, NaN, the edges of the range."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernels.harness import CompiledSource, run_elementwise

INF, NAN = np.inf, np.nan
FLOATS = [np.float32, np.float64]
UNARY = {
    "exp": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (1e30, INF), (-1e30, 0)],
    "exp2": [(0, 1), (10, 1024), (-3, 0.125), (INF, INF), (-INF, 0), (1e30, INF), (-1e30, 0)],
    "expm1": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (1e30, INF), (-1e30, -1)],
    "log": [(1, 0), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN), (-INF, NAN)],
    "log2": [(1, 0), (8, 3), (0.125, -3), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN), (-INF, NAN)],
    "log1p": [(0, 0), (-0.0, -0.0), (-1, -INF), (INF, INF), (-2, NAN), (-INF, NAN)],
    "sin": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)],
    "tanh": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e30, 1), (-1e30, -1)],
    "erf": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e30, 1), (-1e30, -1)],
    "sigmoid": [(0, 0.5), (INF, 1), (-INF, 0), (1e30, 1), (-1e30, 0)],
    "gelu": [(0, 0), (-0.0, -0.0), (INF, INF), (1e30, 1e30), (-1e30, -0.0), (-INF, NAN)],
    "silu": [(0, 0), (-0.0, -0.0), (INF, INF), (1e30, 1e30), (-1e30, -0.0), (-INF, NAN)],
}


def assert_same(result: np.ndarray, expected: np.ndarray) -> None:
    """Equal, NaN for NaN, and zeros with the same sign."""
    np.testing.assert_array_equal(result, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_special_values_of(name: str, dtype: type) -> None:
    x, expected = np.array([*UNARY[name], (NAN, NAN)], dtype).T
    assert_same(run_elementwise(name, np.ascontiguousarray(x)), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["expm1", "log1p", "sin", "tanh"])
def test_the_smallest_numbers_are_fixed_points_of(name: str, dtype: type) -> None:
    x = np.finfo(dtype).smallest_subnormal * np.array([1, -1, 2, 3, -7, 1001], dtype)
    assert_same(run_elementwise(name, x), x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_two_are_exact_down_to_the_smallest(dtype: type) -> None:
    limits = np.finfo(dtype)
    n = np.arange(int(limits.minexp) - int(limits.nmant), int(limits.maxexp))
    powers = np.ldexp(dtype(1), n)
    assert_same(run_elementwise("exp2", n.astype(dtype)), powers)
    assert_same(run_elementwise("log2", powers), n.astype(dtype))
    assert_same(run_elementwise("pow", np.full(n.shape, 2, dtype), n.astype(dtype)), powers)


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values_of_pow_are_numpys(dtype: type) -> None:
    limits = np.finfo(dtype)
    values = [0, 1, 2, 3, 0.5, 2.5, 7, 1e20, 2**23 + 1, 2**24, INF, limits.max, limits.tiny, limits.smallest_subnormal]
    some = np.array([*values, *(-v for v in values), NAN], dtype)
    x, y = (np.ascontiguousarray(v).reshape(-1) for v in np.meshgrid(some, some))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    result = run_elementwise("pow", x, y)
    exact = ~np.isfinite(expected) | (expected == 0) | (expected == 1)
    assert_same(result[exact], expected[exact])
    np.testing.assert_allclose(result, expected, rtol=2 * float(limits.eps), atol=0)


@pytest.mark.parametrize("width", [1, 3])
def test_a_large_angle_does_not_disturb_its_neighbours(width: int) -> None:
    x = np.array([1e30, 0.5, INF, -2.0, 1e6, NAN, 3.0] * 5, np.float32)[: 35 // width]
    with np.errstate(all="ignore"):
        expected = np.sin(x.astype(np.float64))
    np.testing.assert_allclose(run_elementwise("sin", x), expected, rtol=3e-7)


ALLOWED = {"fma", "sqrt", "floor", "ceil", "trunc", "roundeven", "fabs", "copysign", "minimum", "maximum", "fptosi",
           "fptoui", "smax", "smin", "umax", "umin", "vector"}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", [*UNARY, "pow", "mod", "floordiv"])
def test_nothing_outside_the_kernel_is_called_by(name: str, dtype: str) -> None:
    """Only intrinsics that are instructions: no C library, no LLVM function that becomes a call to one."""
    operands = ["in0", "in1"] if name in ("pow", "mod", "floordiv") else ["in0"]
    arguments = ", ".join(f"{operand}: Tensor[{dtype}, (64,)]" for operand in operands)
    source = (
        f"@kernel\ndef kernel(out0: Tensor[{dtype}, (64,)], {arguments}):\n"
        f"    def input0(at):\n        return {name}({', '.join(f'{operand}[at]' for operand in operands)})\n"
        f"    elementwise(out0, FusedInput(input0, {dtype}, (64,)))\n"
    )
    text = CompiledSource(source).llvm
    declared = re.findall(r"^declare .*?@([\w.]+)\(", text, re.MULTILINE)
    declared = [name for name in declared if not name.startswith("llvm.x86.avx512.mask.scalef.")]  # one instruction
    assert all(name.startswith("llvm.") and name.split(".")[1] in ALLOWED for name in declared), declared
