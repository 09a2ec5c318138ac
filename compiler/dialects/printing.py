"""MLIR text of a module together with the provenance of each of its lines."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.printer import Printer


class _CountingText(StringIO):
    """Counts the lines written so far."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = 0

    def write(self, text: str, /) -> int:
        self.lines += text.count("\n")
        return super().write(text)


class _TracingPrinter(Printer):
    """Notes on which line each operation begins."""

    def __init__(self, text: _CountingText) -> None:
        super().__init__(text)
        self.text = text
        self.provenance: dict[int, int] = {}

    def print_op(self, op: Operation) -> None:
        location = op.location
        if isinstance(location, FileLineColLoc):
            self.provenance[self.text.lines] = location.column.data
        super().print_op(op)


def print_module(module: Operation) -> tuple[str, list[int]]:
    """The text, and for each line the provenance id of the operation on it (0: none)."""
    text = _CountingText()
    printer = _TracingPrinter(text)
    printer.print_op(module)
    text.write("\n")
    body = text.getvalue()
    lines = [printer.provenance.get(number, 0) for number in range(body.count("\n"))]
    return body, lines
