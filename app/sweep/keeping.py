"""What a cell that failed leaves in the store, and what is asked of a profiler for one that is timed."""

from __future__ import annotations

from collections.abc import Mapping

from app.sweep.spec import Cell, Spec
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from profiler.measure.machine import this_machine
from profiler.records import FAILED, MeasuredRun, MeasureRequest
from profiler.store import Store, writer
from profiler.store.sweep_cells import mark


def keep_failed(store: Store, spec: Spec, cell: Cell, error: CompilerError) -> None:
    """A failed run that says why nothing came of a cell."""
    result = MeasuredRun(FAILED, error=" ".join(str(error).split()), conditions={"sweep": mark_of(spec, cell)})
    with store.transaction():
        run = writer.begin_run(store, request_of(spec, cell, cell.dims, cell.target), this_machine())
        writer.finish_run(store, run, result)
        writer.tag_runs(store, [run], spec.name)


def mark_of(spec: Spec, cell: Cell) -> dict[str, str]:
    """What says that a run is of a cell."""
    return mark(spec.name, spec.key(cell))


def request_of(spec: Spec, cell: Cell, dims: Mapping[str, int], target: str) -> MeasureRequest:
    """The run that a cell asks for."""
    return MeasureRequest(
        cell.source, cell.device or "cpu", dims=dims, repeat=spec.repeat, budget=spec.budget, processes=spec.processes,
        options=CompileOptions(target, cell.flow, cell.opt_level), libraries=(cell.library,) if cell.library else (),
    )  # fmt: skip
