"""Every transcendental function stays within the error its docstring states, over the whole range of its argument.

f32 results are compared with f64 ones, f64 results with NumPy's long double where that is wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.kernels.harness import run_elementwise

EXTENDED = np.longdouble
DTYPES = [
    np.float32,
    pytest.param(
        np.float64,
        marks=pytest.mark.skipif(np.finfo(EXTENDED).nmant < 60, reason="long double is no wider than double here"),
    ),
]


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64 if x.dtype == np.float32 else EXTENDED)


def every_exponent(dtype: type, count: int) -> np.ndarray:
    """Both signs of each exponent with some significands: zero, one bit, all bits, the rest at random."""
    limits = np.finfo(dtype)
    integer = np.int32 if dtype is np.float32 else np.int64
    rng = np.random.default_rng(0)
    exponents = np.arange(2**limits.iexp - 1, dtype=np.int64)[:, None]
    digits = rng.integers(0, 2**limits.nmant, (len(exponents), count))
    digits[:, :3] = 0, 1, 2**limits.nmant - 1
    x = ((exponents << limits.nmant) | digits).astype(integer).view(dtype).reshape(-1)
    return np.concatenate([x, -x, np.array([np.inf, -np.inf, np.nan], dtype)])


def points(dtype: type, *spans: tuple[float, float]) -> np.ndarray:
    """Arguments of every exponent, and evenly spread ones over some spans."""
    rng = np.random.default_rng(1)
    count = 100_000 if dtype is np.float32 else 4_000
    even = [rng.uniform(low, high, count).astype(dtype) for low, high in spans]
    return np.concatenate([every_exponent(dtype, 200 if dtype is np.float32 else 6), *even])


def ulps(result: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """How far each result lies from the exact value, in units of the last place of the result's dtype at that value."""
    limits, kind = np.finfo(result.dtype), exact.dtype.type
    edge = np.ldexp(kind(1), int(limits.maxexp))  # a result of infinity stands for this number
    got, want = (np.clip(v.astype(kind), -edge, edge) for v in (result, exact))
    exponent = np.frexp(np.where(np.isnan(want), 0, want))[1]
    exponent = np.clip(exponent, int(limits.minexp) + 1, int(limits.maxexp))
    error = np.abs(got - want) / np.ldexp(kind(1), exponent - 1 - int(limits.nmant))
    error = np.where(np.isnan(got) & np.isnan(want), 0, np.where(np.isnan(error), np.inf, error))
    return error.astype(np.float64)


def check(name: str, exact: np.ndarray, bound: float, *arrays: np.ndarray, **params: object) -> None:
    error = ulps(run_elementwise(name, *arrays, **params), exact)
    worst = int(error.argmax())
    assert error[worst] < bound, f"{name}{tuple(a[worst] for a in arrays)} is {error[worst]:.3f} ulp off"


def erf(x: np.ndarray) -> np.ndarray:
    """The error function: the C library's for f64, in long double by a series of positive terms."""
    if x.dtype == np.float64:
        return np.vectorize(math.erf, otypes=[np.float64])(x)
    size = np.abs(x)
    exact = np.where(np.isnan(x), x, EXTENDED(1))
    within = size < 9
    exact[within] = _erf_by_its_series(size[within])
    return np.copysign(exact, x)


def _erf_by_its_series(size: np.ndarray) -> np.ndarray:
    """Of numbers from 0 to 9. Long doubles may be computed in software: terms are added until they change nothing."""
    total, term, left = size.copy(), size, np.arange(len(size))
    for n in range(1, 320):
        term = term * 2 * size[left] * size[left] / (2 * n + 1)
        more = total[left] + term
        changed = more != total[left]
        total[left] = more
        left, term = left[changed], term[changed]
    return 2 / np.sqrt(4 * np.arctan(EXTENDED(1))) * np.exp(-size * size) * total


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """(1 + erf(x / sqrt(2))) / 2 in long double: a continued fraction for the tails."""
    x = x.astype(EXTENDED)
    exact = np.empty_like(x)
    near = np.abs(x) < 2.5
    exact[near] = (1 + erf(x[near] * np.sqrt(EXTENDED(0.5)))) / 2
    size = np.abs(x[~near])
    fraction = size
    for n in range(300, 0, -1):
        fraction = size + n / fraction
    tail = np.exp(-size * size / 2) / np.sqrt(8 * np.arctan(EXTENDED(1))) / fraction
    exact[~near] = np.where(x[~near] < 0, tail, 1 - tail)
    return exact


UNARY: list[tuple[str, Callable[..., np.ndarray], list[tuple[float, float]], float, float]] = [
    ("exp", np.exp, [(-105, 90), (-2, 2), (-750, 710)], 1.0, 1.0),
    ("exp2", np.exp2, [(-151, 129), (-2, 2), (-1080, 1025)], 1.0, 1.0),
    ("expm1", np.expm1, [(-20, 90), (-1, 1), (-40, 710)], 1.5, 1.5),
    ("log", np.log, [(0.5, 2), (0.99, 1.01), (0, 1e4)], 0.9, 0.9),
    ("log2", np.log2, [(0.5, 2), (0.99, 1.01), (0, 1e4)], 2.0, 2.0),
    ("log1p", np.log1p, [(-1, 1), (-0.01, 0.01), (-1, 1e4)], 1.0, 1.0),
    ("sin", np.sin, [(-10, 10), (-1e5, 1e5), (-1e9, 1e9)], 1.6, 1.5),
    ("cos", np.cos, [(-10, 10), (-1e5, 1e5), (-1e9, 1e9)], 1.6, 1.5),
    ("tanh", np.tanh, [(-1, 1), (-10, 10), (-22, 22)], 1.5, 1.5),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "function", "spans", "bound32", "bound64"), UNARY, ids=[case[0] for case in UNARY])
def test_error_of(name, function, spans, bound32, bound64, dtype) -> None:
    x = points(dtype, *spans)
    with np.errstate(all="ignore"):
        exact = function(wide(x))
    check(name, exact, bound32 if dtype is np.float32 else bound64, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_error_of_erf(dtype: type) -> None:
    x = points(dtype, (-1.3, 1.3), (-6.1, 6.1))
    with np.errstate(all="ignore"):
        exact = erf(wide(x))
    check("erf", exact, 1.5, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_error_of_sigmoid(dtype: type) -> None:
    x = points(dtype, (-110, 20), (-3, 3), (-746, 40))
    with np.errstate(all="ignore"):
        exact = 1 / (1 + np.exp(-x.astype(EXTENDED)))
    check("sigmoid", exact, 2.5, x)


@pytest.mark.skipif(np.finfo(EXTENDED).maxexp <= 1024, reason="long double has no more range than double here")
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -12.9), (np.float64, -37.4)])
def test_error_of_gelu_down_to_where_the_distribution_is_subnormal(dtype: type, lowest: float) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(lowest, 12, 6_000), rng.uniform(-1, 1, 2_000), [0.0, -0.0]]).astype(dtype)
    check("gelu", normal_cdf(x) * x.astype(EXTENDED), 5.0, x)


WIDER = pytest.mark.skipif(np.finfo(EXTENDED).maxexp <= 1024, reason="long double has no more range than double here")


@WIDER
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -16), (np.float64, -39)])
def test_error_of_gelu_in_its_far_tail(dtype: type, lowest: float) -> None:
    x = np.random.default_rng(5).uniform(lowest, lowest * 0.8, 20_000).astype(dtype)
    check("gelu", normal_cdf(x) * x.astype(EXTENDED), 5.0, x)


@WIDER
def test_error_of_gelu_where_it_is_largest_of_all_f32() -> None:
    x = np.array([-7.7813005], np.float32)
    check("gelu", normal_cdf(x) * x.astype(EXTENDED), 5.1, x)


@WIDER
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -112), (np.float64, -756)])
def test_error_of_silu_down_to_nothing(dtype: type, lowest: float) -> None:
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(lowest, 20, 20_000), rng.uniform(-3, 3, 4_000)]).astype(dtype)
    with np.errstate(over="ignore"):
        exact = x.astype(EXTENDED) / (1 + np.exp(-x.astype(EXTENDED)))
    check("silu", exact, 3.5, x)


@WIDER
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -10.2), (np.float64, -21.5)])
def test_error_of_gelu_by_tanh_grows_with_its_argument(dtype: type, lowest: float) -> None:
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(lowest, 8, 20_000), rng.uniform(-2, 2, 4_000)]).astype(dtype)
    wider = x.astype(EXTENDED)
    twice = np.sqrt(8 / (4 * np.arctan(EXTENDED(1)))) * (wider + EXTENDED("0.044715") * wider**3)
    error = ulps(run_elementwise("gelu", x, approximate="tanh"), wider / (1 + np.exp(-twice)))
    assert (error < 4 + 2.5 * np.maximum(-twice, 0)).all()


def test_far_below_zero_nothing_is_left_of_gelu_and_silu() -> None:
    x = np.array([-1e30, -3e38], np.float32)
    for name, params in (("gelu", {}), ("silu", {}), ("gelu", {"approximate": "tanh"})):
        np.testing.assert_array_equal(run_elementwise(name, x, **params), [0, 0])


@pytest.mark.parametrize("exponent", range(51, 1024, 53))
def test_angles_at_the_edge_of_a_digit_of_two_pi(exponent: int) -> None:
    if np.finfo(EXTENDED).nmant < 60:
        pytest.skip("long double is no wider than double here")
    x = np.ldexp(1 + np.random.default_rng(exponent).random(3_000), exponent)
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        check(name, function(x.astype(EXTENDED)), 1.5, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_multiples_of_a_quarter_turn_keep_their_digits(dtype: type) -> None:
    turns = np.random.default_rng(3).integers(1, 2**22, 20_000).astype(EXTENDED) * (2 * np.arctan(EXTENDED(1)))
    x = turns.astype(dtype)
    check("sin", np.sin(x.astype(EXTENDED)), 1.6, x)
    check("cos", np.cos(x.astype(EXTENDED)), 1.6, x)


def test_angles_nearest_to_a_multiple_of_a_quarter_turn() -> None:
    """The f32 and the f64 whose reduction cancels most (Muller et al., Handbook of Floating-Point Arithmetic)."""
    worst32, worst64 = np.array([16367173 * 2.0**72], np.float32), np.array([6381956970095103 * 2.0**797])
    assert abs(run_elementwise("cos", worst32)[0]) == pytest.approx(1.6147697982476211e-09, rel=2**-23)
    assert abs(run_elementwise("cos", worst64)[0]) == pytest.approx(4.687165924254624e-19, rel=2**-51)


@pytest.mark.parametrize("dtype", DTYPES)
def test_error_of_pow(dtype: type) -> None:
    rng = np.random.default_rng(4)
    count, span = (100_000, 150) if dtype is np.float32 else (6_000, 1080)
    logarithms = [
        rng.uniform(0.2 - span, span * 0.8, count),  # any base, subnormal ones included
        rng.uniform(-1, 1, count),
        rng.uniform(-0.01, 0.01, count),
    ]
    x = np.concatenate([np.exp2(v) for v in logarithms]).astype(dtype)
    with np.errstate(all="ignore"):
        y = (rng.uniform(-span, span, x.size) / np.log2(x.astype(np.float64))).astype(dtype)
    whole = rng.integers(-30, 30, count).astype(dtype)
    x = np.concatenate([x, rng.uniform(-20, 20, count).astype(dtype)])
    y = np.concatenate([y, whole])
    with np.errstate(all="ignore"):
        exact = np.power(wide(x), wide(y))
    check("pow", exact, 1.0, x, y)
