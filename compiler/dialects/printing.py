"""MLIR text of a module together with where each of its lines comes from."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.printer import Printer


class _TracingPrinter(Printer):
    """Notes on which line each operation begins."""

    def __init__(self, stream: StringIO) -> None:
        super().__init__(stream)
        self.locations: dict[int, FileLineColLoc] = {}

    def print_op(self, op: Operation) -> None:
        location = op.location
        if isinstance(location, FileLineColLoc):
            self.locations[self._current_line] = location
        super().print_op(op)


def print_module(module: Operation) -> tuple[str, list[int]]:
    """The text, and for each line the provenance id of the operation on it (0: none)."""
    text, places = print_with_places(module)
    return text, [provenance for _, _, provenance in places]


def print_with_places(module: Operation) -> tuple[str, list[tuple[str, int, int]]]:
    """The text, and for each line the file, line and provenance id of the operation on it ("", 0, 0: none)."""
    stream = StringIO()
    printer = _TracingPrinter(stream)
    printer.print_op(module)
    text = stream.getvalue() + "\n"
    found = {
        number: (place.filename.data, place.line.data, place.column.data) for number, place in printer.locations.items()
    }
    return text, [found.get(number, ("", 0, 0)) for number in range(text.count("\n"))]
