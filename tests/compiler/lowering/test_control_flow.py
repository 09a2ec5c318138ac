"""scf becomes blocks and phis that compute the same thing, at every optimisation level."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import LoweringError
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target

LEVELS = [0, 1, 2]
HEAD = """
func.func @k(%out: memref<?xi64>, %n: index) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
"""


def run(build, body: str, n: int, level: int, size: int = 4) -> list[int]:
    kernel = build(HEAD + body + "\n  func.return\n}", opt_level=level)
    out = np.full(size, -1, np.int64)
    kernel(out, n)
    return out.tolist()


SUM = """
  %zero = arith.constant 0 : i64
  %total, %last = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %prev = %zero) -> (i64, i64) {
    %v = arith.index_cast %i : index to i64
    %next = arith.addi %acc, %v : i64
    scf.yield %next, %acc : i64, i64
  }
  memref.store %total, %out[%c0] : memref<?xi64>
  memref.store %last, %out[%c1] : memref<?xi64>"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [-3, 0, 1, 2, 10])
def test_for_carries_values_and_may_not_run(build, n, level):
    total = sum(range(max(n, 0)))
    last = sum(range(max(n - 1, 0)))
    assert run(build, SUM, n, level)[:2] == [total, last]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("low", "high", "step", "trips"), [(0, 0, 1, 0), (3, 4, 1, 1), (0, 10, 3, 4), (5, 2, 1, 0), (-2, 2, 1, 4)]
)
def test_for_with_constant_bounds(build, low, high, step, trips, level):
    body = f"""
  %low = arith.constant {low} : index
  %high = arith.constant {high} : index
  %step = arith.constant {step} : index
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %count = scf.for %i = %low to %high step %step iter_args(%acc = %zero) -> (i64) {{
    %next = arith.addi %acc, %one : i64
    scf.yield %next : i64
  }}
  memref.store %count, %out[%c0] : memref<?xi64>"""
    assert run(build, body, 0, level)[0] == trips


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [0, 3, 7])
def test_nested_loops_and_ifs(build, n, level):
    """Counts pairs i <= j by branches inside loops: the phis must name the blocks that really jump to them."""
    body = """
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (i64) {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (i64) {
      %ordered = arith.cmpi sle, %i, %j : index
      %next = scf.if %ordered -> (i64) {
        %more = arith.addi %b, %one : i64
        scf.yield %more : i64
      } else {
        scf.yield %b : i64
      }
      scf.yield %next : i64
    }
    scf.yield %inner : i64
  }
  memref.store %count, %out[%c0] : memref<?xi64>"""
    assert run(build, body, n, level)[0] == n * (n + 1) // 2


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("n", "expected"), [(0, -1), (5, 77)])
def test_if_without_else(build, n, expected, level):
    body = """
  %some = arith.cmpi sgt, %n, %c0 : index
  scf.if %some {
    %v = arith.constant 77 : i64
    memref.store %v, %out[%c0] : memref<?xi64>
  }"""
    assert run(build, body, n, level)[0] == expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 6, 27])
def test_while_runs_until_its_condition_fails(build, n, level):
    """The Collatz sequence: the condition region passes on other values than the ones carried around."""
    body = """
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %start = arith.index_cast %n : index to i64
  %steps, %final = scf.while (%x = %start, %k = %zero) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %x, %one : i64
    scf.condition(%go) %k, %x : i64, i64
  } do {
  ^bb0(%k2: i64, %x2: i64):
    %rem = arith.remsi %x2, %two : i64
    %odd = arith.cmpi eq, %rem, %one : i64
    %next = scf.if %odd -> (i64) {
      %t = arith.muli %x2, %three : i64
      %u = arith.addi %t, %one : i64
      scf.yield %u : i64
    } else {
      %h = arith.divsi %x2, %two : i64
      scf.yield %h : i64
    }
    %more = arith.addi %k2, %one : i64
    scf.yield %next, %more : i64, i64
  }
  memref.store %steps, %out[%c0] : memref<?xi64>
  memref.store %final, %out[%c1] : memref<?xi64>"""
    x, steps = n, 0
    while x != 1:
        x, steps = (3 * x + 1 if x % 2 else x // 2), steps + 1
    assert run(build, body, n, level)[:2] == [steps, 1]


def test_a_swap_in_a_loop_uses_the_old_values(build):
    """Both carried values are phis of the same block, so they change together."""
    body = """
  %a0 = arith.constant 1 : i64
  %b0 = arith.constant 2 : i64
  %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a0, %y = %b0) -> (i64, i64) {
    scf.yield %y, %x : i64, i64
  }
  memref.store %a, %out[%c0] : memref<?xi64>
  memref.store %b, %out[%c1] : memref<?xi64>"""
    assert run(build, body, 3, 0)[:2] == [2, 1]
    assert run(build, body, 4, 2)[:2] == [1, 2]


def test_a_step_must_be_positive(parse):
    text = HEAD + "  scf.for %i = %c0 to %n step %c0 {\n  }\n  func.return\n}"
    with pytest.raises(LoweringError, match="needs a positive step, not 0"):
        emit_module(parse(text), get_target("cpu"))
