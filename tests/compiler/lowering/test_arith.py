"""Integer and float arithmetic, comparisons and selects give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import arith

RNG = np.random.default_rng(7)
INTS = np.concatenate([RNG.integers(-1000, 1000, 61), [-1, 0, 1, 2**31 - 1, -(2**31)]]).astype(np.int32)
DIVISORS = np.where(
    RNG.integers(-9, 9, INTS.size) == 0, 3, RNG.integers(1, 9, INTS.size) * RNG.choice([-1, 1], INTS.size)
)
DIVISORS = DIVISORS.astype(np.int32)
FLOATS = np.concatenate([RNG.normal(size=58) * 100, [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5]]).astype(
    np.float32
)
OTHERS = RNG.permutation(FLOATS)
LANES = [0, 4, 8]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("addi", lambda a, b: a + b),
        ("subi", lambda a, b: a - b),
        ("muli", lambda a, b: a * b),
        ("andi", lambda a, b: a & b),
        ("ori", lambda a, b: a | b),
        ("xori", lambda a, b: a ^ b),
        ("minsi", np.minimum),
        ("maxsi", np.maximum),
        ("minui", lambda a, b: np.minimum(a.view(np.uint32), b.view(np.uint32)).view(np.int32)),
        ("maxui", lambda a, b: np.maximum(a.view(np.uint32), b.view(np.uint32)).view(np.int32)),
    ],
)
def test_integer_operations_wrap(elementwise, op, expected, lanes):
    function = elementwise(f"%r = arith.{op} %a, %b : T0", "i32", "i32", "i32", lanes=lanes)
    other = RNG.permutation(INTS)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(function(INTS, other, dtype=np.int32), expected(INTS, other))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("divsi", lambda a, b: np.trunc(a / b).astype(np.int32)),
        ("remsi", np.fmod),
        ("floordivsi", np.floor_divide),
        ("divui", lambda a, b: (a.view(np.uint32) // b.view(np.uint32)).view(np.int32)),
        ("remui", lambda a, b: (a.view(np.uint32) % b.view(np.uint32)).view(np.int32)),
    ],
)
def test_divisions_round_as_their_names_say(elementwise, op, expected, lanes):
    function = elementwise(f"%r = arith.{op} %a, %b : T0", "i32", "i32", "i32", lanes=lanes)
    numerators = np.where(DIVISORS == -1, np.maximum(INTS, -(2**31) + 1), INTS).astype(np.int32)
    np.testing.assert_array_equal(function(numerators, DIVISORS, dtype=np.int32), expected(numerators, DIVISORS))


@pytest.mark.parametrize("divisor", [1, 3, 8, -8])
def test_divisions_by_a_constant(elementwise, divisor):
    function = elementwise(f"%d = arith.constant {divisor} : i32\n%r = arith.floordivsi %a, %d : T0", "i32", "i32")
    exact = [int(a) // divisor for a in INTS]
    np.testing.assert_array_equal(function(INTS, dtype=np.int32), np.array(exact, np.int64).astype(np.int32))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("shli", np.left_shift),
        ("shrsi", np.right_shift),
        ("shrui", lambda a, b: (a.view(np.uint32) >> b.view(np.uint32)).view(np.int32)),
    ],
)
def test_shifts(elementwise, op, expected, lanes):
    amounts = RNG.integers(0, 32, INTS.size).astype(np.int32)
    function = elementwise(f"%r = arith.{op} %a, %b : T0", "i32", "i32", "i32", lanes=lanes)
    np.testing.assert_array_equal(function(INTS, amounts, dtype=np.int32), expected(INTS, amounts))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
        ("maxnumf", np.fmax),
        ("minnumf", np.fmin),
    ],
)
def test_float_operations_are_ieee(elementwise, op, expected, lanes):
    function = elementwise(f"%r = arith.{op} %a, %b : T0", "f32", "f32", "f32", lanes=lanes)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(function(FLOATS, OTHERS, dtype=np.float32), expected(FLOATS, OTHERS))


def test_products_and_sums_are_not_contracted(elementwise):
    function = elementwise(
        "%p = arith.mulf %a, %b : T0\n%r = arith.addf %p, %c : T0", "f32", "f32", "f32", "f32", lanes=4, opt_level=3
    )
    a, b, c = (RNG.normal(size=4096).astype(np.float32) for _ in range(3))
    np.testing.assert_array_equal(function(a, b, c, dtype=np.float32), a * b + c)


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("sqrt", lambda a: np.sqrt(a)),
        ("floor", np.floor),
        ("ceil", np.ceil),
        ("trunc", np.trunc),
        ("roundeven", np.round),
        ("absf", np.abs),
    ],
)
def test_math_functions_are_correctly_rounded(elementwise, op, expected, lanes):
    function = elementwise(f"%r = math.{op} %a : T0", "f32", "f32", lanes=lanes)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(function(FLOATS, dtype=np.float32), expected(FLOATS))


@pytest.mark.parametrize("lanes", [0, 4])
def test_fma_rounds_once(elementwise, lanes):
    function = elementwise("%r = math.fma %a, %b, %c : T0", "f32", "f32", "f32", "f32", lanes=lanes)
    a, b, c = (RNG.normal(size=1000).astype(np.float32) for _ in range(3))
    exact = (a.astype(np.float64) * b + c.astype(np.float64)).astype(
        np.float32
    )  # exact product; the sum rounds at 2^-53
    np.testing.assert_array_equal(function(a, b, c, dtype=np.float32), exact)


@pytest.mark.parametrize("lanes", [0, 4])
def test_bit_counts(elementwise, lanes):
    bits = np.array([0, 1, 2, 255, -1, 1 << 30], np.int32)
    count = elementwise("%r = math.ctpop %a : T0", "i32", "i32", lanes=lanes)
    leading = elementwise("%r = math.ctlz %a : T0", "i32", "i32", lanes=lanes)
    trailing = elementwise("%r = math.cttz %a : T0", "i32", "i32", lanes=lanes)
    np.testing.assert_array_equal(count(bits, dtype=np.int32), [0, 1, 1, 8, 32, 1])
    np.testing.assert_array_equal(leading(bits, dtype=np.int32), [32, 31, 30, 24, 0, 1])
    np.testing.assert_array_equal(trailing(bits, dtype=np.int32), [32, 0, 1, 0, 0, 30])


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("oeq", lambda a, b: a == b),
        ("une", lambda a, b: a != b),
        ("olt", lambda a, b: a < b),
        ("oge", lambda a, b: a >= b),
        ("uno", lambda a, b: np.isnan(a) | np.isnan(b)),
        ("ult", lambda a, b: ~(a >= b)),
    ],
)
def test_float_comparisons(elementwise, predicate, expected, lanes):
    number = arith.CMPF_COMPARISON_OPERATIONS.index(predicate)
    body = f'%r = "arith.cmpf"(%a, %b) <{{predicate = {number} : i64}}> : (T1, T2) -> T0'
    function = elementwise(body, "i1", "f32", "f32", lanes=lanes)
    np.testing.assert_array_equal(function(FLOATS, OTHERS, dtype=np.bool_), expected(FLOATS, OTHERS))


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("eq", lambda a, b: a == b),
        ("slt", lambda a, b: a < b),
        ("sge", lambda a, b: a >= b),
        ("ult", lambda a, b: a.view(np.uint32) < b.view(np.uint32)),
        ("uge", lambda a, b: a.view(np.uint32) >= b.view(np.uint32)),
    ],
)
def test_integer_comparisons(elementwise, predicate, expected, lanes):
    other = np.where(RNG.integers(0, 2, INTS.size), INTS, RNG.permutation(INTS)).astype(np.int32)
    number = arith.CMPI_COMPARISON_OPERATIONS.index(predicate)
    body = f'%r = "arith.cmpi"(%a, %b) <{{predicate = {number} : i64}}> : (T1, T2) -> T0'
    function = elementwise(body, "i1", "i32", "i32", lanes=lanes)
    np.testing.assert_array_equal(function(INTS, other, dtype=np.bool_), expected(INTS, other))


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "i8"])
@pytest.mark.parametrize("lanes", [0, 8])
def test_select_takes_lanes_of_any_type(elementwise, kind, lanes):
    width = {"f32": np.uint32, "f16": np.uint16, "bf16": np.uint16, "i8": np.uint8}[kind]
    condition = RNG.integers(0, 2, 64).astype(np.bool_)
    a, b = (RNG.integers(0, 250, 64).astype(width) for _ in range(2))
    body = '%r = "arith.select"(%a, %b, %c) : (T1, T2, T3) -> T0'
    function = elementwise(body, kind, "i1", kind, kind, lanes=lanes)
    np.testing.assert_array_equal(function(condition, a, b, dtype=width), np.where(condition, a, b))
