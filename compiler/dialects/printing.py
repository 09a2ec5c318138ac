"""MLIR text of a module together with the provenance and the place of each of its lines."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.printer import Printer

from compiler.places import NO_PLACE, Place


class _TracingPrinter(Printer):
    """Notes on which line each operation begins."""

    def __init__(self, stream: StringIO) -> None:
        super().__init__(stream)
        self.provenance: dict[int, int] = {}
        self.places: dict[int, Place] = {}

    def print_op(self, op: Operation) -> None:
        location = op.location
        if isinstance(location, FileLineColLoc):
            self.provenance[self._current_line] = location.column.data
            self.places[self._current_line] = (location.filename.data, location.line.data)
        super().print_op(op)


def print_module(module: Operation) -> tuple[str, list[int]]:
    """The text, and for each line the provenance id of the operation on it (0: none)."""
    return print_with_places(module)[:2]


def print_with_places(module: Operation) -> tuple[str, list[int], list[Place]]:
    """The same, with the line of kernel source behind each line."""
    stream = StringIO()
    printer = _TracingPrinter(stream)
    printer.print_op(module)
    text = stream.getvalue() + "\n"
    lines = range(text.count("\n"))
    return text, [printer.provenance.get(n, 0) for n in lines], [printer.places.get(n, NO_PLACE) for n in lines]
