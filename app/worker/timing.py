"""An edited kernel, or an edited kernel library, against the original, inside the worker: checked once, then both
measured in turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from app.sources import Source
from app.viewmodels.requests import CompileRequest, EditTiming, Progress, Report, RunRequest, TimeEditRequest
from compiler.errors import ExecutionError
from compiler.graph.graph import Graph
from profiler.records import FINISHED, MeasureRequest


def time_edit(source: Source, request: CompileRequest, wanted: TimeEditRequest, report: Report) -> EditTiming:
    """Check the edit against the reference, then run both models in turns and compare that kernel's times, or the
    whole models' where the library is what was edited."""
    from app.inputs import graph_sizes, random_inputs
    from app.worker.measuring import check_against_reference, measurement_of
    from profiler.measure.in_turns import Contender, run_in_turns
    from profiler.store import open_store

    options, kernel, pairs = request.options, wanted.kernel, wanted.pairs
    if not wanted.package and kernel not in dict(options.sources):
        raise ExecutionError(f"{kernel} is not edited, so there is nothing to time against")
    others = tuple(entry for entry in options.sources if entry[0] != kernel)
    asked = RunRequest(repeats=0)
    sizes = graph_sizes(source.graph, source.dims, {}, "in the DIMS of the source:")
    inputs, graph = random_inputs(source.graph, sizes, asked.seed, source.library_paths), source.graph
    edited = measurement_of(source, request.source, options, asked, sizes)
    if wanted.package:
        plain = tuple(folder for folder in source.library_paths if folder != Path(wanted.package))
        original = measurement_of(replace(source, library_paths=plain), request.source, options, asked, sizes)
    else:
        original = measurement_of(source, request.source, replace(options, sources=others), asked, sizes)
    report(Progress("timing the edit: a first run, to check it", 0.05))
    outputs = _once(edited, graph, inputs)
    checks, ok = check_against_reference(source, inputs, outputs, lambda _: None)
    wrong = "" if ok else f"timing the edit, though its check failed: {'; '.join(checks)}"
    if wrong:
        report(Progress(wrong, 0.1))

    def progress(words: str) -> None:
        number = next((int(word) for word in words.split() if word.isdigit()), 0)
        report(
            Progress(
                wrong or f"timing the original and the edit in turns: {words}",
                min(0.1 + 0.85 * (number - 1) / pairs, 0.95),
            )
        )

    with open_store(None) as store:
        runs = run_in_turns(
            store, (Contender(original, graph, inputs), Contender(edited, graph, inputs)), pairs, progress=progress
        )
        times, verdict, method, warnings = _compared(store, runs, "" if wanted.package else kernel)
    if verdict is None or times[0] is None or times[-1] is None:
        raise ExecutionError(f"the runs have no times of {kernel} to compare")
    return EditTiming(
        kernel, _three(times[0]), _three(times[-1]), verdict.words,
        (verdict.ratio, verdict.low, verdict.high), checks, ok, runs, method, warnings,
    )  # fmt: skip


def _once(measurement: MeasureRequest, graph: Graph, inputs: Any) -> Any:
    """One run for its results; a kernel that crashes is an error that names it."""
    from profiler.measure.measuring import measure_once

    outcome = measure_once(replace(measurement, repeat=1, count=False), graph, inputs, outputs=True, brief=True)
    if outcome.error is not None:
        raise outcome.error
    if outcome.result.status != FINISHED:
        raise ExecutionError(f"the edited kernel does not run: it {outcome.result.error}")
    return outcome.outputs


def _compared(store: Any, runs: tuple[int, int], kernel: str) -> tuple[Any, Any, str, tuple[str, ...]]:
    """The times of both sides and the verdict: of a kernel, or of the whole models where none is named."""
    from profiler.analysis.compare import compare_runs

    comparison = compare_runs(store, runs)
    about = (comparison.test, tuple(comparison.warnings))
    if not kernel:
        return comparison.whole, comparison.verdicts[-1], *about
    for row in comparison.kernels:
        if kernel in row.names[-1]:
            return row.times, row.verdicts[-1], *about
    raise ExecutionError(f"the runs do not have a kernel {kernel}")


def _three(summary: Any) -> tuple[float, float, float]:
    return summary.median, summary.low, summary.high
