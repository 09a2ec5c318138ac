"""Timing a model inside the worker process: warm up, repeat, keep every time; then the check against NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from app.viewmodels.requests import Progress, RunRequest, RunResult

_WARM_UP = 3


def run_model(
    model: Any, dims: Mapping[str, int], request: RunRequest, report: Callable[[Progress], None]
) -> RunResult:
    """Run `request.repeats` times on random inputs; every call is timed on every thread."""
    from app.inputs import graph_sizes, random_inputs

    sizes = graph_sizes(model.graph, dims, dict(request.dims))
    report(Progress("making inputs", 0.02))
    arrays = random_inputs(model.graph, sizes, request.seed)
    for _ in range(_WARM_UP):
        model.program.trace(arrays, request.threads)
    totals: list[float] = []
    per_call: list[np.ndarray] = []
    times = np.zeros((1, 0, 2), np.int64)
    outputs: Any = None
    told = time.perf_counter()
    for repeat in range(request.repeats):
        outputs, times = model.program.trace(arrays, request.threads)
        totals.append(float(times[..., 1].max() - times[..., 0].min()) * 1e-9 if times.size else 0.0)
        per_call.append((times[..., 1].max(axis=0) - times[..., 0].min(axis=0)) * 1e-9)
        if time.perf_counter() - told > 0.1:
            told = time.perf_counter()
            report(Progress(f"running: {repeat + 1} of {request.repeats}", (repeat + 1) / request.repeats * 0.8))
    names = [call.kernel.name for call in model.fusion.calls]
    stacked = np.array(per_call)
    calls = tuple((name, tuple(stacked[:, index].tolist())) for index, name in enumerate(names))
    zero = int(times[..., 0].min()) if times.size else 0
    spans = tuple(
        (thread, call, float(times[thread, call, 0] - zero) * 1e-9, float(np.diff(times[thread, call])[0]) * 1e-9)
        for thread in range(times.shape[0])
        for call in range(times.shape[1])
    )
    checks, ok = _check(model, arrays, outputs, report) if request.check else ((), None)
    return RunResult(tuple(totals), calls, spans, times.shape[0], tuple(sizes.items()), checks, ok)


def _check(model: Any, arrays: Any, outputs: Any, report: Callable[[Progress], None]) -> tuple[tuple[str, ...], bool]:
    from app.checking import check_outputs, error_bound
    from compiler import reference

    report(Progress("checking against the reference", 0.85))
    results = check_outputs(outputs, reference(model.graph, *arrays), error_bound(model.graph))
    return tuple(str(result) for result in results), all(result.ok for result in results)
