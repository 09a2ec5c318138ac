"""Text for terminals: aligned tables, and numbers with units a person reads at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.printable import printable
from profiler.units import seconds as seconds
from profiler.units import size as size


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Columns under a header, two spaces apart; the columns in `right` are right-aligned. Cells are made printable."""
    lines = [list(header), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = []
    for line in lines:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths))
        ]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)
