"""A cell that is timed: measured where it asks to be, and kept. Loaded only where there is one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from app.inputs import graph_sizes, random_inputs
from app.sources import load_source
from app.sweep.keeping import keep_failed, mark_of, request_of
from app.sweep.places import place_of
from app.sweep.spec import Cell, Spec
from compiler.errors import CompilerError
from profiler.measure.outcome import with_conditions
from profiler.recording import ending_words, keep_outcome
from profiler.records import FAILED, FINISHED, INTERRUPTED, MeasuredRun
from profiler.store import Store, writer


def time_cell(store: Store, spec: Spec, cell: Cell) -> bool:
    """Measure a cell and keep it; whether it came to a good end."""
    with ExitStack() as stack:
        try:
            source = load_source(cell.source)
            sizes = graph_sizes(source.graph, source.dims, cell.dims, "in dims, as")
            libraries = (*source.library_paths, *((Path(cell.library),) if cell.library else ()))
            inputs = random_inputs(source.graph, sizes, 0, libraries)
            place = stack.enter_context(place_of(cell.device))
            request = replace(request_of(spec, cell, sizes, place.target), device=place.device)
            folders = (*map(str, source.library_paths), *request.libraries)
            request = replace(request, artifact=source.artifact, libraries=folders)
        except CompilerError as error:
            keep_failed(store, spec, cell, error)
            return False
        run = writer.begin_run(store, request, place.machine)
        try:
            outcome = with_conditions(place.measure(request, source.graph, inputs), sweep=mark_of(spec, cell))
        except BaseException as error:
            writer.finish_run(store, run, MeasuredRun(INTERRUPTED, error=ending_words(error)))
            raise
        if outcome.result.status == INTERRUPTED:  # a machine that is gone: called again, the cell is done then
            keep_outcome(store, run, outcome, place.machine)
            raise outcome.error or CompilerError(outcome.result.error)
        if outcome.error is not None:
            words = outcome.result.error or str(outcome.error)
            outcome = replace(outcome, result=replace(outcome.result, status=FAILED, error=words))
        with store.transaction():
            keep_outcome(store, run, outcome, place.machine)
            writer.tag_runs(store, [run], spec.name)
        return outcome.result.status == FINISHED
