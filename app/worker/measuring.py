"""A run through the profiler, inside the worker: measured in its own process, checked, kept in the database."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from app.cluster.places import is_elsewhere
from app.sources import Source, stored_name
from app.viewmodels.requests import Progress, Report, RunRequest, RunTimes
from compiler.errors import CompilerError, ExecutionError, UnavailableError
from compiler.options import CompileOptions
from profiler.records import FINISHED, MeasureRequest, StageRecord

if TYPE_CHECKING:
    from app.sweep.places import Place
    from profiler.records import Ceiling, Machine
    from profiler.store import Store

BUDGET = 1.0
"""Seconds of a run of which no number of calls was asked for."""
Stages = Callable[[], Sequence[StageRecord]]
FindOut = Callable[[MeasureRequest], object]
Times = Sequence[int] | np.ndarray


def measure_source(
    source: Source, name: str, options: CompileOptions, request: RunRequest, report: Report, stages: Stages,
    find_out: FindOut,
) -> RunTimes:  # fmt: skip
    """Measure on random inputs; a kernel that crashes is an error that names it.

    `stages` gives the IR that is kept with the run, from the process that has the model: making it is not measured.
    `find_out` leaves in the cache what a run here says of its model.
    """
    from app.inputs import graph_sizes, random_inputs
    from app.sweep.places import place_of

    sizes = graph_sizes(source.graph, source.dims, dict(request.dims), "in the field of sizes:")
    report(Progress("making inputs", 0.02))
    inputs = random_inputs(source.graph, sizes, request.seed, source.library_paths)
    with place_of(request.device) as place:  # what is missing is said before anything is compiled for it
        if is_elsewhere(request.device) and options.target != place.target:
            raise UnavailableError(f"{request.device} runs code for {place.target}, not for {options.target}")
        measurement = measurement_of(source, name, options, replace(request, device=place.device), sizes)
        if not is_elsewhere(request.device):
            find_out(measurement)
        number, outcome, note = _measured(source, measurement, inputs, request, report, stages, place)
    if outcome.error is not None:
        raise outcome.error
    if outcome.result.status != FINISHED:
        raise ExecutionError(f"the run failed: it {outcome.result.error}")
    checks, ok = (), None
    if request.check:
        checks, ok = check_against_reference(source, inputs, outcome.outputs, report)
        _keep_check(request.database, number, checks, ok)
    found = replace(plain_result(outcome.result, sizes, number or 0, checks, ok, note), device=place.device)
    return replace(found, **_roofs(request.database, number, place.machine)) if is_elsewhere(request.device) else found


def roofs(store: Store, row: dict[str, Any]) -> tuple[str, tuple[Ceiling, ...]]:
    """The machine a run was made on, where that is not this one, and what was measured of its device there."""
    from profiler.measure.ceilings.measured import ceilings_for
    from profiler.measure.machine import machine_with
    from profiler.store import queries

    machine = queries.machine_row(store, row["machine"])
    try:
        here = machine_with(row["device"]).fingerprint
    except CompilerError:  # the device it ran on is not here
        here = ""
    if machine["fingerprint"] == here:
        return "", ()
    return machine["name"], tuple(ceilings_for(store, row, machine["fingerprint"]))


def _roofs(database: str, number: int | None, machine: Machine) -> dict[str, Any]:
    """Whose machine a run elsewhere was made on, and what was measured of it, as a stored one says."""
    from profiler.store import StoreError, open_store, queries

    with contextlib.suppress(StoreError):
        if number:
            with open_store(database or None, create=False) as store:
                elsewhere, ceilings = roofs(store, queries.run_row(store, number))
                return {"elsewhere": elsewhere, "ceilings": ceilings}
    return {"elsewhere": machine.name}


def _measured(
    source: Source, measurement: MeasureRequest, inputs: Any, request: RunRequest, report: Report, stages: Stages,
    place: Place,
) -> tuple[int | None, Any, str]:  # fmt: skip
    """The run's number, what came of it, and where it is, or why it is not kept, where the database did not take it."""
    from profiler.keeping import begin, give_up, keep
    from profiler.store import queries, writer

    def keep_stages(store: Store, run: int) -> None:
        compilation = queries.run_row(store, run)["compilation"]
        if compilation is not None:
            report(Progress("keeping the IR", 0.8))
            writer.add_stages(store, compilation, stages())

    begun = begin(request.database or None, measurement, place.machine, needed=False)
    try:
        outcome = place.measure(
            measurement, source.graph, inputs, outputs=request.check,
            progress=lambda words: report(Progress(f"run: {words}", 0.4)),
        )  # fmt: skip
        kept = keep(begun, outcome, keep_stages)
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
        source=stored_name(name), device=request.device, threads=request.threads, dims=sizes, seed=request.seed,
        repeat=request.repeats or None, budget=BUDGET, options=options,
        libraries=tuple(str(folder) for folder in source.library_paths), processes=request.processes,
        sample=request.sample,
    )  # fmt: skip


def plain_result(
    result: Any, sizes: dict[str, int], number: int, checks: tuple[str, ...], ok: bool | None, note: str = ""
) -> RunTimes:
    """A profiler's result as the window's record."""
    from profiler.analysis.aggregation import uneven_words
    from profiler.analysis.statistics import summarise

    trace = np.array(result.timeline, np.int64).reshape(-1, len(result.launches), 2) if result.timeline else None
    launches = [
        {
            "kernel": launch.kernel,
            "median": summarise(launch.samples, result.blocks, result.processes).median,
            "thread_seconds": launch.thread_seconds,
        }
        for launch in result.launches
    ]
    return run_times(
        result.samples,
        [(launch.kernel, launch.samples, launch.flops, launch.bytes) for launch in result.launches],
        (result.blocks, result.processes),
        trace,
        threads=int(result.conditions.get("threads") or (1 if trace is None else len(trace))),
        dims=tuple(sizes.items()),
        checks=checks,
        ok=ok,
        number=number,
        notes=(*result.conditions.get("notes", ()), *uneven_words(launches), *([note] if note else ())),
        counters=tuple((counter.name, counter.value, counter.unit, counter.note) for counter in result.counters),
        sampling=result.sampling,
        keys=tuple(launch.key for launch in result.launches),
        thread_seconds=tuple(tuple(launch.thread_seconds) for launch in result.launches),
    )


def run_times(
    whole: Times, launches: Sequence[tuple[str, Times, int | None, int | None]],
    taken: tuple[Sequence[int], Sequence[int]], trace: np.ndarray | None, **about: Any,
) -> RunTimes:  # fmt: skip
    """A run as the window knows it, from nanoseconds: of whole calls, and of each launch's kernel with its FLOPs and
    bytes. `taken` are the blocks and processes they were taken in."""
    from profiler.analysis.statistics import summarise

    return RunTimes(
        _seconds(whole),
        tuple((kernel, _seconds(times)) for kernel, times, _, _ in launches),
        spans_of(trace) if trace is not None else (),
        work=tuple((flops or 0, size or 0) for *_, flops, size in launches),
        summary=summarise(whole, *taken) if len(whole) else None,
        summaries=tuple(summarise(times, *taken) for _, times, _, _ in launches if len(times)),
        **about,
    )


def _seconds(nanoseconds: Times) -> tuple[float, ...]:
    return tuple((np.asarray(nanoseconds) * 1e-9).tolist())


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
    results = check(source.graph, inputs, outputs, source.library_paths)
    return tuple(str(result) for result in results), all(result.ok for result in results)
