"""What came of a sweep's cells, as the store has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from app.sweep.spec import Cell, Spec
from profiler.records import FAILED
from profiler.store import Store
from profiler.store.sweep_cells import sweep_cells

DONE, FAILED_CELL, MISSING = "done", FAILED, "missing"
FIGURES = ("median", "compile", "kernels", "peak")
"""What cells are compared by, less being better: seconds of a call and of compiling, kernels, bytes at the peak."""


@dataclass(frozen=True)
class CellOutcome:
    """A cell, how it ended, the number of its record, and its figures as far as it has them."""

    cell: Cell
    status: str = MISSING
    error: str = ""
    run: int | None = None
    compilation: int | None = None
    median: float | None = None
    compile: float | None = None
    kernels: int | None = None
    peak: int | None = None

    def document(self) -> dict[str, Any]:
        """Flat, as JSON and CSV have it."""
        known = asdict(self)
        return known.pop("cell") | known


def outcomes(store: Store, spec: Spec) -> list[CellOutcome]:
    """Every cell in the order of the sweep."""
    rows = sweep_cells(store, spec.name, sorted({cell.source for cell in spec.cells}))
    # What came of a cell is the newest; a compilation that there is goes before a run, which says why there was none.
    rows.sort(key=lambda row: (not row["run"], row["run"], row["compilation"] or 0))
    newest = {row["key"]: row for row in rows}
    return [_outcome(cell, newest.get(spec.key(cell))) for cell in spec.cells]


def _outcome(cell: Cell, row: dict[str, Any] | None) -> CellOutcome:
    if row is None:
        return CellOutcome(cell)
    if row["status"] == FAILED:
        return CellOutcome(cell, FAILED_CELL, row["error"] or "it failed", row["run"])
    return CellOutcome(
        cell, DONE, "", row["run"] or None, row["compilation"], row["median"], row["compile_seconds"], row["kernels"],
        row["peak"],
    )  # fmt: skip


def best(found: list[CellOutcome], figure: str) -> CellOutcome | None:
    """The cell with the least of a figure; None where no cell has it."""
    known = [(value, at) for at, each in enumerate(found) if (value := getattr(each, figure)) is not None]
    return found[min(known)[1]] if known else None
