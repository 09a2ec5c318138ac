"""Formats of operations that are parsed when they are first needed: texts are what they were."""

import subprocess
import sys
from pathlib import Path

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


def said(begin):
    code = WRITTEN.format(begin=begin)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    first, _, rest = done.stdout.partition("\n")
    return first, rest


def test_texts_are_read_and_written_as_before_and_nothing_is_parsed_on_the_way():
    before = said("")
    later = said("from compiler.dialects.formats import parse_formats_later; parse_formats_later()")
    assert before[0] == "True" and later[0] == "False"
    assert later[1] == before[1] and "arith.addf" in later[1]
