"""GPU emission: calling conventions, spaces, thread numbers, barriers; and no calls to functions that are not there."""

from __future__ import annotations

import re

import pytest

from compiler.errors import LoweringError
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target

REVERSE = """
"memref.global"() <{sym_name = "tile", sym_visibility = "private", type = memref<256xf32, 3 : i64>,
  initial_value, alignment = 16 : i64}> : () -> ()
func.func @reverse(%out: memref<?xf32>, %in: memref<?xf32> {kg.noalias, kg.readonly}, %n: index)
    attributes {kg.kernel, kg.threads = 256 : i64} {
  %tile = memref.get_global @tile : memref<256xf32, 3 : i64>
  %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
  %d = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
  %base = arith.muli %b, %d : index
  %i = arith.addi %base, %t : index
  %v = memref.load %in[%i] : memref<?xf32>
  memref.store %v, %tile[%t] : memref<256xf32, 3 : i64>
  "gpu.barrier"() : () -> ()
  %c1 = arith.constant 1 : index
  %last = arith.subi %d, %c1 : index
  %j = arith.subi %last, %t : index
  %w = memref.load %tile[%j] : memref<256xf32, 3 : i64>
  memref.store %w, %out[%i] : memref<?xf32>
  func.return
}"""


def test_ptx_of_a_block_reversal(lower):
    ptx = lower(REVERSE, "sm_90a").asm
    assert ".target sm_90a" in ptx
    assert ".visible .entry reverse(" in ptx
    assert ".maxntid 256" in ptx
    assert re.search(r"\.shared \.align 16 \.b8 \w+\[1024\]", ptx)
    assert "bar.sync \t0;" in ptx or "barrier.sync" in ptx
    assert "ld.global.nc.b32" in ptx, "a read-only buffer keeps its promise across the barrier"
    assert "st.shared.b32" in ptx and "ld.shared.b32" in ptx and "st.global.b32" in ptx
    assert ".extern" not in ptx


def test_amdgcn_of_a_block_reversal(lower):
    asm = lower(REVERSE, "gfx942").asm
    assert ".amdhsa_kernel reverse" in asm
    assert ".amdhsa_group_segment_fixed_size 1024" in asm
    assert ".max_flat_workgroup_size: 256" in asm
    assert "s_barrier" in asm and "ds_write_b32" in asm and "ds_read_b32" in asm


def test_a_writable_buffer_loses_noalias_in_a_kernel_with_a_barrier(parse):
    """LLVM would otherwise move its loads across the barrier, for which a call is no obstacle."""
    text = REVERSE.replace("%out: memref<?xf32>,", "%out: memref<?xf32> {kg.noalias},")
    ptr = "ptr addrspace(1)"
    emitted = emit_module(parse(text), get_target("sm_90a")).text
    assert f"({ptr} %out.global, {ptr} noalias readonly %in.global, i64 %n)" in emitted
    emitted = emit_module(parse(text.replace('"gpu.barrier"() : () -> ()\n', "\n")), get_target("sm_90a")).text
    assert f"({ptr} noalias %out.global, {ptr} noalias readonly %in.global, i64 %n)" in emitted


def test_float_code_is_not_contracted_by_ptxas(lower):
    """`mul.f32` without `.rn` may be fused with an addition by ptxas; with it, it may not."""
    text = """
func.func @k(%out: memref<?xf32>, %a: memref<?xf32>) attributes {kg.kernel} {
  %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  %x = memref.load %a[%i] : memref<?xf32>
  %p = arith.mulf %x, %x : f32
  %s = arith.addf %p, %x : f32
  %q = arith.divf %s, %x : f32
  %r = math.sqrt %q : f32
  memref.store %r, %out[%i] : memref<?xf32>
  func.return
}"""
    ptx = lower(text, "sm_90a").asm
    for instruction in ("mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"):
        assert instruction in ptx


def test_aligned_vectors_are_single_instructions(lower):
    text = """
func.func @k(%out: memref<?xf32, 1 : i64>, %a: memref<?xf32, 1 : i64>, %i: index) attributes {kg.kernel} {
  %v = "vector.load"(%a, %i) {kg.align = 16 : i64} : (memref<?xf32, 1 : i64>, index) -> vector<4xf32>
  "vector.store"(%v, %out, %i) {kg.align = 16 : i64} : (vector<4xf32>, memref<?xf32, 1 : i64>, index) -> ()
  func.return
}"""
    ptx = lower(text, "sm_90a").asm
    assert "ld.global.v4.b32" in ptx and "st.global.v4.b32" in ptx


def test_intrinsics_and_inline_assembly(lower):
    text = """
func.func @k(%out: memref<?xi32>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %all = arith.constant -1 : i32
  %one = arith.constant 1 : i32
  %clamp = arith.constant 31 : i32
  %lane = "llvm.inline_asm"() <{asm_string = "mov.u32 $0, %laneid;", constraints = "=r"}> : () -> i32
  %far = "llvm.call_intrinsic"(%all, %lane, %one, %clamp) <{
    intrin = "llvm.nvvm.shfl.sync.bfly.i32", op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 4, 0>
  }> : (i32, i32, i32, i32) -> i32
  memref.store %far, %out[%c0] : memref<?xi32>
  func.return
}"""
    ptx = lower(text, "sm_90a").asm
    assert "mov.u32 " in ptx and "%laneid" in ptx
    assert "shfl.sync.bfly.b32" in ptx


def test_assembly_that_waits_for_other_threads_stays_where_all_of_them_come_by(lower):
    wait = '"llvm.inline_asm"() <{asm_string = "bar.sync 1, 96;", constraints = "~{memory}"}> : () -> ()'
    text = f"""
func.func @k(%out: memref<?xi32>) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %thread = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %first = arith.cmpi eq, %thread, %c0 : index
  {wait}
  scf.if %first {{ memref.store %one, %out[%c0] : memref<?xi32> }}
  {wait}
  scf.if %first {{ memref.store %one, %out[%c1] : memref<?xi32> }}
  func.return
}}"""
    # A copy of the second one in each branch would have the first thread wait apart from the others.
    assert lower(text, "sm_90a").asm.count("bar.sync 1, 96;") == 2


def test_assembly_with_several_results(lower):
    text = """
func.func @k(%out: memref<?xi32>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %both = "llvm.inline_asm"() <{
    asm_string = "{mov.u32 $0, %laneid; mov.u32 $1, %warpid;}", constraints = "=r,=r"
  }> : () -> !llvm.struct<(i32, i32)>
  %a = "llvm.extractvalue"(%both) <{position = array<i64: 0>}> : (!llvm.struct<(i32, i32)>) -> i32
  %b = "llvm.extractvalue"(%both) <{position = array<i64: 1>}> : (!llvm.struct<(i32, i32)>) -> i32
  memref.store %a, %out[%c0] : memref<?xi32>
  memref.store %b, %out[%c1] : memref<?xi32>
  func.return
}"""
    assert "%warpid" in lower(text, "sm_90").asm


@pytest.mark.parametrize("target", ["sm_90a", "gfx942", "gfx1100"])
def test_sizes_exist_everywhere(lower, target):
    text = """
func.func @k(%out: memref<?xi64>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %a = gpu.block_dim y
  %b = gpu.grid_dim z
  %g = arith.addi %a, %b : index
  %v = arith.index_cast %g : index to i64
  memref.store %v, %out[%c0] : memref<?xi64>
  func.return
}"""
    text = text.replace("gpu.block_dim y", '"gpu.block_dim"() <{dimension = #gpu<dim y>}> : () -> index')
    text = text.replace("gpu.grid_dim z", '"gpu.grid_dim"() <{dimension = #gpu<dim z>}> : () -> index')
    for level in (0, 3):
        assert lower(text, target, opt_level=level).asm


def test_private_arrays_live_in_the_right_space(lower):
    text = """
func.func @k(%out: memref<?xf32>, %i: index, %j: index) attributes {kg.kernel} {
  %a = memref.alloca() : memref<16xf32>
  %b = memref.alloca() : memref<16xf32, 5 : i64>
  %v = arith.constant 2.0 : f32
  memref.store %v, %a[%i] : memref<16xf32>
  memref.store %v, %b[%j] : memref<16xf32, 5 : i64>
  %x = memref.load %a[%j] : memref<16xf32>
  %y = memref.load %b[%i] : memref<16xf32, 5 : i64>
  %s = arith.addf %x, %y : f32
  memref.store %s, %out[%i] : memref<?xf32>
  func.return
}"""
    assert "st.local.b32" in lower(text, "sm_90a").asm
    assert "alloca [16 x float], align 16, addrspace(5)" in lower(text, "gfx942", opt_level=0).llvm_opt


def test_gpu_ops_are_refused_on_a_cpu(parse):
    with pytest.raises(LoweringError, match=r"gpu.thread_id has no meaning on cpu"):
        emit_module(parse(REVERSE), get_target("cpu"))
