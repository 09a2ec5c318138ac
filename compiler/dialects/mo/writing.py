"""How mo ops print, and which graph nodes each printed line belongs to."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import NameLoc, UnknownLoc
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer

from compiler.dialects.mo.attributes import ArrayConstant, value_text
from compiler.dialects.mo.ops import GraphOp, MoOp, OutputOp, nodes_of


class MoPrinter(Printer):
    """xDSL's printer; with `elide` a large constant is named, not written out, for text that is only looked at."""

    def __init__(self, stream: StringIO, elide: bool = False) -> None:
        super().__init__(stream=stream)
        self.elide = elide
        self._used: list[set[str]] = [set()]

    def print_ssa_value(self, value: SSAValue) -> str:
        """The value's own name where it is free: xDSL's rule can give `add` number 1 the name that `add_1` has."""
        name = self._ssa_values.get(value)
        if name is None:
            hint = value.name_hint
            if hint is None:
                return super().print_ssa_value(value)
            name, count, used = hint, 0, self._used[-1]
            while name in used:
                count += 1
                name = f"{hint}_{count}"
            used.add(name)
            self._ssa_values[value] = name
        self.print_string(f"%{name}")
        return name

    def enter_scope(self) -> None:
        super().enter_scope()
        self._used.append(self._used[-1].copy())

    def exit_scope(self) -> None:
        super().exit_scope()
        self._used.pop()


def _print_value(printer: Printer, attribute: Attribute) -> None:
    if isinstance(attribute, ArrayConstant) and getattr(printer, "elide", False):
        printer.print_string(f"#mo.array{attribute.elided_text}")
        return
    text = value_text(attribute)
    if text is not None:
        printer.print_string(text)
    else:
        printer.print_attribute(attribute)


def print_op(op: MoOp, printer: Printer) -> None:
    """`(%x, %y) {axis = 1} : (T, T) -> T`, with a location only when the result's name does not say it all."""
    printer.print_string("(")
    printer.print_list(op._operands, printer.print_ssa_value)  # type: ignore[reportPrivateUsage]
    printer.print_string(")")
    for entries in (op.properties, op.attributes):
        if entries:
            printer.print_string(" {" if entries is op.properties else " attributes {")
            for index, (name, value) in enumerate(entries.items()):
                if index:
                    printer.print_string(", ")
                printer.print_identifier_or_string_literal(name)
                printer.print_string(" = ")
                _print_value(printer, value)
            printer.print_string("}")
    inputs = ", ".join([str(o.type) for o in op._operands])  # type: ignore[reportPrivateUsage]
    outputs = ", ".join([str(r.type) for r in op.results])
    printer.print_string(f" : ({inputs}) -> {outputs if len(op.results) == 1 else f'({outputs})'}")
    location = op.location
    if printer.print_debuginfo or isinstance(location, UnknownLoc):
        return
    if not (isinstance(location, NameLoc) and op.results and location.desc.data == op.results[0].name_hint):
        printer.print_string(" ")
        printer.print_attribute(location)


def print_output(op: OutputOp, printer: Printer) -> None:
    """` %a, %b : T, T`."""
    if op._operands:  # type: ignore[reportPrivateUsage]
        printer.print_string(" ")
        printer.print_list(op._operands, printer.print_ssa_value)  # type: ignore[reportPrivateUsage]
        printer.print_string(f" : {', '.join(str(o.type) for o in op._operands)}")  # type: ignore[reportPrivateUsage]


def print_graph_op(op: GraphOp, printer: Printer) -> None:
    """` @name(%x: T) -> (T) { ... }`."""
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name)
    printer.print_string("(")
    printer.print_list(op.body.args, printer.print_block_argument)
    printer.print_string(")")
    if op.output is not None:
        printer.print_string(f" -> ({', '.join(str(o.type) for o in op.output.operands)})")
    printer.print_string(" ")
    printer.print_region(op.regions[0], print_entry_block_args=False, print_empty_block=False)


class _NodePrinter(MoPrinter):
    """A printer that notes, line by line, which op is being printed."""

    def __init__(self, stream: StringIO, elide: bool) -> None:
        super().__init__(stream, elide)
        self.lines: list[tuple[str, ...]] = []

    def print_op(self, op: Operation) -> None:
        start = self._current_line
        nodes = line_nodes(op)
        self._note(start, nodes)
        super().print_op(op)

    def _note(self, line: int, nodes: tuple[str, ...]) -> None:
        while len(self.lines) <= line:
            self.lines.append(() if len(self.lines) < line else nodes)


def line_nodes(op: Operation) -> tuple[str, ...]:
    """The nodes of the line an op prints on: its provenance; for a graph its inputs, for an output its operands."""
    if isinstance(op, GraphOp):
        return tuple(a.name_hint for a in op.body.args if a.name_hint)
    if isinstance(op, OutputOp):
        found: dict[str, None] = {}
        for operand in op.operands:
            owner = operand.owner
            for name in nodes_of(owner) if isinstance(owner, Operation) else (operand.name_hint or "",):
                found[name] = None
        return tuple(name for name in found if name)
    return nodes_of(op)


def print_with_nodes(module: Operation, *, elide: bool = False) -> tuple[str, list[tuple[str, ...]]]:
    """The text of a module and, for each of its lines, the graph nodes of the op printed there."""
    stream = StringIO()
    printer = _NodePrinter(stream, elide)
    printer.print_op(module)
    text = stream.getvalue()
    lines = printer.lines
    lines += [()] * (text.count("\n") + 1 - len(lines))
    return text, lines


def text_of(module: Operation, *, elide: bool = False) -> str:
    """The text of a module or op; with `elide`, large constants are only named."""
    stream = StringIO()
    MoPrinter(stream, elide).print_op(module)
    return stream.getvalue()
