"""Elementwise ops mean what NumPy means by them, for every dtype the graph gives them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from compiler.graph.dtypes import from_numpy
from compiler.graph.ops.specs import SPECS
from compiler.language.library import default_library
from tests.kernels.harness import run_elementwise

BFLOAT16 = ml_dtypes.bfloat16
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8]
FLOATS = [np.float16, BFLOAT16, np.float32, np.float64]


def sample(dtype: type, seed: int = 0, count: int = 999) -> np.ndarray:
    """Random values, edge values first; an odd count leaves a tail after the vectors."""
    rng = np.random.default_rng(seed)
    if dtype is np.bool_:
        return rng.integers(0, 2, count).astype(bool)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
        edges = [limits.min, limits.max, 0, 1, 2]
    else:
        x = rng.normal(0, 4, count).astype(dtype)
        edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5]
    x[: len(edges)] = rng.permutation(np.array(edges).astype(dtype))
    return x


def same(result: np.ndarray, expected: np.ndarray, *, zeros: bool = True) -> None:
    """Equal bit for bit but for the payload of NaN, and for the sign of zeros where NumPy leaves it open."""
    assert result.dtype == expected.dtype
    if result.dtype.kind not in "biu":
        result, expected = result.astype(np.float64), expected.astype(np.float64)
        if zeros:
            np.testing.assert_array_equal(np.signbit(result[result == 0]), np.signbit(expected[expected == 0]))
    np.testing.assert_array_equal(result, expected)


def computed_wide(function: object, *arrays: np.ndarray) -> np.ndarray:
    """The op in f32 and rounded once, where the dtype is a 16-bit float."""
    narrow = arrays[0].dtype.itemsize == 2 and arrays[0].dtype != np.int16
    operands = [a.astype(np.float32) for a in arrays] if narrow else arrays
    with np.errstate(all="ignore"):
        result = function(*operands)  # pyright: ignore[reportCallIssue]
    return result.astype(arrays[0].dtype) if narrow and result.dtype != np.bool_ else result


EVERY_OP = [
    "abs", "neg", "exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "relu",
    "gelu", "silu", "floor", "ceil", "round", "trunc", "isnan", "isinf", "logical_not", "bitwise_not", "exp2",
    "log2", "expm1", "reciprocal", "square", "sign", "cast", "add", "sub", "mul", "div", "floordiv", "mod",
    "pow", "minimum", "maximum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and",
    "or", "xor", "where",
]  # fmt: skip


@pytest.mark.parametrize("op", EVERY_OP)
def test_the_library_has_an_elementwise_definition_of(op: str) -> None:
    definition = default_library().implementation(f"mo.{op}", SPECS[f"mo.{op}"].operands[0])
    assert definition is not None
    assert definition.kind == "elementwise"


SIGNED_UNARY = {"absolute": np.abs, "neg": np.negative, "square": np.square, "sign": np.sign}
ROUNDING = {"rounded_down": np.floor, "rounded_up": np.ceil, "rounded_to_zero": np.trunc, "rounded_to_even": np.rint}


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize(("name", "function"), SIGNED_UNARY.items())
def test_arithmetic_of_one_operand(name: str, function: np.ufunc, dtype: type) -> None:
    x = sample(dtype)
    same(run_elementwise(name, x), computed_wide(function, x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "function"), ROUNDING.items())
def test_rounding_of_floats(name: str, function: np.ufunc, dtype: type) -> None:
    x = sample(dtype)
    same(run_elementwise(name, x), computed_wide(function, x))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_leaves_whole_numbers_alone(name: str, dtype: type) -> None:
    x = sample(dtype)
    same(run_elementwise(name, x), x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_roots_and_reciprocals_of_floats(dtype: type) -> None:
    x = sample(dtype)
    one = np.float64(1) if dtype is np.float64 else np.float32(1)
    same(run_elementwise("square_root", x), computed_wide(np.sqrt, x))
    same(run_elementwise("reciprocal", x), computed_wide(lambda v: one / v, x))
    same(run_elementwise("rsqrt", x), computed_wide(lambda v: one / np.sqrt(v), x))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_relu_keeps_nan(dtype: type) -> None:
    x = sample(dtype)
    same(run_elementwise("relu", x), computed_wide(lambda v: np.maximum(v, v.dtype.type(0)), x), zeros=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_tests_for_nan_and_infinity(dtype: type) -> None:
    x = sample(dtype)
    same(run_elementwise("isnan", x, result="bool"), np.isnan(x))
    same(run_elementwise("isinf", x, result="bool"), np.isinf(x))


@pytest.mark.parametrize("dtype", [*INTEGERS, np.bool_])
def test_bits(dtype: type) -> None:
    a, b = sample(dtype), sample(dtype, 1)
    same(run_elementwise("bitwise_not", a), ~a)
    same(run_elementwise("bitwise_and", a, b), a & b)
    same(run_elementwise("bitwise_or", a, b), a | b)
    same(run_elementwise("bitwise_xor", a, b), a ^ b)
    same(run_elementwise("logical_not", a, result="bool"), np.logical_not(a))


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize(("name", "function"), BINARY.items())
def test_arithmetic_of_two_operands(name: str, function: np.ufunc, dtype: type) -> None:
    a, b = sample(dtype), sample(dtype, 1)
    same(run_elementwise(name, a, b), computed_wide(function, a, b), zeros=name not in ("minimum", "maximum"))


@pytest.mark.parametrize("name", ["add", "mul", "minimum", "maximum"])
def test_arithmetic_of_bools_is_logic(name: str) -> None:
    a, b = sample(np.bool_), sample(np.bool_, 1)
    same(run_elementwise(name, a, b), BINARY[name](a, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_division_of_floats(dtype: type) -> None:
    a, b = sample(dtype), sample(dtype, 1)
    same(run_elementwise("div", a, b), computed_wide(np.divide, a, b))


COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, np.bool_])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(name: str, dtype: type) -> None:
    a, b = sample(dtype), sample(dtype, 1)
    b[500:] = a[500:]
    same(run_elementwise(name, a, b, result="bool"), computed_wide(getattr(np, name), a, b))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, np.bool_])
def test_where_chooses_lane_by_lane(dtype: type) -> None:
    condition, a, b = sample(np.bool_, 2), sample(dtype), sample(dtype, 1)
    result = run_elementwise("where", condition, a, b, result=from_numpy(np.dtype(dtype)))
    same(result, np.where(condition, a, b))


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "gelu", "silu"])
def test_16_bit_floats_compute_in_f32_and_round_once(name: str, dtype: type) -> None:
    x = np.abs(sample(dtype)) if name == "log" else sample(dtype)
    with np.errstate(over="ignore"):
        expected = run_elementwise(name, x.astype(np.float32)).astype(dtype)
    same(run_elementwise(name, x), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_by_tanh_follows_its_formula(dtype: type) -> None:
    x = np.linspace(-12, 12, 4001).astype(dtype)
    v = x.astype(np.float64)
    expected = 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))
    absolute = 1e-10 if dtype is np.float32 else 1e-14  # for f64 the formula itself cancels
    result = run_elementwise("gelu", x, approximate="tanh")
    np.testing.assert_allclose(result, expected, rtol=8 * np.finfo(dtype).eps, atol=absolute)
