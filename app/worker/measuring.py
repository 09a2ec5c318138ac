"""A run through the profiler, inside the worker: measured in its own process, checked, kept in the database."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from app.sources import Source
from app.viewmodels.requests import Progress, Report, RunRequest, RunTimes
from compiler.errors import ExecutionError
from compiler.options import CompileOptions
from profiler.records import FINISHED, MeasureRequest


def measure_source(source: Source, name: str, options: CompileOptions, request: RunRequest, report: Report) -> RunTimes:
    """Measure on random inputs; a kernel that crashes is an error that names it."""
    from app.compilation import cuda_device, device_index
    from app.inputs import graph_sizes, random_inputs

    sizes = graph_sizes(source.graph, source.dims, dict(request.dims), "in the field of sizes:")
    report(Progress("making inputs", 0.02))
    inputs = random_inputs(source.graph, sizes, request.seed)
    measurement = measurement_of(source, name, options, request, sizes)
    if (index := device_index(request.device)) is not None:
        cuda_device(index)  # what is missing is said before anything is compiled for it
    number, outcome, note = _measured(source, measurement, inputs, request, report)
    if outcome.error is not None:
        raise outcome.error
    if outcome.result.status != FINISHED:
        raise ExecutionError(f"the run failed: it {outcome.result.error}")
    checks, ok = (), None
    if request.check:
        checks, ok = check_against_reference(source, inputs, outcome.outputs, report)
        _keep_check(request.database, number, checks, ok)
    return replace(plain_result(outcome.result, sizes, number or 0, checks, ok, note), device=request.device)


def _measured(
    source: Source, measurement: MeasureRequest, inputs: Any, request: RunRequest, report: Report
) -> tuple[int | None, Any, str]:
    """The run's number, what came of it, and where it is, or why it is not kept, where the database did not take it."""
    from profiler.keeping import begin, give_up, keep
    from profiler.measure.machine import machine_with
    from profiler.measure.measuring import measure

    begun = begin(request.database or None, measurement, machine_with(request.device), needed=False)
    try:
        outcome = measure(
            measurement, source.graph, inputs, texts=begun.run is not None or begun.aside, outputs=request.check,
            progress=lambda words: report(Progress(f"run: {words}", 0.4)),
        )  # fmt: skip
        kept = keep(begun, outcome)
    except BaseException as error:
        give_up(begun, error)
        raise
    finally:
        begun.close()
    here = kept.path == begun.path
    return kept.run if here else None, outcome, kept.note or ("" if here else begun.note)


def measurement_of(
    source: Source, name: str, options: CompileOptions, request: RunRequest, sizes: dict[str, int]
) -> MeasureRequest:
    """What the profiler is asked for: this source, compiled as the window compiled it."""
    return MeasureRequest(
        source=name, device=request.device, threads=request.threads, dims=sizes, seed=request.seed,
        repeat=request.repeats or None, budget=1.0, options=options,
        libraries=tuple(str(folder) for folder in source.library_paths), processes=request.processes,
    )  # fmt: skip


def plain_result(
    result: Any, sizes: dict[str, int], number: int, checks: tuple[str, ...], ok: bool | None, note: str = ""
) -> RunTimes:
    """A profiler's result as the window's record."""
    from profiler.analysis.statistics import summarise

    calls = tuple((launch.kernel, tuple(x * 1e-9 for x in launch.samples)) for launch in result.launches)
    trace = np.array(result.timeline, np.int64).reshape(-1, len(calls), 2) if result.timeline else np.zeros((0, 0, 2))
    notes = (*result.conditions.get("notes", ()), *([note] if note else ()))
    return RunTimes(
        tuple(x * 1e-9 for x in result.samples),
        calls,
        spans_of(trace),
        int(result.conditions.get("threads") or trace.shape[0] or 1),
        tuple(sizes.items()),
        checks,
        ok,
        number,
        notes,
        tuple((launch.flops or 0, launch.bytes or 0) for launch in result.launches),
        summary=summarise(result.samples, result.blocks, result.processes) if result.samples else None,
        summaries=tuple(summarise(launch.samples, result.blocks, result.processes) for launch in result.launches),
        counters=tuple((counter.name, counter.value, counter.unit, counter.note) for counter in result.counters),
    )


def spans_of(trace: np.ndarray) -> tuple[tuple[int, int, float, float], ...]:
    """(thread, call, start, seconds) of one traced call, from its first begin."""
    if not trace.size:
        return ()
    zero = int(trace[..., 0].min())
    return tuple(
        (
            thread,
            call,
            float(trace[thread, call, 0] - zero) * 1e-9,
            float(trace[thread, call, 1] - trace[thread, call, 0]) * 1e-9,
        )
        for thread in range(trace.shape[0])
        for call in range(trace.shape[1])
    )


def _keep_check(path: str, number: int | None, checks: tuple[str, ...], ok: bool) -> None:
    """Put what the check found beside the run; one whose database fails by now has told it already."""
    from profiler.store import StoreError, open_store, writer

    if number:
        with contextlib.suppress(StoreError), open_store(path or None) as store:
            writer.keep_check(store, number, ok, checks)


def check_against_reference(source: Source, inputs: Any, outputs: Any, report: Report) -> tuple[tuple[str, ...], bool]:
    """The outputs against plain NumPy: a line for each, and whether all are within the bound."""
    from app.checking import check_against_reference as check

    report(Progress("checking against the reference", 0.9))
    results = check(source.graph, inputs, outputs)
    return tuple(str(result) for result in results), all(result.ok for result in results)
