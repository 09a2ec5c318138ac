"""An edited kernel against the generated one, inside the worker: checked once, then both measured in turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.sources import Source
from app.viewmodels.requests import CompileRequest, EditTiming, Progress, Report, RunRequest
from compiler.errors import ExecutionError
from compiler.graph.graph import Graph
from profiler.records import FINISHED, MeasureRequest


def time_edit(source: Source, request: CompileRequest, kernel: str, pairs: int, report: Report) -> EditTiming:
    """Check the edit against the reference, then run both models in turns and compare that kernel's times."""
    from app.inputs import graph_sizes, random_inputs
    from app.worker.measuring import check_against_reference, measurement_of
    from profiler.measure.in_turns import Contender, run_in_turns
    from profiler.store import open_store

    options = request.options
    if kernel not in dict(options.sources):
        raise ExecutionError(f"{kernel} is not edited, so there is nothing to time against")
    others = tuple(entry for entry in options.sources if entry[0] != kernel)
    asked = RunRequest(repeats=0)
    sizes = graph_sizes(source.graph, source.dims, {}, "in the DIMS of the source:")
    inputs, graph = random_inputs(source.graph, sizes, asked.seed), source.graph
    edited = measurement_of(source, request.source, options, asked, sizes)
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
        found, method, warnings = _compared(store, runs, kernel)
    verdict = found.verdicts[-1]
    if verdict is None or found.times[0] is None or found.times[-1] is None:
        raise ExecutionError(f"the runs have no times of {kernel} to compare")
    return EditTiming(
        kernel, _three(found.times[0]), _three(found.times[-1]), verdict.words,
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


def _compared(store: Any, runs: tuple[int, int], kernel: str) -> tuple[Any, str, tuple[str, ...]]:
    from profiler.analysis.compare import compare_runs

    comparison = compare_runs(store, runs)
    for row in comparison.kernels:
        if kernel in row.names[-1]:
            return row, comparison.test, tuple(comparison.warnings)
    raise ExecutionError(f"the runs do not have a kernel {kernel}")


def _three(summary: Any) -> tuple[float, float, float]:
    return summary.median, summary.low, summary.high
