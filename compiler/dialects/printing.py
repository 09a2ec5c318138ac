"""MLIR text of a module together with the provenance of each of its lines."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.printer import Printer


class _TracingPrinter(Printer):
    """Notes on which line each operation begins."""

    def __init__(self, stream: StringIO) -> None:
        super().__init__(stream)
        self.provenance: dict[int, int] = {}

    def print_op(self, op: Operation) -> None:
        location = op.location
        if isinstance(location, FileLineColLoc):
            self.provenance[self._current_line] = location.column.data
        super().print_op(op)


def print_module(module: Operation) -> tuple[str, list[int]]:
    """The text, and for each line the provenance id of the operation on it (0: none)."""
    stream = StringIO()
    printer = _TracingPrinter(stream)
    printer.print_op(module)
    text = stream.getvalue() + "\n"
    return text, [printer.provenance.get(number, 0) for number in range(text.count("\n"))]
