"""memref and vector memory: addresses, alignment, locals, tables, atomics."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import LoweringError
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target

COPY = """
func.func @k(%out: memref<?xf32>, %in: memref<?xf32>, %i: index) attributes {kg.kernel} {
  %v = vector.load %in[%i] : memref<?xf32>, vector<4xf32>
  vector.store %v, %out[%i] ATTR : memref<?xf32>, vector<4xf32>
  func.return
}"""


def test_accesses_are_aligned_to_elements_only(parse, build):
    text = emit_module(parse(COPY.replace("ATTR", "")), get_target("cpu")).text
    assert text.count("align 4") == 2
    source, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    build(COPY.replace("ATTR", ""))(out, source, 3)
    np.testing.assert_array_equal(out, [0, 0, 0, 3, 4, 5, 6, *[0] * 9])


def test_an_access_can_promise_more(parse):
    text = emit_module(parse(COPY.replace("ATTR", "{kg.align = 16 : i64}")), get_target("cpu")).text
    assert "store <4 x float> %v, ptr %out.at, align 16" in text


def test_index_zero_needs_no_address(parse):
    text = """
func.func @k(%out: memref<?xf32>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.5 : f32
  memref.store %v, %out[%c0] : memref<?xf32>
  func.return
}"""
    emitted = emit_module(parse(text), get_target("cpu")).text
    assert "  store float 1.500000e+00, ptr %out, align 4\n" in emitted
    assert "getelementptr" not in emitted


@pytest.mark.parametrize("level", [0, 2])
def test_a_local_array_in_a_loop_is_allocated_once(build, parse, level):
    text = """
func.func @k(%out: memref<?xi64>, %n: index) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %tmp = memref.alloca() : memref<8xi64>
    %v = arith.index_cast %i : index to i64
    memref.store %v, %tmp[%c1] : memref<8xi64>
    %w = memref.load %tmp[%c1] : memref<8xi64>
    memref.store %w, %out[%i] : memref<?xi64>
  }
  func.return
}"""
    emitted = emit_module(parse(text), get_target("cpu")).text
    assert emitted.index("alloca [8 x i64]") < emitted.index("for.body:")
    out = np.zeros(1000, np.int64)
    build(text, opt_level=level)(out, 1000)
    np.testing.assert_array_equal(out, np.arange(1000))


def test_a_local_array_needs_a_constant_size(parse):
    text = """
func.func @k(%n: index) attributes {kg.kernel} {
  %tmp = memref.alloca(%n) : memref<?xi64>
  func.return
}"""
    with pytest.raises(LoweringError, match="constant 1-D size"):
        emit_module(parse(text), get_target("cpu"))


@pytest.mark.parametrize(
    ("kind", "element", "dtype", "expected"),
    [
        (1, "i64", np.int64, 10 + 3),
        (4, "i64", np.int64, 10),
        (7, "i64", np.int64, 3),
        (0, "f32", np.float32, 13.0),
        (2, "i32", np.int32, 3),
    ],
)
def test_atomics(build, kind, element, dtype, expected):
    value = "3.0" if element == "f32" else "3"
    text = f"""
func.func @k(%out: memref<?x{element}>) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant {value} : {element}
  %old = "memref.atomic_rmw"(%v, %out, %c0) <{{kind = {kind} : i64}}>
    : ({element}, memref<?x{element}>, index) -> {element}
  memref.store %old, %out[%c1] : memref<?x{element}>
  func.return
}}"""
    out = np.array([10, 0], dtype)
    build(text)(out)
    assert out.tolist() == [expected, 10]


def test_atomic_multiplication_is_refused(parse):
    text = """
func.func @k(%out: memref<?xi64>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %v = arith.constant 3 : i64
  %old = "memref.atomic_rmw"(%v, %out, %c0) <{kind = 10 : i64}> : (i64, memref<?xi64>, index) -> i64
  func.return
}"""
    with pytest.raises(LoweringError, match="atomic multiplication"):
        emit_module(parse(text), get_target("cpu"))
