"""Measuring flows inside a worker: every sample is sent as it is taken, so that stopping loses nothing."""

from __future__ import annotations

from collections.abc import Callable

from app.viewmodels.requests import FlowProgress, FlowsBegun, FlowsRequest, Progress


def measure_flows(request: FlowsRequest, report: Callable[[Progress], None]) -> tuple[str, int]:
    """Measure the cells; the machine and its cores come back at the end, the samples on the way."""
    from app.worker.flow_cells import BASE, Request, take_samples
    from compiler.backend.runtime import default_threads
    from profiler.measure.machine import this_machine

    machine = this_machine().name, default_threads()
    total = len(request.cells) * request.repeat
    done = 0
    report(FlowsBegun("flows: loading the source in a fresh process", 0.0, *machine))
    asked = Request(request.source, request.options)
    for cell, sample in take_samples(asked, request.cells, request.repeat, request.folder or None):
        done += cell != BASE and sample is not None
        words = f"flows: {done + (sample is None)} of {total}{f', {cell}' if sample is None else ''}"
        report(FlowProgress(words, done / total if total else 1.0, cell, sample))
    return machine
