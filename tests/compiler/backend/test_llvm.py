"""LLVM's part: levels, timings, errors, what can be had later."""

from __future__ import annotations

import pickle

import pytest

from compiler.backend.llvm import CompiledUnit, compile_llvm, emit_object, optimise
from compiler.errors import CompilerError, LoweringError
from compiler.targets import get_target

HOST = get_target("cpu")
TEXT = f"""target datalayout = "{HOST.data_layout}"
target triple = "{HOST.triple}"
define i64 @square_sum(i64 %n) {{
entry:
  %slot = alloca i64
  store i64 0, ptr %slot
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %old = load i64, ptr %slot
  %square = mul i64 %i, %i
  %new = add i64 %old, %square
  store i64 %new, ptr %slot
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %result = load i64, ptr %slot
  ret i64 %result
}}
"""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_gives_an_object_and_times(level):
    unit = compile_llvm(TEXT, HOST, level)
    assert unit.object[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    assert {"parse", "optimise", "emit"} <= unit.seconds.keys()
    assert all(seconds >= 0 for seconds in unit.seconds.values())
    assert ("alloca" in unit.llvm_opt) == (level == 0)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_llvms_own_pipeline_can_be_asked_for(level):
    assert "alloca" not in compile_llvm(TEXT, HOST, level, pipeline="llvm").llvm_opt


def test_texts_can_be_had_later_and_are_the_same_then():
    early = compile_llvm(TEXT, HOST, 2)
    late = compile_llvm(TEXT, HOST, 2, with_object=False)
    assert late.asm == early.asm
    assert late.llvm_opt == early.llvm_opt
    assert early.object and not late.object


def test_units_travel_between_processes():
    unit = compile_llvm(TEXT, HOST, 2)
    copy = pickle.loads(pickle.dumps(unit))
    assert copy == unit
    assert copy.asm == unit.asm


def test_compiling_twice_gives_the_same_bytes():
    assert compile_llvm(TEXT, HOST, 3).object == compile_llvm(TEXT, HOST, 3).object


def test_the_steps_one_by_one():
    optimised = optimise(TEXT, HOST, 2)
    code = emit_object(optimised)
    unit, taken_apart = compile_llvm(TEXT, HOST, 2), CompiledUnit(HOST.name, 2, code, optimised.bitcode, {})
    assert (taken_apart.asm, code, taken_apart.llvm_opt) == (unit.asm, unit.object, unit.llvm_opt)


def test_pass_times_are_recorded_when_asked_for():
    unit = compile_llvm(TEXT, HOST, 3, record_passes=True)
    names = [entry.name for entry in unit.pass_times]
    assert "InstCombinePass" in names
    assert len(names) == len(set(names))
    assert not compile_llvm(TEXT, HOST, 3).pass_times


def test_llvm_says_what_is_wrong_with_a_text():
    with pytest.raises(LoweringError, match=r"LLVM rejects the module: .*expected type"):
        compile_llvm("define nonsense", HOST, 2)


def test_an_invalid_module_is_refused_before_it_can_do_harm():
    with pytest.raises(LoweringError, match=r"LLVM rejects the module: .*dominate"):
        compile_llvm(TEXT.replace("store i64 0, ptr %slot", "store i64 %new, ptr %slot"), HOST, 2)


def test_an_unknown_level_is_refused():
    with pytest.raises(CompilerError, match="optimisation level 4 is not one of"):
        compile_llvm(TEXT, HOST, 4)


def test_ptx_is_the_object_of_a_gpu():
    target = get_target("sm_90a")
    head = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n'
    text = head + "define ptx_kernel void @k() {\n  ret void\n}\n"
    unit = compile_llvm(text, target, 3)
    assert b".visible .entry k" in unit.object
    assert unit.asm == unit.object.decode()


def test_an_intrinsic_that_llvm_has_a_newer_one_for_is_known():
    text = """
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
define float @k(float %x) {
  %y = call float @llvm.nvvm.ex2.approx.ftz.f(float %x)
  ret float %y
}
"""
    assert "ex2.approx.ftz" in compile_llvm(text, get_target("sm_90"), 3).asm
