"""Measuring on a CUDA device: the same request in and the same records out as `cpu.measure`, timed with events.

The model is compiled here and runs in the child of `cuda_worker`. A sample of a launch is the time between two events
around it; a sample of the whole model is the sum over its launches, without the host's gaps between them; the counter
"graph replay" is the mean time of the model replayed as a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import CompilerError, UnavailableError
from compiler.graph.dtypes import from_numpy
from profiler.capture import compilation_record, kernel_key, stage_records
from profiler.counting import count_call
from profiler.launch.cpu import Outcome
from profiler.records import FAILED, FINISHED, Counter, Launch, RunRequest, RunResult

if TYPE_CHECKING:
    from compiler.model import Model
    from profiler.launch.cuda_wire import CudaResponse

REPEATS = 120
_BLOCK = 10


def measure_cuda(
    request: RunRequest, graph: str, arrays: Sequence[np.ndarray], *, texts: bool = False,
    progress: Callable[[str], None] = lambda words: None,
) -> Outcome:  # fmt: skip
    """Compile `graph` (its text) for the device, run it there on `arrays`, and time every launch."""
    from profiler.launch.cuda_program import program_of
    from profiler.launch.cuda_wire import CudaRequest
    from profiler.launch.cuda_worker import CudaWorker

    try:
        model, seconds = _compile(request, graph)
    except CompilerError as error:
        return Outcome(RunResult(FAILED, error=str(error)), error=error, compiling=True)
    record = compilation_record(model, request.source, seconds, request.libraries)
    stages = tuple(stage_records(model)) if texts else ()
    progress("compiled")
    try:
        program = program_of(model, dict(request.dims))
    except CompilerError as error:
        return Outcome(RunResult(FAILED, error=str(error)), record, stages, error=error)
    given = tuple(None if slot is None else array for slot, array in zip(program.inputs, arrays, strict=True))
    repeats = request.repeat or REPEATS
    with CudaWorker(int(request.device.partition(":")[2] or 0)) as worker:
        response = worker.run(CudaRequest(program, given, repeats=repeats, replays=repeats), request.time_limit)
    if response.failure == "unavailable":
        error = UnavailableError(response.error)
        return Outcome(RunResult(FAILED, error=response.error), record, stages, error=error)
    result = result_of(response, model, request)
    types = tuple((from_numpy(y.dtype), y.shape) for y in response.outputs)
    return Outcome(result, record, stages, tuple(response.outputs), types)


def _compile(request: RunRequest, graph: str) -> tuple[Model, float]:
    from compiler import load_library
    from compiler.importers.mlir_text import parse_graph
    from compiler.pipeline import CompileOptions
    from compiler.session import compile_graph

    options = CompileOptions(
        request.target, request.flow, request.opt_level, request.debug, request.jobs, request.cache, request.fuse,
        sources=request.sources,
    )  # fmt: skip
    library = load_library(*(Path(p) for p in request.libraries)) if request.libraries else None
    parsed = parse_graph(graph, request.source)
    start = perf_counter()
    return compile_graph(parsed, options, library), perf_counter() - start


def result_of(response: CudaResponse, model: Model, request: RunRequest) -> RunResult:
    """The child's answer as a result; milliseconds become nanoseconds."""
    if response.status != FINISHED:
        name = response.error_name
        words = f"failed{f' in kernel {response.kernel}' if response.kernel else ''}: {response.error}"
        return RunResult(FAILED, error=words, signal=name, kernel=response.kernel)
    times = np.array(response.traces, dtype=np.float64).reshape(len(response.traces), -1)
    nanoseconds = np.rint(times * 1e6).astype(np.int64)
    repeats = len(nanoseconds)
    blocks = [_BLOCK] * (repeats // _BLOCK) + ([repeats % _BLOCK] if repeats % _BLOCK else [])
    kernels = {kernel.name: kernel for kernel in model.kernels}
    launches = []
    for position, call in enumerate(model.fusion.calls):
        kernel = kernels[call.kernel.name]
        counts = count_call(call, kernel, request.dims, issued=False)
        samples = tuple(int(x) for x in nanoseconds[:, position])
        launches.append(Launch(position, kernel.name, kernel_key(kernel), call.all_nodes, samples, (), **counts))
    whole = nanoseconds.sum(axis=1)
    counters = [
        Counter("graph replay", (response.replay_ms or 0) * 1e-3, "s", "mean of a model's replay as a CUDA graph")
    ]
    for name, facts in response.functions.items():
        counters += [
            Counter(f"{name}: {what}", facts[what], unit) for what, unit in _FACTS if facts.get(what) is not None
        ]
    notes = [] if response.replay_equal is not False else ["the replayed graph gave other results than the first run"]
    conditions: dict[str, Any] = {"device": dict(response.conditions), "notes": notes, "interval_reached": True}
    memory = {"device": dict(response.memory), "transfers": [dict(item) for item in response.transfers]}
    return RunResult(
        FINISHED, tuple(int(x) for x in whole), tuple(blocks), tuple(launches), tuple(counters), conditions, memory,
        _timeline(nanoseconds),
    )  # fmt: skip


_FACTS = (("registers", "registers"), ("shared_bytes", "B"), ("local_bytes", "B"))


def _timeline(nanoseconds: np.ndarray) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The launches of the median call, one after the other: a stream is one row."""
    if not nanoseconds.size:
        return ()
    middle = nanoseconds[int(np.argsort(nanoseconds.sum(axis=1))[len(nanoseconds) // 2])]
    ends = np.cumsum(middle)
    return (tuple((int(end - span), int(end)) for end, span in zip(ends, middle)),)
