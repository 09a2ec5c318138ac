"""What came of a sweep's cells, as the store has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from app.sweep.spec import Cell, Spec
from profiler.records import FAILED
from profiler.store import Store
from profiler.store.sweeps import sweep_compilations, sweep_runs

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
    sources = sorted({cell.source for cell in spec.cells})
    made = sweep_compilations(store, spec.name, sources)
    runs = sweep_runs(store, spec.name, sources)
    return [_outcome(cell, made.get(key), runs.get(key)) for cell in spec.cells for key in [spec.key(cell)]]


def _outcome(cell: Cell, made: dict[str, Any] | None, run: dict[str, Any] | None) -> CellOutcome:
    if made is not None:
        return CellOutcome(
            cell, DONE, compilation=made["id"], compile=made["seconds"], kernels=made["kernels"], peak=made["peak"]
        )
    if run is None:
        return CellOutcome(cell)
    if run["status"] == FAILED:
        return CellOutcome(cell, FAILED_CELL, run["error"] or "it failed", run["id"])
    return CellOutcome(
        cell, DONE, "", run["id"], run["compilation"], run["median"], run["compile_seconds"], run["kernels"],
        run["peak"],
    )  # fmt: skip


def best(found: list[CellOutcome], figure: str) -> CellOutcome | None:
    """The cell with the least of a figure; None where no cell has it."""
    known = [(value, at) for at, each in enumerate(found) if (value := getattr(each, figure)) is not None]
    return found[min(known)[1]] if known else None
