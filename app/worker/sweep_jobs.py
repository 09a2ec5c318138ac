"""Sweeps, inside a worker: those that the database has, and what a sweep's file says is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.viewmodels.requests import Report
from app.viewmodels.runs.sweep import DONE, FAILED, SweepCell, SweepRequest, SweepsRequest, SweepTold, newest_of_each
from profiler.store import Store, ask, open_store
from profiler.store.sweep_cells import sweep_cells, sweep_names
from profiler.store.under_way import cells_under_way

if TYPE_CHECKING:
    from app.sweep.outcomes import CellOutcome


def list_sweeps(_request: SweepsRequest, _report: Report) -> tuple[str, ...]:
    """The sweeps of the database, the newest first."""
    return tuple(row["name"] for row in ask(sweep_names, []))


def read_sweep(request: SweepRequest, _report: Report) -> SweepTold:
    """A sweep's cells; with its file, also those that are missing, in the order of the file."""
    if not request.file:
        return ask(lambda store: _kept_sweep(store, request.name), SweepTold(request.name))
    from app.sweep.outcomes import outcomes
    from app.sweep.spec import read_spec

    spec = read_spec(Path(request.file))
    with open_store(None) as store:
        rows = sweep_cells(store, spec.name)
        ended = {(row["run"] or 0, row["compilation"] or 0): str(row["finished"] or "") for row in rows}
        cells = tuple(_planned(each, ended) for each in outcomes(store, spec))
        return SweepTold(spec.name, cells, True, len(cells_under_way(store, spec.name)))


def _kept_sweep(store: Store, name: str) -> SweepTold:
    cells = newest_of_each([_cell(row) for row in sweep_cells(store, name)])
    return SweepTold(name, cells, running=len(cells_under_way(store, name)))


def _cell(row: dict[str, Any]) -> SweepCell:
    failed, device = row["status"] == "failed", row["device"] or ""
    if failed and not row["compilation"] and row["target"] != "cpu":
        device = ""  # it was to be compiled, which a failed run says for want of a compilation
    return SweepCell(
        str(row["source"]), row["target"] or "", device, row["flow"] or "", int(row["opt_level"] or 0),
        row["sizes"] or "", row["library"] or "", FAILED if failed else DONE, row["error"] or "", row["run"] or 0,
        row["compilation"] or 0, row["median"], row["compile_seconds"], row["kernels"] or None, row["peak"],
        row["finished"] or "", row["key"],
    )  # fmt: skip


def _planned(each: CellOutcome, ended: Mapping[tuple[int, int], str]) -> SweepCell:
    """A cell of the file, with what came of it."""
    cell, run, compilation = each.cell, each.run or 0, each.compilation or 0
    sizes = " ".join(f"{symbol}={size}" for symbol, size in cell.dims.items())
    return SweepCell(
        cell.source, cell.target, cell.device, cell.flow, cell.opt_level, sizes, cell.library, each.status, each.error,
        run, compilation, each.median, each.compile, each.kernels, each.peak, ended.get((run, compilation), ""),
    )  # fmt: skip


SWEEP_JOBS: dict[type, Callable[[Any, Report], Any]] = {SweepsRequest: list_sweeps, SweepRequest: read_sweep}
