"""Functions: kernels are visible, helpers are internal or expanded in place; names and attributes read well."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import LoweringError
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target

PROGRAM = """
func.func @k(%out: memref<?xi64>, %x: i64) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a, %b = func.call @both(%x) : (i64) -> (i64, i64)
  %c = func.call @twice(%a) : (i64) -> i64
  memref.store %b, %out[%c0] : memref<?xi64>
  memref.store %c, %out[%c1] : memref<?xi64>
  func.return
}
func.func private @both(%x: i64) -> (i64, i64) ATTR {
  %y = func.call @twice(%x) : (i64) -> i64
  %z = func.call @twice(%y) : (i64) -> i64
  func.return %y, %z : i64, i64
}
func.func private @twice(%x: i64) -> i64 ATTR {
  %y = arith.addi %x, %x : i64
  func.return %y : i64
}
func.func private @unused(%x: i64) -> i64 {
  func.return %x : i64
}"""
CALLS = PROGRAM.replace("ATTR", "")
INLINE = PROGRAM.replace("ATTR", "attributes {kg.inline}")


@pytest.mark.parametrize("text", [CALLS, INLINE], ids=["called", "inlined"])
@pytest.mark.parametrize("level", [0, 2])
def test_helpers_compute_the_same_called_or_inlined(build, text, level):
    out = np.zeros(2, np.int64)
    build(text, opt_level=level)(out, 3)
    assert out.tolist() == [12, 12]


def test_called_helpers_are_internal_and_unreached_ones_absent(parse):
    text = emit_module(parse(CALLS), get_target("cpu")).text
    assert "define void @k(" in text
    assert "define internal { i64, i64 } @both(" in text
    assert "define internal i64 @twice(" in text
    assert "@unused" not in text


def test_inlined_helpers_leave_no_function(parse):
    text = emit_module(parse(INLINE), get_target("cpu")).text
    assert text.count("define ") == 1
    assert "call " not in text
    assert text.count(" = add i64 ") == 3


def test_recursive_inlining_is_refused(parse):
    text = """
func.func @k(%x: i64) attributes {kg.kernel} {
  %y = func.call @f(%x) : (i64) -> i64
  func.return
}
func.func private @f(%x: i64) -> i64 attributes {kg.inline} {
  %y = func.call @f(%x) : (i64) -> i64
  func.return %y : i64
}"""
    with pytest.raises(LoweringError, match=r"f is marked kg.inline and calls itself: f -> f"):
        emit_module(parse(text), get_target("cpu"))


def test_an_inlined_helper_may_hold_a_loop(build):
    """The block a phi comes from is the one inside the expansion."""
    text = """
func.func @k(%out: memref<?xi64>, %n: index) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (i64) {
    %s = func.call @triangle(%i) : (index) -> i64
    %t = arith.addi %acc, %s : i64
    scf.yield %t : i64
  }
  memref.store %r, %out[%c0] : memref<?xi64>
  func.return
}
func.func private @triangle(%n: index) -> i64 attributes {kg.inline} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (i64) {
    %v = arith.index_cast %i : index to i64
    %t = arith.addi %acc, %v : i64
    scf.yield %t : i64
  }
  func.return %r : i64
}"""
    out = np.zeros(1, np.int64)
    build(text)(out, 10)
    assert out[0] == sum(sum(range(i)) for i in range(10))


def test_values_keep_their_names(parse):
    """Hints are used, made unique with a dot; blocks are named after what they are."""
    text = """
func.func @k(%out: memref<?xf32>, %n: index) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %row = %c0 to %n step %c1 {
    %x = memref.load %out[%row] : memref<?xf32>
    %x2 = arith.mulf %x, %x : f32
    %0 = arith.addf %x2, %x : f32
    memref.store %0, %out[%row] : memref<?xf32>
  }
  func.return
}"""
    lines = emit_module(parse(text), get_target("cpu")).text.splitlines()
    assert "for.body:" in lines
    assert "  %row = phi i64 [ 0, %entry ], [ %row.next, %for.body ]" in lines
    assert "  %x = load float, ptr %out.at, align 4" in lines
    assert "  %x2 = fmul float %x, %x" in lines
    assert "  %fadd = fadd float %x2, %x" in lines
    assert "  store float %fadd, ptr %out.at.1, align 4" in lines


def test_argument_attributes(parse):
    text = """
func.func @k(%out: memref<?xf32> {kg.noalias}, %in: memref<?xf32> {kg.noalias, kg.readonly},
             %other: memref<?xf32>) attributes {kg.kernel} {
  func.return
}"""
    emitted = emit_module(parse(text), get_target("cpu")).text
    assert "define void @k(ptr noalias %out, ptr noalias readonly %in, ptr %other) #0 {" in emitted
    assert '"target-cpu"=' in emitted


def test_a_barrier_is_a_call_into_the_runtime(parse):
    text = """
func.func @k(%tid: index, %n: index, %rt: memref<?xi8>, %out: memref<?xf32> {kg.noalias}) attributes {kg.kernel} {
  func.call @kg_barrier(%rt, %n) : (memref<?xi8>, index) -> ()
  func.return
}"""
    emitted = emit_module(parse(text), get_target("cpu")).text
    assert "  call void @kg_barrier(ptr %rt, i64 %n)" in emitted
    assert "declare void @kg_barrier(ptr, i64)" in emitted
    assert "noalias" not in emitted, "another thread may have written the buffer before the barrier"


def test_a_barrier_in_a_called_helper_counts_too(parse):
    text = """
func.func @k(%n: index, %rt: memref<?xi8>, %out: memref<?xf32> {kg.noalias}) attributes {kg.kernel} {
  func.call @outer(%n, %rt) : (index, memref<?xi8>) -> ()
  func.return
}
func.func private @outer(%n: index, %rt: memref<?xi8>) {
  func.call @meet(%n, %rt) : (index, memref<?xi8>) -> ()
  func.return
}
func.func private @meet(%n: index, %rt: memref<?xi8>) {
  func.call @kg_barrier(%rt, %n) : (memref<?xi8>, index) -> ()
  func.return
}"""
    emitted = emit_module(parse(text), get_target("cpu")).text
    assert "define void @k(i64 %n, ptr %rt, ptr %out) " in emitted


def test_an_intrinsic_of_another_processor_is_refused(parse):
    text = """
func.func @k() attributes {kg.kernel} {
  %x = "llvm.call_intrinsic"() <{intrin = "llvm.nvvm.read.ptx.sreg.tid.x", op_bundle_sizes = array<i32>,
    operandSegmentSizes = array<i32: 0, 0>}> : () -> i32
  func.return
}"""
    with pytest.raises(LoweringError, match=r"llvm.nvvm.read.ptx.sreg.tid.x is an instruction of nvptx64, not of cpu"):
        emit_module(parse(text), get_target("cpu"))


def test_names_that_llvm_must_quote(build):
    text = """
func.func @k(%out: memref<?xi64>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 5 : i64
  %y = func.call @"twice[i64, 2]"(%x) : (i64) -> i64
  memref.store %y, %out[%c0] : memref<?xi64>
  func.return
}
func.func private @"twice[i64, 2]"(%x: i64) -> i64 {
  %y = arith.addi %x, %x : i64
  func.return %y : i64
}"""
    out = np.zeros(1, np.int64)
    build(text)(out)
    assert out[0] == 10


def test_an_op_without_a_lowering_is_named_with_its_place(parse):
    text = """
func.func @k(%x: f32) attributes {kg.kernel} {
  %y = math.exp %x : f32 loc("kernels/math.py":12:3)
  func.return
}"""
    with pytest.raises(LoweringError, match=r"kernels/math.py:12: math.exp cannot be lowered"):
        emit_module(parse(text), get_target("cpu"))
