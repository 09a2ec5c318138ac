"""Builtin functions on run-time values, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.graph.dtypes import numpy_dtype
from tests.compiler.language.drive import DTYPES, FLOATS, INTEGERS, body_error, run, scalar
from tests.compiler.language.test_operators import bits, lanewise, same, samples


@pytest.mark.parametrize("dtype", DTYPES)
def test_min_and_max_propagate_nan(dtype):
    for seed in range(3):
        x, y = samples(dtype, seed), samples(dtype, seed + 50)
        if dtype in FLOATS:  # of zeros with unlike signs NumPy takes either
            x[x == 0], y[y == 0] = 0, 0
        same(lanewise("min(x, y)", dtype, x, y), np.minimum(x, y))
        same(lanewise("max(x, y)", dtype, x, y), np.maximum(x, y))


@pytest.mark.parametrize("dtype", FLOATS)
def test_fmin_and_fmax_ignore_nan(dtype):
    x, y = samples(dtype, 2), samples(dtype, 3)
    x[0], y[1], x[2], y[2] = np.nan, np.nan, np.nan, np.nan
    x[x == 0], y[y == 0] = 0, 0
    with np.errstate(invalid="ignore"):
        same(lanewise("fmin(x, y)", dtype, x, y), np.fmin(x, y))
        same(lanewise("fmax(x, y)", dtype, x, y), np.fmax(x, y))
    assert "fmin is not defined for i32" in body_error("x = fmin(i32(1), i32(2))")


def test_min_and_max_of_several_and_of_sequences():
    x = np.float32([3, 1, 2])
    assert scalar("min(a[0], a[1], a[2])", "f32", x) == 1
    assert scalar("max([a[0], a[1], a[2], 2.5])", "f32", x) == 3
    assert scalar("max(3, 7, 5) + min((4, 2))") == 9
    assert "min of nothing" in body_error("x = min(())")
    assert "min is not defined for str 'a'" in body_error("x = min('a')")
    assert "max is not defined for" in body_error("x = max(1, None)")


@pytest.mark.parametrize("dtype", DTYPES)
def test_abs(dtype):
    x = samples(dtype, 8)
    same(lanewise("abs(x)", dtype, x), np.abs(x) if dtype != "bool" else x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "name, function",
    [("sqrt", np.sqrt), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("roundeven", np.rint)],
)
def test_functions_of_one_float(dtype, name, function):
    for seed in range(3):
        x = samples(dtype, seed)
        with np.errstate(invalid="ignore"):
            same(lanewise(f"{name}(x)", dtype, x), function(x.astype(np.float64)).astype(x.dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_copysign(dtype):
    x, y = samples(dtype, 6), samples(dtype, 7)
    x[np.isnan(x)], y[np.isnan(y)] = 1, -1
    same(lanewise("copysign(x, y)", dtype, x, y), np.copysign(x, y))


@pytest.mark.parametrize("width", [1, 8, 32])
def test_fma_of_halves_rounds_once(width):
    """1 + 2**-11, the middle of two of them, and a part of a product that decides."""
    random = np.random.default_rng(width)
    a, b, c = (random.normal(size=64).astype(np.float16) for _ in range(3))
    a[:2], b[:2], c[:2] = 2.0**-12, (2 + 2.0**-9, 2 - 2.0**-10), 1
    loaded = ", ".join(f"{name}.load(i, width={width})" for name in "abc")
    code = f"for i in range(0, 64, {width}): out.store(fma({loaded}), i)"
    exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    same(run(code, ("f16", (64,)), a, b, c), exact.astype(np.float16))
    assert exact[:2].astype(np.float16).tolist() == [1 + 2.0**-10, 1]


def test_fma_rounds_once():
    x = np.float32(1 + 2**-12)
    got = scalar("fma(a[0], a[0], b[0])", "f32", np.float32([x]), np.float32([-1]))
    assert got == np.float32(float(x) * float(x) - 1) != x * x - np.float32(1)
    same(
        run("out.store(fma(a.load(0, width=4), 2.0, a[3]), 0)", ("f32", (4,)), np.float32([1, 2, 3, 4])),
        np.float32([6, 8, 10, 12]),
    )
    assert scalar("fma(i64(3), 4, 5)") == 17
    assert scalar("muladd(f64(3), 4, 5)", "f64") == 17
    assert "do not mix" in body_error("x = fma(o[0], f64(1), 1)")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_counting(dtype):
    x = samples(dtype, 4)
    width = x.dtype.itemsize * 8
    words = [format(int(v) & (2**width - 1), f"0{width}b") for v in x]
    leading = [width if "1" not in w else w.index("1") for w in words]
    trailing = [width if "1" not in w else w[::-1].index("1") for w in words]
    same(lanewise("ctlz(x)", dtype, x), np.array(leading, x.dtype))
    same(lanewise("cttz(x)", dtype, x), np.array(trailing, x.dtype))
    same(lanewise("popcount(x)", dtype, x), np.array([w.count("1") for w in words], x.dtype))
    assert "ctlz is for integers" in body_error("x = ctlz(o[0])")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_umulh_is_the_upper_half_of_the_unsigned_product(dtype):
    for seed in range(6):
        x, y = samples(dtype, seed), samples(dtype, seed + 9)
        width = x.dtype.itemsize * 8
        mask = 2**width - 1
        expected = [((int(p) & mask) * (int(q) & mask)) >> width for p, q in zip(x, y, strict=True)]
        got = lanewise("umulh(x, y)", dtype, x, y)
        assert [int(v) & mask for v in got] == expected


# Vectors


def test_vectors_are_built_and_taken_apart():
    x = np.float32([10, 20, 30, 40])
    same(run("out.store(vector(a[3], 5, a[0]), 0)", ("f32", (3,)), x), np.float32([40, 5, 10]))
    same(run("out.store(concat(a.load(0, width=2), a.load(2, width=2)), 0)", ("f32", (4,)), x), x)
    same(run("out.store(concat(a[1], a.load(2, width=2)), 0)", ("f32", (3,)), x), x[1:])
    same(run("out.store(concat(a[1], a[0]), 0)", ("f32", (2,)), x), x[[1, 0]])
    same(run("out.store(splat(a[2], 3), 0)", ("f32", (3,)), x), np.float32([30] * 3))
    same(run("out.store(zeros(f32, 3), 0); out.store(full(f32, 7, 2), 1)", ("f32", (3,))), np.float32([0, 7, 7]))
    same(run("out.store(iota(i8, 5), 0)", ("i8", (5,))), np.arange(5, dtype=np.int8))
    same(run("out.store(iota(f16, 4), 0)", ("f16", (4,))), np.arange(4, dtype=np.float16))
    assert scalar("iota(i64, 1)") == 0


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (7, 0, 3, 3, 5), (2,), (6,), tuple(range(8)), (1,) * 16])
def test_shuffle_picks_lanes_of_two_values(order):
    x = np.arange(8, dtype=np.int32)
    same(
        run(f"out.store(shuffle(a.load(0, width=4), a.load(4, width=4), {order}), 0)", ("i32", (len(order),)), x),
        x[list(order)],
    )


def test_shuffle_of_unlike_widths_and_of_scalars():
    x = np.arange(6, dtype=np.int32)
    same(run("out.store(shuffle(a.load(0, width=4), a.load(4, width=2), (5, 0)), 0)", ("i32", (2,)), x), x[[5, 0]])
    same(run("out.store(shuffle(a[3], a[1], (1, 0, 1)), 0)", ("i32", (3,)), x), x[[1, 3, 1]])
    same(run("out.store(shuffle(a[3], a.load(0, width=2), (2, 0)), 0)", ("i32", (2,)), x), x[[1, 3]])


def test_lanes_by_number_and_by_position():
    x = np.int64([4, 5, 6, 7])
    assert scalar("a.load(0, width=4)[2]", "i64", x) == 6
    assert scalar("a.load(0, width=4)[-1]", "i64", x) == 7
    np.testing.assert_array_equal(
        run("v = a.load(0, width=4)\nfor i in range(4):\n    out[i] = v[3 - i]", ("i64", (4,)), x), x[::-1]
    )
    np.testing.assert_array_equal(run("out.store(a.load(0, width=4)[::-2], 0)", ("i64", (2,)), x), x[::-2])
    got = run(
        "v = a.load(0, width=4)\nfor i in range(4):\n    v[i] = v[0] + i.cast(i64)\nout.store(v, 0)", ("i64", (4,)), x
    )
    np.testing.assert_array_equal(got, [4, 5, 6, 7])
    np.testing.assert_array_equal(
        run("v = a.load(0, width=4)\nv[1] = 0\nout.store(v.insert(-1, 9), 0)", ("i64", (4,)), x), [4, 0, 6, 9]
    )


@pytest.mark.parametrize(
    "expression, message",
    [
        ("o.load(0, width=4)[4]", "lane 4 of a value of 4 lanes"),
        ("o.load(0, width=4)[-5]", "lane -5"),
        ("o.load(0, width=4)[1.0]", "a lane is a whole number"),
        ("o[0][1]", "lane 1 of a value of 1 lanes"),
        ("o.load(0, width=4)[2:2]", "a slice of no lanes"),
        ("o.load(0, width=4).insert(9, 1)", "lane 9"),
        ("o.load(0, width=4).insert(0, i32(1))", "one f32, not i32"),
        ("shuffle(o[0], o[0], (2,))", "has no lane int 2"),
        ("shuffle(o[0], o[0], (-1, 0))", "has no lane int -1"),
        ("shuffle(o[0], o[0], ())", "0 lanes"),
        ("shuffle(o[0], i32(0), (0, 1))", "do not mix"),
        ("concat(o[0], i32(0))", "do not mix"),
        ("vector(o[0], i32(1))", "one f32, not i32"),
        ("vector(1, 2)", "needs at least one run-time value"),
        ("vector(o.load(0, width=2), o[0])", "concat joins vectors"),
        ("splat(o.load(0, width=2), 4)", "cannot become 4"),
        ("splat(1, 4)", "splat needs a run-time value"),
        ("splat(o[0], 0)", "a width is"),
        ("splat(o[0], N)", "a width is"),
        ("zeros(f32, 5000)", "a width is"),
        ("iota(bool, 4)", "iota is for numbers"),
        ("copysign(i32(1), i32(1))", "floats"),
        ("sqrt(2.0)", "sqrt needs a run-time value"),
        ("sqrt(i32(2))", "sqrt is for floats"),
        ("umulh(o[0], o[0])", "integers"),
        ("lshr(o[0], o[0])", "lshr is for integers"),
        ("word(o.load(0, width=4), i32)", "does not fill one i32"),
    ],
)
def test_what_vectors_refuse(expression, message):
    assert message in body_error(f"x = {expression}")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("width", [1, 2, 3, 8, 16])
def test_horizontal_reductions(dtype, width):
    kind = numpy_dtype(dtype)
    x = np.random.default_rng(width).integers(-3 if dtype != "u8" else 0, 4, width).astype(kind)
    load = f"v = a.load(0, width={width})" if width > 1 else "v = a[0]"
    got = run(f"{load}\nout[0] = v.sum(); out[1] = v.prod(); out[2] = v.max(); out[3] = v.min()", (dtype, (4,)), x)
    with np.errstate(over="ignore"):
        expected = [x.astype(kind).sum(dtype=kind), x.prod(dtype=kind), x.max(), x.min()]
    same(got, np.array(expected, kind))


def test_max_and_min_of_lanes_propagate_nan():
    got = run(
        "v = a.load(0, width=4)\nout[0] = v.max(); out[1] = v.min()", ("f32", (2,)), np.float32([1, np.nan, 3, 0])
    )
    assert np.isnan(got).all()


def test_any_and_all():
    for x in ([0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]):
        given = np.array(x, bool)
        got = run(
            "v = a.load(0, width=4)\nout[0] = v.any(); out[1] = v.all(); out[2] = v.max(); out[3] = v.min()",
            ("bool", (4,)),
            given,
        )
        assert got.tolist() == [any(x), all(x), any(x), all(x)]
    assert ".any() is not defined for" in body_error("x = o.load(0, width=4).any()")
    assert ".sum() is not defined for bool" in body_error("x = (o[0] > 0).sum()")


def test_word_reads_all_lanes_as_one_number():
    x = np.array([1, 2, 3, 4], np.int8)
    assert scalar("word(a.load(0, width=4), i32)", "i32", x) == 0x04030201
    assert scalar("word(a.load(0, width=2), i16)", "i16", x) == 0x0201


def test_the_same_bits_come_back():
    x = samples("f32", 0)
    np.testing.assert_array_equal(bits(lanewise("x.bits(i32).bits(f32)", "f32", x)), bits(x))
