"""sroa and mem2reg: stack memory becomes values, through branches and loops, and only where every read is known."""

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from compiler.dialects.operations import count_operations
from compiler.passes.kernel.census import take_census
from compiler.passes.kernel.run import SHRINKING

PASSES = dict(SHRINKING)
HEAD = """
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c4 = arith.constant 4 : index
%zero = arith.constant 0.0 : f32
"""


def run(body, *names):
    """The module after some passes, which verifies, has the size they say, and is marked where it changed."""
    signature = 'func.func @k(%n: index, %p: i1, %m: memref<?xf32>) attributes {"kg.kernel"}'
    text = f"{signature} {{\n{HEAD}{body}\nfunc.return\n}}"
    context = Context()
    for dialect in (Builtin, arith.Arith, func.Func, memref.MemRef, scf.Scf, vector.Vector):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    before = str(module)
    census = take_census(module)
    operations = census.operations
    for name in names or ("sroa", "mem2reg"):
        edits = census.edits
        was = str(module)
        operations -= PASSES[name](census)
        assert (str(module) != was) == (census.edits != edits), f"{name} does not say whether it changed something"
    module.verify()
    assert operations == count_operations(module)
    after = str(module)
    assert (before != after) == bool(census.edits)
    return after


def test_a_sum_kept_in_memory_becomes_a_value_that_the_loop_carries():
    text = run("""
%a = memref.alloca() : memref<1xf32>
memref.store %zero, %a[%c0] : memref<1xf32>
scf.for %i = %c0 to %n step %c1 {
  %x = memref.load %m[%i] : memref<?xf32>
  %s = memref.load %a[%c0] : memref<1xf32>
  %t = arith.addf %s, %x : f32
  memref.store %t, %a[%c0] : memref<1xf32>
}
%r = memref.load %a[%c0] : memref<1xf32>
memref.store %r, %m[%c0] : memref<?xf32>
""")
    assert "alloca" not in text
    assert "iter_args" in text and "scf.yield %t : f32" in text
    assert text.count("memref.load") == 1 and text.count("memref.store") == 1


def test_a_branch_hands_on_what_it_stored():
    text = run("""
%a = memref.alloca() : memref<1xf32>
memref.store %zero, %a[%c0] : memref<1xf32>
scf.if %p {
  %x = memref.load %m[%n] : memref<?xf32>
  memref.store %x, %a[%c0] : memref<1xf32>
}
%r = memref.load %a[%c0] : memref<1xf32>
memref.store %r, %m[%c0] : memref<?xf32>
""")
    assert "alloca" not in text and "-> (f32)" in text
    assert "scf.yield %x : f32" in text and "scf.yield %zero : f32" in text


def test_a_value_that_both_arms_store_needs_no_earlier_one():
    text = run("""
%a = memref.alloca() : memref<1xf32>
scf.if %p {
  memref.store %zero, %a[%c0] : memref<1xf32>
} else {
  %x = memref.load %m[%n] : memref<?xf32>
  memref.store %x, %a[%c0] : memref<1xf32>
}
%r = memref.load %a[%c0] : memref<1xf32>
memref.store %r, %m[%c0] : memref<?xf32>
""")
    assert "alloca" not in text and "scf.yield %zero : f32" in text


def test_memory_of_one_round_is_not_carried_to_the_next():
    text = run("""
%a = memref.alloca() : memref<1xf32>
scf.for %i = %c0 to %n step %c1 {
  %x = memref.load %m[%i] : memref<?xf32>
  memref.store %x, %a[%c0] : memref<1xf32>
  %y = memref.load %a[%c0] : memref<1xf32>
  memref.store %y, %m[%c0] : memref<?xf32>
}
""")
    assert "alloca" not in text and "iter_args" not in text and "memref.store %x, %m[%c0]" in text


def test_loops_inside_branches_inside_loops():
    text = run("""
%a = memref.alloca() : memref<2xf32>
memref.store %zero, %a[%c0] : memref<2xf32>
memref.store %zero, %a[%c1] : memref<2xf32>
scf.for %i = %c0 to %n step %c1 {
  scf.if %p {
    scf.for %j = %c0 to %i step %c1 {
      %s = memref.load %a[%c0] : memref<2xf32>
      %x = memref.load %m[%j] : memref<?xf32>
      %t = arith.addf %s, %x : f32
      memref.store %t, %a[%c0] : memref<2xf32>
      memref.store %s, %a[%c1] : memref<2xf32>
    }
  }
}
%r = memref.load %a[%c0] : memref<2xf32>
%q = memref.load %a[%c1] : memref<2xf32>
memref.store %r, %m[%c0] : memref<?xf32>
memref.store %q, %m[%c1] : memref<?xf32>
""")
    assert "alloca" not in text and text.count("iter_args") == 2
    assert "-> (f32, f32)" in text


def test_a_rebuilt_loop_is_still_unrolled_and_its_branch_decided_by_later_passes():
    text = run(
        """
%a = memref.alloca() : memref<1xf32>
memref.store %zero, %a[%c0] : memref<1xf32>
%c2 = arith.constant 2 : index
scf.for %i = %c0 to %c2 step %c1 {
  %s = memref.load %a[%c0] : memref<1xf32>
  %t = arith.addf %s, %s : f32
  memref.store %t, %a[%c0] : memref<1xf32>
}
%r = memref.load %a[%c0] : memref<1xf32>
memref.store %r, %m[%c0] : memref<?xf32>
""",
        "mem2reg",
        "unroll",
    )
    assert "scf.for" not in text and text.count("arith.addf") == 2


def test_sroa_takes_an_array_apart_and_drops_what_nobody_reads():
    text = run(
        """
%a = memref.alloca() {alignment = 16 : i64} : memref<4xf32>
%l = memref.load %m[%n] : memref<?xf32>
memref.store %l, %a[%c0] : memref<4xf32>
memref.store %l, %a[%c1] : memref<4xf32>
%r = memref.load %a[%c1] : memref<4xf32>
memref.store %r, %m[%c0] : memref<?xf32>
""",
        "sroa",
    )
    assert text.count("memref.alloca") == 1 and "memref<1xf32>" in text and "memref<4xf32>" not in text
    assert text.count("memref.store") == 2 and "alignment = 16" in text


def test_sroa_and_mem2reg_work_on_vectors():
    text = run("""
%a = memref.alloca() : memref<8xf32>
%v = vector.load %m[%c0] : memref<?xf32>, vector<4xf32>
vector.store %v, %a[%c0] : memref<8xf32>, vector<4xf32>
vector.store %v, %a[%c4] : memref<8xf32>, vector<4xf32>
%w = vector.load %a[%c4] : memref<8xf32>, vector<4xf32>
vector.store %w, %m[%c4] : memref<?xf32>, vector<4xf32>
""")
    assert "alloca" not in text and "vector.store %v, %m[%c4]" in text


@pytest.mark.parametrize(
    "use",
    [
        # an element that is not known
        "memref.store %zero, %a[%c0] : memref<4xf32>\n%q = memref.load %a[%n] : memref<4xf32>",
        # a vector across elements that are used alone
        "memref.store %zero, %a[%c1] : memref<4xf32>\n%q = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>",
        # outside of the array
        "memref.store %zero, %a[%c4] : memref<4xf32>\n%q = memref.load %a[%c4] : memref<4xf32>",
    ],
)
def test_sroa_leaves_what_it_cannot_take_apart(use):
    text = run(f"%a = memref.alloca() : memref<4xf32>\n{use}", "sroa")
    assert "memref.alloca() : memref<4xf32>" in text


@pytest.mark.parametrize(
    "use",
    [
        # read in the first round before it is written
        """scf.for %i = %c0 to %n step %c1 {
  %q = memref.load %a[%c0] : memref<1xf32>
  memref.store %q, %m[%i] : memref<?xf32>
  memref.store %zero, %a[%c0] : memref<1xf32>
}""",
        # the loop may not run at all
        """scf.for %i = %c0 to %n step %c1 { memref.store %zero, %a[%c0] : memref<1xf32> }
%q = memref.load %a[%c0] : memref<1xf32>
memref.store %q, %m[%c0] : memref<?xf32>""",
        # one arm does not write
        """scf.if %p { memref.store %zero, %a[%c0] : memref<1xf32> }
%q = memref.load %a[%c0] : memref<1xf32>
memref.store %q, %m[%c0] : memref<?xf32>""",
        # somebody else sees it
        'memref.store %zero, %a[%c0] : memref<1xf32>\\n%q = "memref.cast"(%a) : (memref<1xf32>) -> memref<?xf32>',
    ],
)
def test_mem2reg_leaves_what_may_be_read_unwritten(use):
    text = run("%a = memref.alloca() : memref<1xf32>\n" + use.replace("\\n", "\n"), "mem2reg")
    assert "memref.alloca" in text


def test_unrolling_makes_positions_known_so_that_arrays_come_apart():
    text = run(
        """
%a = memref.alloca() : memref<4xf32>
%c2 = arith.constant 2 : index
scf.for %i = %c0 to %c2 step %c1 {
  %j = arith.addi %i, %c1 : index
  %x = memref.load %m[%j] : memref<?xf32>
  memref.store %x, %a[%j] : memref<4xf32>
}
%r = memref.load %a[%c1] : memref<4xf32>
%q = memref.load %a[%c2] : memref<4xf32>
%s = arith.addf %r, %q : f32
memref.store %s, %m[%c0] : memref<?xf32>
""",
        "unroll",
        "sroa",
        "mem2reg",
    )
    assert "alloca" not in text and text.count("memref.load") == 2
