"""`.cast`, calling a dtype, and `.bits`: every pair of dtypes against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.graph.dtypes import numpy_dtype
from tests.compiler.language.drive import DTYPES, FLOATS, INTEGERS, body_error, run, scalar
from tests.compiler.language.test_operators import bits, lanewise, samples


def expected_cast(x: np.ndarray, dtype: str) -> np.ndarray:
    """Toward zero and saturating from floats to integers (NaN gives 0), wrapping between integers, != 0 for bool."""
    kind = numpy_dtype(dtype)
    if dtype in INTEGERS and x.dtype.kind in "fV":
        limits = np.iinfo(kind)
        wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        whole = [limits.max if v >= limits.max else limits.min if v <= limits.min else int(v) for v in wide]
        return np.array(whole, kind)
    if dtype == "bool":
        return x != 0
    with np.errstate(all="ignore"):
        return x.astype(kind)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_cast(source, dtype):
    for seed in range(4):
        x = samples(source, seed)
        if source in ("i64", "i32") and dtype in ("bf16", "f16"):
            x = (x % 2048).astype(x.dtype)  # beyond f32's whole numbers NumPy itself rounds twice
        np.testing.assert_array_equal(bits(lanewise(f"x.cast({dtype})", dtype, x)), bits(expected_cast(x, dtype)))
        np.testing.assert_array_equal(bits(lanewise(f"{dtype}(x)", dtype, x)), bits(expected_cast(x, dtype)))


@pytest.mark.parametrize("source", DTYPES)
def test_casts_through_index(source):
    x = samples(source, 1)
    if source in FLOATS:
        x = np.clip(np.nan_to_num(x.astype(np.float64)), -1000, 1000).astype(x.dtype)
    there = expected_cast(x, "i64")
    np.testing.assert_array_equal(lanewise("index(x).cast(i64)", "i64", x), there)
    back = expected_cast(there, source)
    np.testing.assert_array_equal(bits(lanewise(f"index(x).cast({source})", source, x)), bits(back))


@pytest.mark.parametrize(
    "source, dtype",
    [
        ("f64", "i64"),
        ("f32", "i32"),
        ("f16", "i16"),
        ("bf16", "i16"),
        ("bf16", "f16"),
        ("i8", "u8"),
        ("i64", "f64"),
        ("u8", "u8"),
        ("i32", "i32"),
    ],
)
def test_bits_are_kept(source, dtype):
    x = samples(source, 2)
    got = lanewise(f"x.bits({dtype})", dtype, x)
    np.testing.assert_array_equal(got.view(f"u{x.dtype.itemsize}"), x.view(f"u{x.dtype.itemsize}"))


@pytest.mark.parametrize(
    "expression", ["o[0].bits(i64)", "o[0].bits(i16)", "index(3).bits(i64)", "(o[0] > 0).bits(u8)"]
)
def test_bits_need_equal_sizes(expression):
    assert "bits: " in body_error(f"x = {expression}")


def test_numbers_that_are_known_are_cast_too():
    assert scalar("(3).cast(f64)", "f64") == 3
    assert scalar("True.cast(i64) + (2.0).cast(i64)") == 3
    # A loop of one turn is no loop: its counter is a number, and still has what counters have.
    assert run("for i in range(1):\n    out[i] = i.cast(i64) + 5 + i.width", ("i64", (1,)))[0] == 6
    assert "2.5 does not fit i32" in body_error("x = (2.5).cast(i32)")
    assert "inf does not fit i32" in body_error("x = i32(f32.inf)")


@pytest.mark.parametrize("dtype", DTYPES)
def test_attributes_of_dtypes(dtype):
    kind = numpy_dtype(dtype)
    floating, whole = dtype in FLOATS, dtype in INTEGERS
    assert scalar(f"{dtype}.bytes") == kind.itemsize
    assert scalar(f"{dtype}.bits") == (1 if dtype == "bool" else kind.itemsize * 8)
    facts = [floating, whole, dtype == "bool", floating or (whole and dtype != "u8")]
    names = ["is_float", "is_int", "is_bool", "is_signed"]
    assert scalar(" + ".join(f"({dtype}.{n} == {f}).cast(i64)" for n, f in zip(names, facts, strict=True))) == 4
    assert scalar(f"1 if {dtype}.name == '{dtype}' else 0") == 1
    assert scalar(f"1 if {dtype}.acc == {'f32' if dtype in ('f16', 'bf16') else dtype} else 0") == 1
    if whole:
        limits = np.iinfo(kind)
        np.testing.assert_array_equal(
            run(f"out[0] = {dtype}({dtype}.min)\nout[1] = {dtype}({dtype}.max)", (dtype, (2,))),
            [limits.min, limits.max],
        )
    if floating:
        top = run(
            f"out[0] = {dtype}({dtype}.max)\nout[1] = {dtype}({dtype}.inf)\nout[2] = {dtype}({dtype}.min)",
            (dtype, (3,)),
        )
        assert np.isfinite(top[0].astype(float)) and np.isinf(top[1].astype(float)) and top[2] == -top[0]
        with np.errstate(over="ignore"):
            assert np.isinf(np.nextafter(top[0], top[1]).astype(float))
