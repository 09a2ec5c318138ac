"""A sweep as a person reads it, as CSV, and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.sweep.outcomes import FIGURES, CellOutcome, best
from app.text_tables import seconds, size, table
from compiler.printable import printable
from profiler.report.exports.csv_table import csv_of

_SHOWN = {"median": seconds, "compile": seconds, "kernels": str, "peak": size}


def sweep_text(name: str, found: Sequence[CellOutcome]) -> str:
    """A line for each cell, and the best of each figure."""
    rows = [
        (
            str(number), Path(each.cell.source).name, each.cell.device or each.cell.target, each.cell.flow,
            f"-O{each.cell.opt_level}", " ".join(f"{k}={v}" for k, v in each.cell.dims.items()),
            Path(each.cell.library).name, *(_figure(each, figure) for figure in FIGURES),
            _record(each) if each.status != "failed" else f"failed: {each.error}",
        )
        for number, each in enumerate(found, 1)
    ]  # fmt: skip
    header = ("cell", "source", "on or for", "flow", "level", "dims", "library", *FIGURES, "record")
    lines = [f"sweep {name}: {len(found)} cells", "", table(header, rows, right=(0, 7, 8, 9, 10)), ""]
    for figure in FIGURES:
        if (first := best(list(found), figure)) is not None:
            lines.append(
                f"least {figure:8} {_figure(first, figure)}: cell {found.index(first) + 1}, {printable(first.cell)}"
            )
    return "\n".join(lines)


def _figure(each: CellOutcome, figure: str) -> str:
    value = getattr(each, figure)
    return "" if value is None else _SHOWN[figure](value)


def _record(each: CellOutcome) -> str:
    """How other commands are told of it."""
    return f"run {each.run}" if each.run else f"c{each.compilation}" if each.compilation else each.status


def sweep_csv(found: Sequence[CellOutcome]) -> str:
    """A row for each cell."""
    rows = [each.document() for each in found]
    rows = [row | {"dims": " ".join(f"{k}={v}" for k, v in row["dims"].items())} for row in rows]
    return csv_of(list(rows[0]), rows)


def sweep_document(name: str, found: Sequence[CellOutcome]) -> dict[str, Any]:
    """All of it; the best of each figure by the number of its cell, from 0 on."""
    first = {figure: best(list(found), figure) for figure in FIGURES}
    return {
        "sweep": name,
        "cells": [each.document() for each in found],
        "best": {figure: None if each is None else found.index(each) for figure, each in first.items()},
    }
