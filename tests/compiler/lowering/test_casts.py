"""Conversions: rounded once, to nearest even; saturating to integers; the same with and without instructions."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import Graph, TensorType, compile, ops
from compiler.backend.executor import load_kernels
from compiler.backend.llvm import compile_llvm
from compiler.lowering.llvm_text import emit_module
from compiler.lowering.llvm_types import float_literal
from compiler.targets import get_target

BF16 = np.dtype(ml_dtypes.bfloat16)
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": BF16}
BITS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
COUNT = 64
floats64 = st.lists(st.floats(width=64), min_size=1, max_size=6)
floats32 = st.lists(st.floats(width=32), min_size=1, max_size=6)


def convert(parse, op: str, source: str, result: str, lanes: int, native: bool) -> Callable[[np.ndarray], np.ndarray]:
    """A compiled conversion of COUNT elements; `native=False` pretends the host lacks the instructions."""
    target = get_target("cpu")
    if not native:
        target = dataclasses.replace(target, native_f16=False, native_bf16=False, native_saturation=False)
    kinds = [f"vector<{lanes}x{kind}>" if lanes else kind for kind in (source, result)]
    load, store = ("vector.load", "vector.store") if lanes else ("memref.load", "memref.store")
    tails = [f", {kind}" if lanes else "" for kind in kinds]
    module = parse(f"""
func.func @k(%out: memref<?x{result}>, %in: memref<?x{source}>) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %end = arith.constant {COUNT} : index
  %step = arith.constant {lanes or 1} : index
  scf.for %i = %c0 to %end step %step {{
    %a = {load} %in[%i] : memref<?x{source}>{tails[0]}
    %r = "arith.{op}"(%a) : ({kinds[0]}) -> {kinds[1]}
    {store} %r, %out[%i] : memref<?x{result}>{tails[1]}
  }}
  func.return
}}""")
    unit = compile_llvm(emit_module(module, target).text, get_target("cpu"), 2)
    code = load_kernels([unit.object], ["k"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2)(code.address("k"))
    dtype = NUMPY.get(result) or np.dtype(f"int{result[1:]}")

    def call(values: np.ndarray) -> np.ndarray:
        held = np.ascontiguousarray(values)
        out = np.zeros(COUNT, dtype)
        function(out.ctypes.data, held.ctypes.data)
        return out

    call.keep = code  # pyright: ignore[reportFunctionMemberAccess]
    return call


def filled(values: list[float] | list[int], dtype: np.dtype | type) -> np.ndarray:
    """COUNT elements, repeating `values`."""
    return np.resize(np.array(values, dtype), COUNT)


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, where any NaN is as good as another."""
    bits = BITS[{2: "f16", 4: "f32", 8: "f64"}[actual.itemsize]]
    with np.errstate(invalid="ignore"):
        nan = np.isnan(expected.astype(np.float64))
        np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan)
    np.testing.assert_array_equal(actual.view(bits)[~nan], expected.view(bits)[~nan])


def nearest(value: float, mantissa: int, smallest: int, largest: float) -> float:
    """`value` rounded once to a float with `mantissa` bits after the point, by exact arithmetic."""
    if not math.isfinite(value) or value == 0:
        return value
    exact = abs(Fraction(value))
    exponent = max(math.frexp(float(exact))[1] - 1, smallest)
    unit = Fraction(2) ** (exponent - mantissa)
    rounded = round(exact / unit) * unit
    return math.copysign(math.inf if rounded > largest else float(rounded), value)


BF16_MAX = 255 * 2.0**120


@pytest.fixture(scope="module")
def conversions(parse):
    made: dict[tuple[object, ...], Callable[[np.ndarray], np.ndarray]] = {}

    def get(*key: object) -> Callable[[np.ndarray], np.ndarray]:
        if key not in made:
            made[key] = convert(parse, *key)  # pyright: ignore[reportArgumentType]
        return made[key]

    return get


MODES = [(0, True), (0, False), (4, True), (8, False)]


@pytest.mark.parametrize(("lanes", "native"), MODES)
@settings(deadline=None, max_examples=40)
@given(values=floats32)
def test_f32_to_bf16(conversions, lanes, native, values):
    array = filled(values, np.float32)
    same(conversions("truncf", "f32", "bf16", lanes, native)(array), array.astype(BF16))


@pytest.mark.parametrize(("lanes", "native"), MODES)
@settings(deadline=None, max_examples=40)
@given(values=floats32)
def test_f32_to_f16(conversions, lanes, native, values):
    array = filled(values, np.float32)
    with np.errstate(over="ignore"):
        same(conversions("truncf", "f32", "f16", lanes, native)(array), array.astype(np.float16))


@pytest.mark.parametrize(("lanes", "native"), MODES)
def test_f32_to_f16_around_every_half(conversions, lanes, native):
    """Each f16, the midpoint to the next one, and the f32 neighbours of that midpoint."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = ((halves[:-1] + halves[1:]) / 2).astype(np.float32)
    cases = np.concatenate(
        [halves, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(1e9))]
    )
    cases = np.concatenate([cases, -cases, [65504, 65519.99, 65520, 1e9]]).astype(np.float32)
    cases = np.concatenate([cases, np.zeros(-len(cases) % COUNT, np.float32)])
    function = conversions("truncf", "f32", "f16", lanes, native)
    actual = np.concatenate([function(part) for part in cases.reshape(-1, COUNT)])
    with np.errstate(over="ignore"):
        same(actual, cases.astype(np.float16))


@pytest.mark.parametrize(("lanes", "native"), MODES)
@settings(deadline=None, max_examples=40)
@given(values=floats64)
def test_f64_to_f16_rounds_once(conversions, lanes, native, values):
    array = filled(values, np.float64)
    with np.errstate(over="ignore"):
        same(conversions("truncf", "f64", "f16", lanes, native)(array), array.astype(np.float16))


@pytest.mark.parametrize(("lanes", "native"), MODES)
@settings(deadline=None, max_examples=40)
@given(values=floats64)
def test_f64_to_bf16_rounds_once(conversions, lanes, native, values):
    array = filled(values, np.float64)
    expected = (
        np.array([nearest(value, 7, -126, BF16_MAX) for value in array.tolist()], np.float64)
        .astype(np.float32)
        .astype(BF16)
    )
    same(conversions("truncf", "f64", "bf16", lanes, native)(array), expected)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize(("lanes", "native"), MODES)
def test_doubles_just_beside_a_tie_are_not_rounded_twice(conversions, lanes, native, kind):
    """1 + half an ulp + a speck: rounding to f32 first would lose the speck and then round the tie to even."""
    ulp = {"f16": 2.0**-10, "bf16": 2.0**-7}[kind]
    array = np.full(COUNT, 1 + ulp / 2 + 2.0**-40)
    array[1::2] = -(1 + 3 * ulp / 2 - 2.0**-40)
    actual = conversions("truncf", "f64", kind, lanes, native)(array).astype(np.float64)
    np.testing.assert_array_equal(actual[:2], [1 + ulp, -(1 + ulp)])


@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize(("lanes", "native"), MODES)
def test_widening_every_pattern_is_exact(conversions, lanes, native, kind, wide):
    patterns = np.arange(2**16, dtype=np.uint16).reshape(-1, COUNT)
    function = conversions("extf", kind, wide, lanes, native)
    actual = np.concatenate([function(part.view(NUMPY[kind])) for part in patterns])
    with np.errstate(invalid="ignore"):
        same(actual, patterns.ravel().view(NUMPY[kind]).astype(NUMPY[wide]))


def saturated(values: np.ndarray, kind: str, signed: bool) -> np.ndarray:
    info = np.iinfo(f"{'int' if signed else 'uint'}{kind[1:]}")
    out = []
    for value in values.astype(np.float64).tolist():
        out.append(0 if math.isnan(value) else int(min(max(value, -1e30), 1e30)))
    least, most = int(info.min), int(info.max)
    clipped = [min(max(value, least), most) for value in out]
    return np.array(clipped, info.dtype).view(f"int{kind[1:]}")


@pytest.mark.parametrize("op", ["fptosi", "fptoui"])
@pytest.mark.parametrize("kind", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize(("lanes", "native"), [(0, True), (4, True), (4, False)])
@settings(deadline=None, max_examples=40)
@given(values=floats32)
def test_float_to_integer_saturates(conversions, lanes, native, source, kind, op, values):
    array = filled(values, NUMPY[source])
    expected = saturated(array, kind, op == "fptosi")
    np.testing.assert_array_equal(conversions(op, source, kind, lanes, native)(array), expected)


@pytest.mark.parametrize("op", ["fptosi", "fptoui"])
@pytest.mark.parametrize("kind", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("native", [True, False])
def test_floats_beside_the_ends_of_integers(conversions, native, source, kind, op):
    ends = [0.0, *(sign * 2.0**power for sign in (1, -1) for power in (7, 8, 15, 16, 31, 32, 63, 64))]
    beside = [math.nan, math.inf, -math.inf, -0.0, 0.5, -0.5, 254.5, 1e30, -1e30]
    for end in np.array(ends, NUMPY[source]):
        beside += [end, *(np.nextafter(end, NUMPY[source](way)) for way in (-np.inf, np.inf)), end - 1, end + 1]
    for start in range(0, len(beside), COUNT):
        array = filled([float(value) for value in beside[start : start + COUNT]], NUMPY[source])
        expected = saturated(array, kind, op == "fptosi")
        np.testing.assert_array_equal(conversions(op, source, kind, 4, native)(array), expected)


@pytest.mark.parametrize("name", ["x86-64-v4", "x86-64-v3"])
@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
@pytest.mark.parametrize("op", ["fptosi", "fptoui"])
def test_no_lane_is_converted_alone_on_x86(parse, op, kind, name):
    module = parse(f"""
func.func @k(%out: memref<?x{kind}>, %in: memref<?xf32>) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %a = vector.load %in[%c0] : memref<?xf32>, vector<16xf32>
  %r = "arith.{op}"(%a) : (vector<16xf32>) -> vector<16x{kind}>
  vector.store %r, %out[%c0] : memref<?x{kind}>, vector<16x{kind}>
  func.return
}}""")
    target = get_target(name)
    assert "cvttss2" not in compile_llvm(emit_module(module, target).text, target, 3).asm


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize(("lanes", "native"), MODES)
def test_every_sixteen_bit_float_to_an_integer(conversions, lanes, native, kind):
    patterns = np.arange(2**16, dtype=np.uint16).reshape(-1, COUNT)
    function = conversions("fptosi", kind, "i32", lanes, native)
    actual = np.concatenate([function(part.view(NUMPY[kind])) for part in patterns])
    with np.errstate(invalid="ignore"):
        expected = saturated(patterns.ravel().view(NUMPY[kind]).astype(np.float64), "i32", True)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("result", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("lanes", [0, 4])
@settings(deadline=None, max_examples=40)
@given(values=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=6))
def test_integer_to_float(conversions, lanes, result, values):
    array = filled(values, np.int32)
    steps = array.astype(np.float32) if result in ("f16", "bf16") else array
    with np.errstate(over="ignore"):
        same(conversions("sitofp", "i32", result, lanes, True)(array), steps.astype(NUMPY[result]))


@settings(deadline=None, max_examples=40)
@given(value=st.floats(width=64))
def test_float_literals_are_rounded_to_their_type(value):
    """What the emitter prints for a constant is the value, rounded once."""
    with np.errstate(over="ignore"):
        half = np.array(value).astype(np.float16)
    if not math.isnan(value):
        assert float_literal(value, "half") == f"0xH{int(half.view(np.uint16)):04X}"
        expected = np.float32(nearest(value, 7, -126, BF16_MAX)).astype(BF16)
        assert float_literal(value, "bfloat") == f"0xR{int(expected.view(np.uint16)):04X}"


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "sm_90a", "gfx942", "cpu"])
@pytest.mark.parametrize("kind", ["i64", "i32", "i8", "u8", "u32"])
def test_a_kernel_may_have_several_conversions_to_integers(target, kind):
    with Graph("several", inputs=[TensorType("f64", (64,)), TensorType("f32", (64,))]) as graph:
        x, y = graph.inputs
        graph.output(*[ops.cast(value * scale, kind) for value in (x, y) for scale in (1.5, 2.5, 3.5)])
    assert compile(graph, target=target, cache=False).stage("asm").text
