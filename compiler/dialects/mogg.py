"""mogg: fused kernels. A `mogg.kernel` holds the graph ops that became one kernel, in destination-passing style.

    %relu_0.out = mogg.kernel @matmul_add_relu ins(%in0 = %x : T, %in1 = %w : T) outs(%out0 : T) {
      %matmul_0 = mo.matmul(%in0, %in1) attributes {role = "core"} : (T, T) -> T
      %relu_0 = mo.relu(%matmul_0) attributes {role = "epilogue"} : (T) -> T
      mogg.yield %relu_0 : T
    }

An output that a graph's mutable buffer receives names it, `outs(%out0 = %cache : !mo.buffer<..>)`, and is no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Block, Dialect, Operation, OpTraits, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span

from compiler.dialects.mo import BufferType, set_name
from compiler.dialects.mo.ops import HandingOver

_OWN = -1  # in `targets`: the output is a result of the op


class KernelOp(Operation):
    """One call of a fused kernel. Operands: what it reads, then the mutable buffers it writes."""

    name = "mogg.kernel"
    traits = OpTraits(lambda: (IsolatedFromAbove(), NoTerminator()))

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.properties["kernel"].data  # type: ignore[attr-defined]

    @property
    def body(self) -> Block:
        """The ops inside; its arguments are the values read."""
        return self.regions[0].blocks[0]

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """What the kernel reads."""
        return tuple(self.operands)[: len(self.body.args)]

    @property
    def targets(self) -> tuple[SSAValue | None, ...]:
        """For each output the mutable buffer that receives it, or None for a result."""
        held = self.properties["targets"].get_values()  # type: ignore[attr-defined]
        return tuple(None if k == _OWN else self.operands[k] for k in held)

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The value of each output."""
        last = self.body.last_op
        return tuple(last.operands) if isinstance(last, YieldOp) else ()

    def verify_(self) -> None:
        if len(self.regions) != 1 or len(self.regions[0].blocks) != 1:
            raise VerifyException("mogg.kernel: has exactly one block")
        for value, argument in zip(self.inputs, self.body.args):
            if _tensor(value.type) != argument.type:
                raise VerifyException(f"mogg.kernel: reads a {value.type} as a {argument.type}")
        if not isinstance(self.body.last_op, YieldOp):
            raise VerifyException("mogg.kernel: must end in mogg.yield")
        if len(self.yielded) != len(self.targets):
            raise VerifyException(f"mogg.kernel: yields {len(self.yielded)} values for {len(self.targets)} outputs")
        results = iter(self.results)
        for value, target in zip(self.yielded, self.targets):
            kind = _tensor(target.type) if target is not None else next(results).type
            if value.type != kind:
                raise VerifyException(f"mogg.kernel: yields a {value.type} for a {kind}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel)
        printer.print_string(" ins(")
        printer.print_list(list(zip(self.body.args, self.inputs)), lambda pair: _print_input(printer, *pair))
        printer.print_string(") outs(")
        results = iter(self.results)
        for number, target in enumerate(self.targets):
            printer.print_string(f"{', ' if number else ''}%out{number} ")
            if target is not None:
                printer.print_string("= ")
                printer.print_ssa_value(target)
                printer.print_string(f" : {target.type}")
            else:
                printer.print_string(f": {next(results).type}")
        printer.print_string(") ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name().data
        parser.parse_characters("ins")
        read = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_input(parser))
        parser.parse_characters("outs")
        written = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_output(parser))
        operands = [parser.resolve_operand(operand, kind) for _, operand, kind in read]
        results: list[Attribute] = []
        targets: list[int] = []
        for operand, kind in written:
            if operand is None:
                results.append(kind)
                targets.append(_OWN)
            else:
                targets.append(len(operands))
                operands.append(parser.resolve_operand(operand, kind))
        arguments = [Parser.Argument(name, _tensor(kind)) for name, _, kind in read]
        region = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"kernel": StringAttr(name), "targets": DenseArrayBase.from_list(i64, targets)},
            regions=[region],
        )


class YieldOp(HandingOver):
    """`mogg.yield %a, %b : T, T`: the values of a kernel's outputs."""

    name = "mogg.yield"


def make_kernel(
    name: str, inputs: Sequence[SSAValue], targets: Sequence[SSAValue | None], result_types: Sequence[Any]
) -> KernelOp:
    """A kernel with an empty body; `targets` has a mutable buffer, or None for a result, for each output."""
    block = Block(arg_types=[_tensor(value.type) for value in inputs])
    for number, argument in enumerate(block.args):
        set_name(argument, f"in{number}")
    operands = list(inputs)
    places: list[int] = []
    for target in targets:
        places.append(_OWN if target is None else len(operands))
        if target is not None:
            operands.append(target)
    return KernelOp.create(
        operands=operands,
        result_types=result_types,
        properties={"kernel": StringAttr(name), "targets": DenseArrayBase.from_list(i64, places)},
        regions=[Region(block)],
    )


def _tensor(kind: Attribute) -> Any:
    return kind.tensor if isinstance(kind, BufferType) else kind


def _print_input(printer: Printer, argument: SSAValue, value: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(value)
    printer.print_string(f" : {value.type}")


def _parse_input(parser: Parser) -> tuple[Span, UnresolvedOperand, Attribute]:
    argument = parser.parse_unresolved_operand()
    parser.parse_punctuation("=")
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return argument.span, operand, parser.parse_type()


def _parse_output(parser: Parser) -> tuple[UnresolvedOperand | None, Attribute]:
    parser.parse_unresolved_operand()
    operand = parser.parse_unresolved_operand() if parser.parse_optional_punctuation("=") else None
    parser.parse_punctuation(":")
    return operand, parser.parse_type()


Mogg = Dialect("mogg", [KernelOp, YieldOp], [])
