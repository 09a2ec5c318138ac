"""Tuning inside a worker: rows are told as they become known, and what is proved is kept at once, so that stopping
loses nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.viewmodels.requests import Progress, Report
from app.viewmodels.runs.tuning import TuneProgress, TuneRequest, TuneRow, TuneTold

if TYPE_CHECKING:
    from app.sources import Source
    from profiler.records import MeasureRequest
    from profiler.tuning.records import Row, Subject


def subject_of(source: Source, request: MeasureRequest) -> Subject:
    """A source to be tuned as it would be run; its sizes are in the request."""
    from app.checking import error_bound
    from app.inputs import random_inputs
    from profiler.tuning.kept import library_of
    from profiler.tuning.records import Subject

    inputs = random_inputs(source.graph, dict(request.dims), request.seed, source.library_paths)
    return Subject(request, source.graph, inputs, error_bound(source.graph), library_of(source.library_paths))


def tune_source(request: TuneRequest, report: Report) -> TuneTold:
    """Tune the source that is open."""
    from app.inputs import graph_sizes
    from app.sources import load_source, stored_name
    from compiler.errors import ExecutionError
    from profiler.records import MeasureRequest
    from profiler.tuning.kept import tune_and_keep
    from profiler.tuning.search import Tuning

    asked = request.compilation
    report(Progress("tuning: loading the source", 0.0))
    source = load_source(asked.source)
    if source.artifact:
        raise ExecutionError(f"{source.name} is compiled; open the source that it was compiled from")
    source = replace(source, library_paths=(*source.library_paths, *map(Path, asked.libraries)))
    measurement = MeasureRequest(
        source=stored_name(asked.source), device=request.device, threads=request.threads,
        dims=graph_sizes(source.graph, source.dims, dict(request.dims), "in the field of sizes:"),
        options=replace(asked.options, debug="none", sources=(), tuned=()),
        libraries=tuple(str(folder) for folder in source.library_paths),
    )  # fmt: skip
    tuning, notes = Tuning(subject_of(source, measurement), request.budget), []
    for state in tune_and_keep(tuning, measurement, None, notes.append):
        report(TuneProgress(f"tuning: {state.words}", state.share, tuple(map(row_of, state.rows))))
    return TuneTold(tuple(map(row_of, tuning.state.rows)), tuple(notes))


def row_of(row: Row) -> TuneRow:
    """A row as people read it."""
    from profiler.tuning.records import choice_words

    verdict, named = row.verdict, dict(row.best)
    usual = [(name, value) for name, value in row.tunable.defaults if not named or name in named]
    return TuneRow(
        row.tunable.kernel, choice_words(usual), choice_words(row.best) if row.faster else "", row.tried,
        verdict.ratio if verdict else None, f"{verdict.low:.3f} to {verdict.high:.3f}" if verdict else "", row.words,
        row.faster, row.dropped,
    )  # fmt: skip
