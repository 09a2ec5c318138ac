"""Provenance: every line knows its node, in LLVM IR with or without debug info, optimised, and in assembly."""

from __future__ import annotations

import pytest

from compiler.backend.llvm import compile_llvm
from compiler.backend.provenance import line_provenance
from compiler.lowering.llvm_text import emit_module, module_text
from compiler.targets import get_target

TEXT = """
func.func @k(%out: memref<?xf32>, %in: memref<?xf32>, %n: index) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %in[%i] : memref<?xf32> loc("fused.py":3:7)
    %y = func.call @half(%x) : (f32) -> f32 loc("fused.py":4:9)
    %z = arith.subf %y, %x : f32 loc("fused.py":5:11)
    memref.store %z, %out[%i] : memref<?xf32> loc("fused.py":6:12)
  } loc("fused.py":2:5)
  func.return loc("fused.py":2:5)
} loc("fused.py":1:0)
func.func private @half(%x: f32) -> f32 ATTR {
  %c = arith.constant 0.3 : f32
  %y = arith.mulf %x, %c : f32 loc("kernels/math.py":40:1)
  %z = arith.addf %y, %c : f32 loc("kernels/math.py":41:0)
  func.return %z : f32 loc("kernels/math.py":42:0)
}"""
INLINE = TEXT.replace("ATTR", "attributes {kg.inline}")
CALLED = TEXT.replace("ATTR", "")
EXPECTED = {"load float": 7, "fmul": 9, "fadd": 9, "fsub": 11, "store float": 12, "icmp": 5, "phi": 5, "for.body:": 5}


def check(text: str, provenance: list[int], expected: dict[str, int]) -> None:
    lines = text.splitlines()
    assert len(lines) == len(provenance)
    for needle, node in expected.items():
        found = {provenance[i] for i, line in enumerate(lines) if needle in line and "declare" not in line}
        assert found == {node}, needle


@pytest.mark.parametrize("debug", ["none", "line-tables"])
def test_each_line_as_emitted(parse, debug):
    emitted = emit_module(parse(INLINE), get_target("cpu"), debug)
    check(emitted.text, emitted.line_prov, EXPECTED)


def test_debug_info_says_the_same(parse):
    emitted = emit_module(parse(INLINE), get_target("cpu"), "line-tables")
    expected = {needle: node for needle, node in EXPECTED.items() if not needle.endswith(":")}
    check(emitted.text, line_provenance(emitted.text, "llvm"), expected)


@pytest.mark.parametrize("debug", ["none", "line-tables"])
@pytest.mark.parametrize("text", [INLINE, CALLED], ids=["inlined", "called"])
def test_the_text_alone_is_the_same_text(parse, text, debug):
    target = get_target("cpu")
    assert module_text(parse(text), target, debug) == emit_module(parse(text), target, debug).text


def test_no_debug_info_means_no_metadata(parse):
    assert "!" not in emit_module(parse(INLINE), get_target("cpu"), "none").text


@pytest.mark.parametrize("text", [INLINE, CALLED], ids=["inlined", "called"])
@pytest.mark.parametrize("level", [0, 3])
def test_it_survives_optimisation(parse, text, level):
    """Inlined by LLVM, the helper's ops without a node of their own take the call's."""
    target = get_target("cpu")
    unit = compile_llvm(emit_module(parse(text), target, "line-tables").text, target, level, pipeline="llvm")
    expected = {"load float": 7, "fsub": 11, "store float": 12}
    if text is INLINE:
        expected |= {"fmul": 9, "fadd": 9}
    elif level:
        expected |= {"fmul": 1, "fadd": 9}
    check(unit.llvm_opt, line_provenance(unit.llvm_opt, "llvm-opt"), expected)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("neoverse-n1", {"\tfmul\t": 9, "\tfadd\t": 9, "\tfsub\t": 11, "\tldr\ts": 7, "\tstr\ts": 12}),
        ("x86-64-v3", {"vmulss": 9, "vsubss": 11}),
        ("sm_90a", {"mul.rn.f32": 9, "sub.rn.f32": 11, "ld.global.b32": 7, "st.global.b32": 12}),
        ("gfx942", {"v_mul_f32": 9, "v_sub_f32": 11, "global_store_dword": 12}),
    ],
)
def test_it_reaches_assembly(parse, target, expected):
    chosen = get_target(target)
    unit = compile_llvm(emit_module(parse(INLINE), chosen, "line-tables").text, chosen, 2)
    check(unit.asm, line_provenance(unit.asm, chosen.emission.assembly), expected)


def test_ptx_with_line_tables_is_not_a_debug_build(parse):
    target = get_target("sm_90a")
    unit = compile_llvm(emit_module(parse(INLINE), target, "line-tables").text, target, 2)
    assert ".target sm_90a\n" in unit.asm


def test_files_of_other_kernels_are_named(parse):
    text = emit_module(parse(INLINE), get_target("cpu"), "line-tables").text
    assert '!DIFile(filename: "math.py", directory: "kernels")' in text
    assert '!DIFile(filename: "fused.py", directory: "")' in text
    assert "!DILexicalBlockFile(" in text


def test_ids_too_large_for_a_column_survive_in_line_prov(parse):
    text = INLINE.replace('"fused.py":5:11', '"fused.py":5:70000')
    emitted = emit_module(parse(text), get_target("cpu"), "line-tables")
    check(emitted.text, emitted.line_prov, {"fsub": 70000})
    check(emitted.text, line_provenance(emitted.text, "llvm"), {"fsub": 0})
