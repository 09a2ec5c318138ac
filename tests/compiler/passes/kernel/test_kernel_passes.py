"""The kernel passes, each on a small module of its own: what goes in, what comes out."""

import gc

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from compiler.dialects.operations import count_operations
from compiler.passes.kernel.census import take_census
from compiler.passes.kernel.run import SHRINKING

PASSES = dict(SHRINKING)


def parse(text):
    context = Context()
    for dialect in (Builtin, arith.Arith, func.Func, memref.MemRef, scf.Scf):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def run(text, *names):
    module = parse(text)
    census = take_census(module)
    before = count_operations(module)
    assert census.operations == before
    for name in names:
        PASSES[name](census)
    module.verify()
    return str(module)


def names_in(text):
    return [
        word
        for line in text.splitlines()
        for word in line.replace("(", " ").split()
        if "." in word and word[0].isalpha()
    ]


def function(body, arguments="%x: index, %m: memref<?xf32>", attributes='"kg.kernel"'):
    return f"func.func @k({arguments}) attributes {{{attributes}}} {{\n{body}\nfunc.return\n}}"


STORE = "%v = arith.constant 1.0 : f32\nmemref.store %v, %m[{}] : memref<?xf32>"


@pytest.mark.parametrize(
    "operation, left",
    [
        ("%r = arith.addi %x, %c0 : index", "%x"),
        ("%r = arith.addi %c0, %x : index", "%x"),
        ("%r = arith.muli %x, %c1 : index", "%x"),
        ("%r = arith.muli %x, %c0 : index", "%c0"),
        ("%r = arith.divui %x, %c1 : index", "%x"),
        ("%r = arith.subi %x, %c0 : index", "%x"),
        ("%t = arith.constant true\n%r = arith.select %t, %x, %c1 : index", "%x"),
    ],
)
def test_canonicalise_takes_out_what_changes_nothing(operation, left):
    constants = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
    text = run(function(constants + operation + "\n" + STORE.format("%r")), "canonicalise")
    assert f"memref.store %v, %m[{left}]" in text


def test_canonicalise_leaves_floats_alone():
    body = """
%z = arith.constant 0.0 : f32
%l = memref.load %m[%x] : memref<?xf32>
%r = arith.addf %l, %z : f32
memref.store %r, %m[%x] : memref<?xf32>
"""
    assert "arith.addf" in run(function(body), "canonicalise", "sccp")


def test_sccp_folds_integers_and_takes_the_arm_that_runs():
    body = """
%a = arith.constant 6 : index
%b = arith.constant 7 : index
%p = arith.muli %a, %b : index
%c = arith.cmpi slt, %a, %b : index
%r = scf.if %c -> (index) { scf.yield %p : index } else { scf.yield %x : index }
"""
    text = run(function(body + STORE.format("%r")), "sccp")
    assert "arith.constant 42 : index" in text and "scf.if" not in text


def test_sccp_wraps_as_the_machine_does():
    body = """
%a = arith.constant 100 : i8
%b = arith.constant 100 : i8
%p = arith.addi %a, %b : i8
%i = arith.index_cast %p : i8 to index
"""
    assert "arith.constant -56 : i8" in run(function(body + STORE.format("%i")), "sccp")


def test_sccp_knows_that_a_loop_hands_a_value_on():
    body = """
%a = arith.constant 0 : index
%b = arith.constant 9 : index
%s = arith.constant 1 : index
%r = scf.for %i = %a to %b step %s iter_args(%k = %x) -> (index) {
  %v = arith.constant 1.0 : f32
  memref.store %v, %m[%k] : memref<?xf32>
  scf.yield %k : index
}
%w = arith.constant 2.0 : f32
memref.store %w, %m[%r] : memref<?xf32>
"""
    text = run(function(body), "sccp")
    assert "%m[%x]" in text and "%m[%r]" not in text


@pytest.mark.parametrize("upper, stores", [(0, 0), (1, 1), (3, 3)])
def test_unroll_short_loops(upper, stores):
    body = f"""
%a = arith.constant 0 : index
%b = arith.constant {upper} : index
%s = arith.constant 1 : index
scf.for %i = %a to %b step %s {{
  %v = arith.constant 1.0 : f32
  memref.store %v, %m[%i] : memref<?xf32>
}}
"""
    text = run(function(body), "unroll")
    assert "scf.for" not in text and text.count("memref.store") == stores


def test_unroll_carries_values_from_round_to_round():
    body = """
%a = arith.constant 2 : index
%b = arith.constant 5 : index
%s = arith.constant 1 : index
%r = scf.for %i = %a to %b step %s iter_args(%k = %x) -> (index) {
  %n = arith.addi %k, %i : index
  scf.yield %n : index
}
"""
    text = run(function(body + STORE.format("%r")), "unroll")
    assert text.count("arith.addi") == 3 and "scf.for" not in text
    assert all(f"arith.constant {number} : index" in text for number in (2, 3, 4))


def test_unroll_leaves_long_loops():
    body = """
%a = arith.constant 0 : index
%b = arith.constant 100 : index
%s = arith.constant 1 : index
scf.for %i = %a to %b step %s {
  scf.yield
}
"""
    assert "scf.for" in run(function(body), "unroll")


MEMORY = """
%a = memref.alloca() : memref<4xf32>
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%l = memref.load %m[%x] : memref<?xf32>
memref.store %l, %a[%c0] : memref<4xf32>
{}
%r = memref.load %a[%c0] : memref<4xf32>
memref.store %r, %m[%c1] : memref<?xf32>
"""


def test_mem2reg_turns_an_array_into_values():
    text = run(function(MEMORY.format("")), "sroa", "mem2reg")
    assert "alloca" not in text and "memref.store %l, %m[%c1]" in text


def test_mem2reg_reads_inside_a_loop_what_was_stored_before_it():
    loop = """
scf.for %i = %c0 to %x step %c1 {
  %q = memref.load %a[%c0] : memref<4xf32>
  memref.store %q, %m[%i] : memref<?xf32>
}
memref.store %l, %a[%c1] : memref<4xf32>
"""
    text = run(function(MEMORY.format(loop)), "sroa", "mem2reg")
    assert "alloca" not in text and "memref.store %l, %m[%i]" in text


@pytest.mark.parametrize(
    "use",
    [
        "%q = memref.load %a[%x] : memref<4xf32>",  # an element that is not known
        "%q = memref.load %a[%c1] : memref<4xf32>\nmemref.store %q, %m[%x] : memref<?xf32>",  # not written yet
        '%q = "memref.cast"(%a) : (memref<4xf32>) -> memref<?xf32>',  # seen by others
    ],
)
def test_mem2reg_leaves_what_it_cannot_follow(use):
    assert "alloca" in run(function(MEMORY.format(use)), "sroa", "mem2reg")


def test_cse_and_licm_clean_up_where_something_changed():
    body = """
%a = arith.constant 0 : index
%b = arith.constant 1 : index
%n = arith.constant 50 : index
scf.for %one = %a to %b step %b {
  %p = arith.addi %x, %n : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %m[%p] : memref<?xf32>
}
scf.for %i = %a to %n step %b {
  %p = arith.addi %x, %n : index
  %q = arith.muli %p, %n : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %m[%q] : memref<?xf32>
}
"""
    text = run(function(body), "unroll", "cse", "licm")
    assert text.count("arith.addi") == 1
    before, loop = text.split("scf.for")
    assert "arith.muli" in before and "arith.muli" not in loop
    assert "scf.for" in text and "memref.store" in loop


def test_licm_does_not_divide_early():
    body = """
%a = arith.constant 0 : index
%b = arith.constant 1 : index
scf.for %one = %a to %b step %b { scf.yield }
scf.for %i = %a to %x step %b {
  %q = arith.divui %b, %x : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %m[%q] : memref<?xf32>
}
"""
    assert "arith.divui" in run(function(body), "unroll", "licm").split("scf.for")[1]


HELPERS = """
func.func @once(%x: index, %unused: index) -> index attributes {"kg.inline"} {
  %r = arith.addi %x, %x : index
  func.return %r : index
}
func.func @shared(%x: index, %unused: index) -> index attributes {"kg.outlined"} {
  %r = arith.muli %x, %x : index
  func.return %r : index
}
func.func @nobody(%x: index) -> index attributes {"kg.inline"} {
  %r = func.call @also(%x) : (index) -> index
  func.return %r : index
}
func.func @also(%x: index) -> index attributes {"kg.inline"} {
  func.return %x : index
}
"""
CALLS = (
    "%p = func.call @once(%x, %x) : (index, index) -> index\n%q = func.call @shared(%p, %x) : (index, index) -> index\n"
    + STORE.format("%q")
)


def test_inline_moves_what_is_called_once_and_leaves_what_is_shared():
    text = run(HELPERS + function(CALLS), "inline")
    assert "@once" not in text and "arith.addi" in text and "func.call @shared" in text


def test_dead_symbols_and_what_only_they_called_go():
    text = run(HELPERS + function(CALLS), "dead-symbols")
    assert "@nobody" not in text and "@also" not in text and "@once" in text and "@shared" in text


def test_dead_arguments_go_from_functions_and_calls():
    text = run(HELPERS + function(CALLS), "dead-args")
    assert "@shared(%x: index) -> index" in text and "func.call @shared(%p) : (index) -> index" in text


def test_dead_arguments_go_from_calls_that_unrolling_made():
    loop = """
%a = arith.constant 0 : index
%b = arith.constant 2 : index
%s = arith.constant 1 : index
%q = scf.for %i = %a to %b step %s iter_args(%k = %x) -> (index) {
  %p = func.call @shared(%k, %i) : (index, index) -> index
  scf.yield %p : index
}
"""
    text = run(HELPERS + function(loop + STORE.format("%q")), "unroll", "dead-args")
    assert text.count("func.call @shared") == 2 and text.count(": (index) -> index") == 3


def test_what_goes_with_a_branch_is_counted_and_left_alone():
    body = """
%c = arith.constant false
%a = arith.constant 0 : index
%b = arith.constant 1 : index
scf.if %c {
  scf.for %i = %a to %b step %b {
    %v = arith.constant 1.0 : f32
    memref.store %v, %m[%i] : memref<?xf32>
  }
}
"""
    module = parse(function(body))
    census = take_census(module)
    before = count_operations(module)
    removed = sum(PASSES[name](census) for name in ("sccp", "unroll"))
    assert before - removed == count_operations(module) == 5


def test_nothing_to_do_changes_nothing():
    body = "%l = memref.load %m[%x] : memref<?xf32>\nmemref.store %l, %m[%x] : memref<?xf32>"
    before = str(parse(function(body)))
    assert run(function(body), *PASSES) == before


def test_a_new_operation_is_never_taken_for_one_that_is_gone():
    dropped = "\n".join(f"%d{k} = arith.addi %x, %x : index" for k in range(200))
    text = function(f"%t = arith.constant true\nscf.if %t {{\n}} else {{\n{dropped}\n}}")
    module = parse(text)
    census = take_census(module)
    PASSES["sccp"](census)
    gc.collect()  # what has gone may leave its place in memory to what comes
    block = module.body.block.first_op.body.block
    new = [arith.AddiOp(block.args[0], block.args[0]) for _ in range(1000)]
    for operation in new:
        block.insert_op_before(operation, block.last_op)
    assert not any(census.is_gone(operation) for operation in new)
