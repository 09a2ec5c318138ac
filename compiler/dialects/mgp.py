"""mgp: the host program. Buffers come and go, kernels are called in order; no values, only memory.

    mgp.program @mlp(%x : T, %w : T) -> (%relu_0 : T) {
      %h = mgp.alloc {bytes = 2048*M, first = 0, last = 1} : T
      mgp.call @matmul_add_relu(%x, %w) -> (%h) : (T, T) -> (T)
      mgp.call @layer_norm_kernel(%h) -> (%relu_0) : (T) -> (T)
      mgp.release %h : T
    }

`bytes` may be symbolic; where every size is known, `offset` says where in the arena a buffer lies. `reuses` marks a
buffer that takes over another's memory in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Dialect, Operation, OpTraits, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from compiler.dialects.mo import decode, encode
from compiler.dialects.mo.literals import parse_entries
from compiler.graph.text import entries_text


class ProgramOp(Operation):
    """A host program: its block's arguments are the buffers it is given, inputs first, then those for its outputs."""

    name = "mgp.program"
    traits = OpTraits(lambda: (IsolatedFromAbove(), NoTerminator()))

    @property
    def sym_name(self) -> str:
        """The program's name."""
        return self.properties["sym_name"].data  # type: ignore[attr-defined]

    @property
    def outputs(self) -> int:
        """How many of the buffers are for outputs."""
        return decode(self.properties["outputs"])

    @property
    def body(self) -> Block:
        """The block of the program."""
        return self.regions[0].blocks[0]

    def verify_(self) -> None:
        live: set[SSAValue] = set(self.body.args)
        for op in self.body.ops:
            for operand in op.operands:
                if operand not in live:
                    raise VerifyException(f"{op.name}: uses a buffer that was released")
            live.update(op.results)
            if isinstance(op, ReleaseOp):
                live.difference_update(op.operands)

    def print(self, printer: Printer) -> None:
        given = len(self.body.args) - self.outputs
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        for text, arguments in (("(", self.body.args[:given]), (") -> (", self.body.args[given:])):
            printer.print_string(text)
            printer.print_list(arguments, lambda argument: _print_typed(printer, argument))
        printer.print_string(") ")
        printer.print_region(self.regions[0], print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name().data
        given = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_punctuation("->")
        asked = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        region = parser.parse_region([*given, *asked])
        return make_program(name, region, len(asked))


class _Definition(Operation):
    """What brings a buffer: its attributes in braces, then its type."""

    traits = OpTraits(tuple)

    def print(self, printer: Printer) -> None:
        if self.properties:
            entries = {name: decode(value) for name, value in self.properties.items()}
            printer.print_string(f" {entries_text(entries)}")
        printer.print_string(f" : {self.results[0].type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = {name: encode(value) for name, value in parse_entries(parser).items()}
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], properties=properties)


class AllocOp(_Definition):
    """Memory for one buffer, from call `first` to call `last`."""

    name = "mgp.alloc"


class ConstantOp(_Definition):
    """A constant of the model: its data, not printed, is that of the graph's constant `node`."""

    name = "mgp.constant"


class ReleaseOp(Operation):
    """The end of a buffer: its memory may be used again."""

    name = "mgp.release"
    traits = OpTraits(tuple)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_typed(printer, self.operands[0])

    @classmethod
    def parse(cls, parser: Parser) -> ReleaseOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return cls.create(operands=[parser.resolve_operand(operand, parser.parse_type())])


class CallOp(Operation):
    """A kernel call: reads the first operands, writes the others."""

    name = "mgp.call"
    traits = OpTraits(tuple)

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.properties["kernel"].data  # type: ignore[attr-defined]

    def print(self, printer: Printer) -> None:
        reads = decode(self.properties["reads"])
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel)
        operands = list(self.operands)
        types = []
        for text, values in (("(", operands[:reads]), (") -> (", operands[reads:])):
            printer.print_string(text)
            printer.print_list(values, printer.print_ssa_value)
            types.append(", ".join(str(value.type) for value in values))
        printer.print_string(f") : ({types[0]}) -> ({types[1]})")

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        name = parser.parse_symbol_name().data
        reads = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation("->")
        writes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        types += parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return make_call(name, parser.resolve_operands([*reads, *writes], types, position), len(reads))


def make_program(name: str, region: Region, outputs: int) -> ProgramOp:
    """A program around a region."""
    return ProgramOp.create(properties={"sym_name": StringAttr(name), "outputs": encode(outputs)}, regions=[region])


def make_call(kernel: str, operands: Sequence[SSAValue], reads: int) -> CallOp:
    """A call of a kernel that reads the first `reads` operands and writes the rest."""
    return CallOp.create(operands=operands, properties={"kernel": StringAttr(kernel), "reads": encode(reads)})


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(f" : {value.type}")


Mgp = Dialect("mgp", [ProgramOp, AllocOp, ConstantOp, ReleaseOp, CallOp], [])
