"""LLVM's unroller looks at the modules that have a short loop, and only at those."""

from __future__ import annotations

import pytest

from compiler.backend.llvm import compile_llvm, has_short_loops
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target

ARM = get_target("neoverse-n1")
LOOPS = {
    "a known length": ("%c0 to %c4 step %c1", True),
    "a known length of few steps": ("%c0 to %c16 step %c4", True),
    "a known length that is long": ("%c0 to %c16 step %c1", False),
    "a length nobody knows": ("%c0 to %n step %c1", False),
    "a step nobody knows": ("%c0 to %c4 step %n", False),
    "from a place to a little behind it": ("%n to %behind step %c1", True),
    "to the end, or a little behind": ("%n to %cut step %c1", True),
    "to the end, or far behind": ("%n to %far step %c1", False),
    "a window that is cut at both edges": ("%low to %high step %c1", True),
    "a window that is cut at one edge": ("%any to %high step %c1", False),
}


def kernel(bounds: str) -> str:
    return f"""
func.func @k(%out: memref<?xi64>, %n: index, %m: index) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %behind = arith.addi %n, %c4 : index
  %cut = arith.minsi %behind, %m : index
  %distant = arith.addi %n, %c16 : index
  %far = arith.minsi %distant, %m : index
  %low = arith.maxsi %n, %c0 : index
  %any = arith.minsi %n, %c0 : index
  %rest = arith.maxsi %m, %c0 : index
  %some = arith.minsi %rest, %c4 : index
  %high = arith.maxsi %low, %some : index
  %v = arith.constant 5 : i64
  scf.for %i = {bounds} {{
    memref.store %v, %out[%i] : memref<?xi64>
  }}
  func.return
}}"""


@pytest.mark.parametrize("case", LOOPS)
def test_a_loop_is_short_where_its_bounds_show_it(parse, case):
    bounds, short = LOOPS[case]
    assert has_short_loops([emit_module(parse(kernel(bounds)), ARM).text], ARM) is short


def test_a_short_loop_over_much_is_left_to_itself(parse):
    loops = "    scf.for %j = %c0 to %n step %c1 {\n      memref.store %v, %out[%j] : memref<?xi64>\n    }\n"
    few, many = (kernel(LOOPS["a known length"][0]).replace("    memref.store", loops * n + "    memref.store", 1)
                 for n in (1, 20))  # fmt: skip
    assert has_short_loops([emit_module(parse(few), ARM).text], ARM)
    assert not has_short_loops([emit_module(parse(many), ARM).text], ARM)


@pytest.mark.parametrize("name", ["neoverse-n1", "x86-64-v4"])
def test_the_unroller_runs_where_a_loop_is_short(parse, name):
    target, passes = get_target(name), {}
    for case in ("a known length", "a length nobody knows"):
        text = emit_module(parse(kernel(LOOPS[case][0])), target).text
        unit = compile_llvm(text, target, 3, record_passes=True)
        passes[case] = {timed.name for timed in unit.pass_times}
    assert "LoopUnrollPass" in passes["a known length"]
    assert "LoopUnrollPass" not in passes["a length nobody knows"]


def test_cards_leave_the_choice_to_llvm(parse):
    target = get_target("sm_90a")
    text = emit_module(parse(kernel(LOOPS["a known length"][0])), target).text
    assert "short-loops" not in text
    assert has_short_loops([text], target)
