"""Operators on run-time values, against NumPy: every operator, every dtype, scalars and vectors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph.dtypes import numpy_dtype
from tests.compiler.language.drive import DTYPES, FLOATS, INTEGERS, SIGNED, body_error, ir, run, scalar

WIDTH = 8
SPECIAL = [0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 65504.0, 1e-7, np.inf, -np.inf, np.nan]


def samples(dtype: str, seed: int = 0) -> np.ndarray:
    """Values where arithmetic is hard: limits, zeros of both signs, NaN, and random ones."""
    kind = numpy_dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, WIDTH).astype(kind)
    if dtype in FLOATS:
        return np.array(rng.choice([*SPECIAL, *rng.normal(0, 5, 12)], WIDTH)).astype(kind)
    limits = np.iinfo(kind)
    edges = [limits.min, limits.max, 0, 1, 2, limits.max - 1, *rng.integers(limits.min, limits.max, 6, dtype=kind)]
    return rng.choice(np.array(edges, kind), WIDTH)


def lanewise(expression: str, result: str, *inputs: np.ndarray) -> np.ndarray:
    """The expression over x, y, z: as one vector, and element by element, which must agree."""
    names = "xyz"[: len(inputs)]
    loads = "; ".join(f"{n} = {'abc'[k]}.load(0, width={WIDTH})" for k, n in enumerate(names))
    vector = run(f"{loads}; out.store({expression}, 0)", (result, (WIDTH,)), *inputs)
    single = "\n    ".join(f"{n} = {'abc'[k]}[i]" for k, n in enumerate(names))
    scalars = run(f"for i in range({WIDTH}):\n    {single}\n    out[i] = {expression}", (result, (WIDTH,)), *inputs)
    np.testing.assert_array_equal(bits(vector), bits(scalars))
    return vector


def bits(array: np.ndarray) -> np.ndarray:
    """Equal NaNs are equal; zeros of unlike sign are not."""
    clean = np.where(np.isnan(array), np.array(np.nan, array.dtype), array) if array.dtype.kind in "fV" else array
    return clean.view(f"u{array.dtype.itemsize}") if array.dtype.kind != "b" else clean


def same(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(bits(result), bits(expected.astype(result.dtype)))


EXACT = [(dtype, sign) for dtype in FLOATS for sign in ("+", "-", "*", "/")] + [
    (dtype, sign) for dtype in INTEGERS for sign in ("+", "-", "*", "&", "|", "^")
]


@pytest.mark.parametrize(("dtype", "sign"), EXACT)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_floats_round_once_and_integers_wrap_around(dtype, sign, seed):
    x, y = samples(dtype, seed), samples(dtype, seed + 1)
    with np.errstate(all="ignore"):
        expected = eval(f"x {sign} y", {"x": x, "y": y})
    same(lanewise(f"x {sign} y", dtype, x, y), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("sign", ["//", "%"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_integer_division_floors(dtype, sign, seed):
    x, y = samples(dtype, seed), samples(dtype, seed + 1)
    y[(y == 0) | (y == -1 if dtype in SIGNED else False)] = 3  # 0, and the one quotient that does not fit
    same(lanewise(f"x {sign} y", dtype, x, y), np.floor_divide(x, y) if sign == "//" else np.mod(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype):
    x = samples(dtype, 3)
    width = x.dtype.itemsize * 8
    by = (np.arange(WIDTH) % width).astype(x.dtype)
    same(lanewise("x << y", dtype, x, by), np.left_shift(x, by))
    same(lanewise("x >> y", dtype, x, by), np.right_shift(x, by))  # arithmetic for signed, logical for u8
    unsigned = x.view(f"u{x.dtype.itemsize}")
    same(lanewise("lshr(x, y)", dtype, x, by), (unsigned >> by.view(unsigned.dtype)).view(x.dtype))
    assert "the distance must be from 0 to 31" in body_error("y = o[0].bits(i32) >> 32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(dtype, sign):
    x, y = samples(dtype, 5), samples(dtype, 6)
    y[::3] = x[::3]
    with np.errstate(invalid="ignore"):
        expected = eval(f"x {sign} y", {"x": x, "y": y})
    same(lanewise(f"x {sign} y", "bool", x, y), expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_negation_and_complement(dtype):
    x = samples(dtype, 9)
    same(lanewise("-x", dtype, x), np.negative(x))
    same(lanewise("+x", dtype, x), x)
    if dtype in INTEGERS:
        same(lanewise("~x", dtype, x), np.invert(x))


def test_boolean_logic():
    x, y = np.array([0, 0, 1, 1] * 2, bool), np.array([0, 1, 0, 1] * 2, bool)
    same(lanewise("x & y", "bool", x, y), x & y)
    same(lanewise("x | y", "bool", x, y), x | y)
    same(lanewise("x ^ y", "bool", x, y), x ^ y)
    same(lanewise("~x", "bool", x), ~x)
    same(lanewise("not x", "bool", x), ~x)
    same(lanewise("x and y", "bool", x, y), x & y)
    same(lanewise("x or y or x", "bool", x, y), x | y)
    same(lanewise("x == y", "bool", x, y), x == y)


def test_and_or_follow_python_on_what_is_known():
    assert scalar("(1 and 2) * 10 + (0 or 7)") == 27
    assert scalar("len((0 and 5, 3 or 4, None or 6, () or (1,)))") == 4
    assert scalar("select(a[0] and True, 1, 2).cast(i64)", "i64", np.array([True])) == 1
    assert scalar("3 if (a[0] and False) is False else 4", "i64", np.array([True])) == 3  # decided without a[0]
    assert scalar("select(False or a[0], 1, 2).cast(i64)", "i64", np.array([False])) == 2
    assert "need bools" in body_error("x = index(3)\ny = x and x")


def test_chained_comparison():
    x = np.array([-1, 0, 3, 9], np.int64)
    np.testing.assert_array_equal(
        run("for i in range(4):\n    out[i] = 0 <= a[i] < 4", ("bool", (4,)), x), (x >= 0) & (x < 4)
    )
    assert scalar("10 if 1 < 2 < 3 else 20") == 10
    assert scalar("10 if 1 < 2 > 3 else 20") == 20


def test_literals_take_the_other_sides_dtype_and_width():
    for dtype in FLOATS:
        x = samples(dtype, 4)
        with np.errstate(all="ignore"):
            same(lanewise("x * 0.1 + 1", dtype, x), x * np.array(0.1, x.dtype) + np.array(1, x.dtype))
            same(lanewise("1 - x", dtype, x), np.array(1, x.dtype) - x)
    x = np.arange(WIDTH, dtype=np.uint8)
    same(lanewise("x + 255", "u8", x), x + np.uint8(255))
    same(lanewise("2.0 * x", "u8", x), 2 * x)
    same(lanewise("x & -1", "u8", x), x)
    assert "0.5 does not fit u8" in body_error("x = o[0].cast(u8) * 0.5")
    assert "300 does not fit i8" in body_error("x = o[0].cast(i8) + 300")
    assert "does not fit f32" in body_error("x = o[0] * 10 ** 400")


def test_rounding_of_literals_is_that_of_the_dtype():
    for dtype in FLOATS:
        kind = numpy_dtype(dtype)
        got = run(f"out[0] = {dtype}(0.1); out[1] = {dtype}(-0.0); out[2] = {dtype}({dtype}.nan)", (dtype, (3,)))
        same(got, np.array([0.1, -0.0, np.nan]).astype(kind))


def test_scalars_widen_but_widths_never_mix():
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run("out.store(a.load(0, width=4) + a[3], 0)", ("f32", (4,)), x), x + 3)
    np.testing.assert_array_equal(run("out.store(a[3] - a.load(0, width=4), 0)", ("f32", (4,)), x), 3 - x)
    assert "different widths" in body_error("x = o.load(0, width=4) + o.load(0, width=8)")


@pytest.mark.parametrize(
    "left, right",
    [
        ("f32", "f64"),
        ("f32", "f16"),
        ("f16", "bf16"),
        ("i32", "i64"),
        ("u8", "i8"),
        ("index", "i64"),
        ("index", "i32"),
        ("bool", "u8"),
        ("f32", "i32"),
    ],
)
def test_dtypes_never_mix_silently(left, right):
    message = body_error(f"x = {left}(1)\ny = {right}(1)\nz = select(o[0] > 0, x, y)")
    assert message.startswith("3:5: ") and "do not mix; cast one of them" in message
    if "bool" not in (left, right):
        assert "do not mix" in body_error(f"z = {left}(1) + {right}(1)")
        assert "do not mix" in body_error(f"z = {left}(1) < {right}(1)")
        assert "do not mix" in body_error(f"z = max({left}(1), {right}(1))")


@pytest.mark.parametrize(
    "expression, message",
    [
        ("o[0] // 2.0", "// is not defined for f32"),
        ("o[0] % 2.0", "% is not defined for f32"),
        ("o[0] ** 2", "** is not defined for f32"),
        ("o[0] << 1", "<< is not defined for f32"),
        ("o[0] & 1", "& is not defined for f32"),
        ("~o[0]", "~ is not defined for f32"),
        ("i32(1) / i32(2)", "/ is not defined for i32"),
        ("bool(1) + bool(1)", "+ is not defined for bool"),
        ("-bool(1)", "a bool has no negative"),
        ("not o[0]", "`not` needs a bool"),
        ("i32(7) // 0", "division by zero"),
        ("o[0] @ o[0]", "@ is not defined"),
        ("o[0] + 'a'", "do not mix"),
        ("o[0] + None", "do not mix"),
        ("o[0] + (1, 2)", "do not mix"),
        ("o[0] < None", "do not mix"),
        ("o[0] + f32", "do not mix"),
        ("o[0] + o", "do not mix"),
    ],
)
def test_operators_that_do_not_apply(expression, message):
    problem = body_error(f"x = {expression}")
    assert problem.startswith("1:5: ") and message in problem


def test_equality_with_what_is_no_number_is_known():
    assert scalar("1 if a[0] == None else 2", "i64", np.zeros(1, np.float32)) == 2
    assert scalar("1 if a[0] != 'x' else 2", "i64", np.zeros(1, np.float32)) == 1
    assert scalar("1 if a.dtype == f32 else 2", "i64", np.zeros(1, np.float32)) == 1


def test_select_and_conditional_expressions():
    x = samples("f32", 1)
    same(lanewise("x if x > 0 else -x", "f32", x), np.where(x > 0, x, -x))
    same(lanewise("select(x != x, 0.0, x)", "f32", x), np.where(np.isnan(x), np.float32(0), x))
    vector = run(
        "v = a.load(0, width=4)\nout.store(select(a[0] > 0, v, -v), 0)", ("f32", (4,)), np.float32([1, 2, 3, 4])
    )
    np.testing.assert_array_equal(vector, [1, 2, 3, 4])  # one condition for all lanes
    lanes = run("out.store(select(a.load(0, width=4) > 2, f32(1), 0.5), 0)", ("f32", (4,)), np.float32([1, 2, 3, 4]))
    np.testing.assert_array_equal(lanes, [0.5, 0.5, 1, 1])  # one value for each of two conditions
    assert scalar("(3 if a[0] > 0 else 4).cast(i64)", "i64", np.float32([1])) == 3
    assert "give one of them a dtype" in body_error("x = 0.5 if o[0] > 0 else 1.5")
    assert "condition of select must be bool" in body_error("x = 1 if o[0] else 2")
    assert "the condition has 4 lanes, the values 2" in body_error(
        "x = select(o.load(0, width=4) > 0, o.load(0, width=2), o.load(2, width=2))"
    )


def test_positions_of_known_sign_divide_without_looking_at_it():
    text = ir("for i in range(N):\n    o[i // 4] = 1.0\n    o[(i - 9) // 4 + 9] = 2.0")
    assert text.count("arith.divui") == 1 and text.count("arith.floordivsi") == 1
    x = np.arange(-9, 9)
    np.testing.assert_array_equal(
        run("for i in range(18):\n    out[i] = ((i - 9) // 4).cast(i64)", ("i64", (18,))), x // 4
    )
    np.testing.assert_array_equal(
        run("for i in range(18):\n    out[i] = ((i - 9) % 4).cast(i64)", ("i64", (18,))), x % 4
    )


def test_a_number_of_parts_that_is_known_is_a_number():
    text = ir("o[ceildiv(index(42), 16)] = 1.0\no[ceildiv(index(42), index(16)) + 1] = 2.0")
    assert "arith.divui" not in text and "arith.constant 3 : index" in text and "arith.constant 4 : index" in text


def test_a_position_cut_to_fewer_bits_is_no_longer_known_to_be_positive():
    got = run("for i in range(200, 203):\n    out[i - 200] = (i.cast(i8).cast(index) // 3).cast(i64)", ("i64", (3,)))
    np.testing.assert_array_equal(got, np.arange(200, 203).astype(np.int8) // 3)


def test_bf16_arithmetic_is_that_of_ml_dtypes():
    x = np.array([1.0, 1.0078125, 3.3895e38, -2.5], ml_dtypes.bfloat16)
    with np.errstate(over="ignore"):
        same(run("out.store(a.load(0, width=4) * a.load(0, width=4), 0)", ("bf16", (4,)), x), x * x)
