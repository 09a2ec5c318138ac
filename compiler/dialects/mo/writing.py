"""The text of IR with mo ops in it, and which graph nodes each of its lines belongs to."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer

from compiler.dialects.mo.ops import GraphOp, OutputOp, nodes_of
from compiler.graph.text import Names


class MoPrinter(Printer):
    """xDSL's printer; with `elide` a large constant is named, not written out, for text that is only looked at."""

    def __init__(self, stream: StringIO, elide: bool = False) -> None:
        super().__init__(stream=stream)
        self.elide = elide
        self._names = [Names()]

    def print_ssa_value(self, value: SSAValue) -> str:
        """The value's own name where it is free: xDSL's rule can give `add` number 1 the name that `add_1` has."""
        name = self._ssa_values.get(value)
        if name is None:
            hint = value.name_hint
            if hint is None:
                return super().print_ssa_value(value)
            name = self._ssa_values[value] = self._names[-1].free(hint)
        self.print_string(f"%{name}")
        return name

    def enter_scope(self) -> None:
        super().enter_scope()
        self._names.append(Names(self._names[-1].used))

    def exit_scope(self) -> None:
        super().exit_scope()
        self._names.pop()


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
