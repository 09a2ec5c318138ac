"""The custom form of mo ops: how each is printed and how it is read."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Operation, Region
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.lexer import Span

from compiler.dialects import operations
from compiler.dialects.mo.attributes import decode, encode
from compiler.dialects.mo.literals import parse_entries
from compiler.errors import GraphError
from compiler.graph.text import entries_text, signature_text
from compiler.graph.types import Type


def print_op(op: Operation, printer: Printer) -> None:
    """`(%x, %y) {axis = 1} : (T, T) -> T`, with a location only when the result's name does not say it all."""
    elide = getattr(printer, "elide", False)
    printer.print_string("(")
    printer.print_list(op._operands, printer.print_ssa_value)
    printer.print_string(")")
    for entries in (op.properties, op.attributes):
        if entries:
            printer.print_string(" " if entries is op.properties else " attributes ")
            printer.print_string(entries_text({name: decode(value) for name, value in entries.items()}, elide=elide))
    printer.print_string(f" : {signature_text([o._type for o in op._operands], op.result_types)}")
    location = op.location
    if printer.print_debuginfo or isinstance(location, UnknownLoc):
        return
    if not (isinstance(location, NameLoc) and op.results and location.desc.data == op.results[0].name_hint):
        printer.print_string(" ")
        printer.print_attribute(location)


def print_output(op: Operation, printer: Printer) -> None:
    """` %a, %b : T, T`."""
    if op._operands:
        printer.print_string(" ")
        printer.print_list(op._operands, printer.print_ssa_value)
        printer.print_string(f" : {', '.join([str(o.type) for o in op._operands])}")


def print_graph_op(op: Any, printer: Printer) -> None:
    """` @name(%x: T) -> (T) { ... }`."""
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name)
    printer.print_string("(")
    printer.print_list(op.body.args, printer.print_block_argument)
    printer.print_string(")")
    if op.output is not None:
        printer.print_string(f" -> ({', '.join([str(o.type) for o in op.output.operands])})")
    printer.print_string(" ")
    printer.print_region(op.regions[0], print_entry_block_args=False, print_empty_block=False)


def encoded(parser: Parser, entries: dict[str, Any], span: Span) -> dict[str, Attribute]:
    """The entries as attributes; one that cannot be kept is an error at `span`."""
    try:
        return {name: encode(value) for name, value in entries.items()}
    except GraphError as error:
        parser.raise_error(error.message, span)


def parse_op(cls: Any, parser: Parser) -> Any:
    """`(%x, %y) {axis = 1} : (T, T) -> T`."""
    operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    span = parser._current_token.span
    entries = parse_entries(parser)
    for name, value in entries.items():
        if isinstance(value, int) and not isinstance(value, bool) and cls.spec.attrs.get(name, "").startswith("float"):
            try:
                entries[name] = float(value)
            except OverflowError as error:
                parser.raise_error(str(error), span)
    properties = encoded(parser, entries, span)
    attributes: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("attributes") is not None:
        attributes = encoded(parser, parse_entries(parser), span)
    parser.parse_punctuation(":")
    position = parser.pos
    inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    parser.parse_punctuation("->")
    outputs = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_result_type(parser))
    if outputs is None:
        outputs = [_parse_result_type(parser)]
    resolved = tuple(parser.resolve_operands(operands, inputs, position))
    made = operations.make(cls, resolved, tuple(outputs), properties)
    made.attributes = attributes
    return made


def _parse_result_type(parser: Parser) -> Attribute:
    span = parser._current_token.span
    type = parser.parse_type()
    if not isinstance(type, Type):
        parser.raise_error(f"an mo type expected, not {type}", span)
    return type


def parse_output(cls: Any, parser: Parser) -> Any:
    """` %a, %b : T, T`."""
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if not operands:
        return cls.create()
    parser.parse_punctuation(":")
    position = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return cls.create(operands=parser.resolve_operands(operands, types, position))


def parse_graph_op(cls: Any, parser: Parser) -> Any:
    """` @name(%x: T) -> (T) { ... }`."""
    name = parser.parse_symbol_name()
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
    declared: list[Attribute] = []
    span = parser._current_token.span
    if parser.parse_optional_punctuation("->") is not None:
        declared = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    region: Region = parser.parse_region(arguments)
    op = cls.create(properties={"sym_name": StringAttr(name.data)}, regions=[region])
    given = [o.type for o in op.output.operands] if len(region.blocks) == 1 and op.output is not None else []
    if given != declared:
        parser.raise_error("the declared result types are not those of mo.output", span)
    return op


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    if not isinstance(argument.type, Type):
        parser.raise_error(f"an mo type expected, not {argument.type}", argument.name)
    return argument
