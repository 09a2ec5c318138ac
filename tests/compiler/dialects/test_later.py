"""Operations that are defined when the first of a kind is made, and formats that are parsed when one is printed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

WRITTEN = """
import xdsl.irdl.declarative_assembly_format_parser as parser
parsed = []
plain = parser.FormatParser.parse_format
parser.FormatParser.parse_format = lambda self: parsed.append(1) or plain(self)
{begin}
import compiler.backend.emission, compiler.passes.kernel.run
print(len(parsed) > 0)
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, memref
from xdsl.parser import Parser
text = '''func.func @f(%a: memref<4xf32>, %i: index) -> f32 {{
  %x = memref.load %a[%i] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  %z = "arith.cmpf"(%x, %y) <{{fastmath = #arith.fastmath<none>, predicate = 2 : i64}}> : (f32, f32) -> i1
  func.return %y : f32
}}'''
context = Context()
for dialect in (arith.Arith, builtin.Builtin, func.Func, memref.MemRef):
    context.load_dialect(dialect)
module = Parser(context, text).parse_module()
module.verify()
print(module)
"""


KINDS = """
{begin}
import importlib, re
for name in ("arith", "builtin", "func", "memref", "math", "vector", "scf", "gpu", "llvm"):
    importlib.import_module(f"xdsl.dialects.{{name}}")
for name in ("kgen", "mo.ops", "std"):
    importlib.import_module(f"compiler.dialects.{{name}}")
from xdsl.irdl import IRDLOperation

def kinds(of):
    for each in of.__subclasses__():
        yield each
        yield from kinds(each)

found = sorted(set(kinds(IRDLOperation)), key=lambda kind: (kind.__module__, kind.__qualname__))
from compiler.dialects import later
print(len(later._waiting))
for kind in found:
    {ask}
    definition = kind.get_irdl_definition()
    if definition is None:
        continue
    members = sorted((name, type(member).__name__) for name, member in vars(kind).items())
    print(re.sub("0x[0-9a-f]+", "", f"{{kind}} {{definition!r}} {{members}} {{kind.traits!r}}"))
"""


def said(begin, text=WRITTEN, ask=""):
    code = text.format(begin=begin, ask=ask)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    first, _, rest = done.stdout.partition("\n")
    return first, rest


def test_texts_are_read_and_written_as_before_and_nothing_is_parsed_on_the_way():
    before = said("")
    later = said("from compiler.dialects.later import define_operations_later; define_operations_later()")
    assert before[0] == "True" and later[0] == "False"
    assert later[1] == before[1] and "arith.addf" in later[1]


LATER = "from compiler.dialects.later import define_operations_later; define_operations_later()"


@pytest.mark.parametrize("ask", ["", "getattr(kind, 'traits', None)"])
def test_kinds_of_operations_are_the_same_whenever_they_are_defined(ask):
    at_once, later = said("", KINDS), said(LATER, KINDS, ask)
    assert at_once[0] == "0" and int(later[0]) > 200
    assert later[1] == at_once[1] and "llvm.inline_asm" in later[1]


def test_who_defines_operations_of_their_own_hears_of_mistakes_at_once():
    code = (
        LATER
        + """
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.utils.exceptions import PyRDLOpDefinitionError
try:
    @irdl_op_definition
    class Wrong(IRDLOperation):
        name = "own.wrong"
        wrong = 3
except PyRDLOpDefinitionError:
    print("heard")
"""
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "heard\n"


def test_a_kind_that_is_made_first_by_several_threads_is_whole():
    code = (
        LATER
        + """
import threading
from xdsl.dialects import arith, builtin
made = []
def make():
    gate.wait()
    one = arith.ConstantOp(builtin.IntegerAttr(1, builtin.i32))
    made.append(arith.AddiOp(one, one).verify())
gate = threading.Barrier(8)
threads = [threading.Thread(target=make) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(made))
"""
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "8\n", done.stderr
