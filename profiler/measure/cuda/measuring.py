"""Measuring on a CUDA device: the same request in and the same records out as on the CPU, timed with events.

The model is compiled here and runs in the child of `worker`. A sample of a launch is the time between two events
around it; a sample of the whole model is the sum over its launches, without the host's gaps between them; the counter
"graph replay" is the mean time of the model replayed as a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import CompilerError, UnavailableError
from compiler.graph.dtypes import from_numpy
from compiler.graph.graph import Graph
from profiler.measure.cuda.messages import CANCELLED, DIED, FAULT, TIMEOUT, CudaRequest, CudaResponse
from profiler.measure.cuda.program import DeviceProgram, program_of
from profiler.measure.machine import conditions
from profiler.measure.outcome import Outcome
from profiler.model_records import compilation_record, compiled, launch_records, stage_records
from profiler.records import FAILED, FINISHED, INTERRUPTED, Counter, Launch, MeasuredRun, MeasureRequest
from profiler.sampled import Sampling

if TYPE_CHECKING:
    from compiler.model import Model

REPLAYS = 120
_BLOCK = 10
_CAREFUL_SECONDS = 60.0


def measure_cuda_once(
    request: MeasureRequest, graph: Graph, arrays: Sequence[np.ndarray], *, texts: bool = False, brief: bool = False,
    progress: Callable[[str], None] = lambda words: None, cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:  # fmt: skip
    """Compile `graph` for the device, run it there on `arrays`, and time every launch.

    `brief` asks for times only: what is known of the compilation is left out.
    """
    from profiler.measure.cuda.worker import CudaWorker

    try:
        model, took = compiled(graph, request.options, request.libraries, request.artifact)
    except CompilerError as error:
        return Outcome(MeasuredRun(FAILED, error=str(error)), error=error, compiling=True)
    record = None if brief else compilation_record(model, request.source, took.seconds, request.libraries, took.imports)
    stages = tuple(stage_records(model)) if texts else ()
    progress("compiled")
    try:
        program = program_of(model, dict(request.dims))
    except CompilerError as error:
        return Outcome(MeasuredRun(FAILED, error=str(error)), record, stages, error=error)
    given = tuple(None if slot is None else array for slot, array in zip(program.inputs, arrays, strict=True))
    samples = _Samples(request, graph) if request.sample and not brief else None
    asked = CudaRequest(
        program, given, repeats=request.repeat or 0, replays=request.repeat or REPLAYS, budget=request.budget,
        width=request.width, rotate=request.rotate, cubins=samples.cubins if samples else (),
    )  # fmt: skip
    with CudaWorker(int(request.device.partition(":")[2] or 0)) as worker:
        response = worker.run(asked, request.time_limit, cancelled)
        response = _with_kernel(response, worker, asked, cancelled)
    if response.failure == "unavailable":
        error = UnavailableError(response.error)
        return Outcome(MeasuredRun(FAILED, error=response.error), record, stages, error=error)
    result = result_of(response, model, request, program)
    if samples is not None and result.status == FINISHED:
        result = replace(result, sampling=samples.mapped(response, result.launches))
    types = tuple((from_numpy(y.dtype), y.shape) for y in response.outputs)
    return Outcome(result, record, stages, tuple(response.outputs), types)


class _Samples:
    """The model once more with line tables, as machine code to be sampled; and what the samples say of its lines."""

    def __init__(self, request: MeasureRequest, graph: Graph) -> None:
        from profiler.measure.sampling.device_code import DeviceListings

        self.cubins: tuple[bytes, ...] = ()
        self._note = ""
        try:
            lined = replace(request.options, debug="line-tables")
            self._listings = DeviceListings(compiled(graph, lined, request.libraries)[0])
            self.cubins = self._listings.cubins
        except CompilerError as error:
            self._note = f"there are no samples: {error.message}"

    def mapped(self, response: CudaResponse, launches: Sequence[Launch]) -> Sampling:
        """What was found, line by line."""
        note = self._note or str(response.sampling.get("note", ""))
        if note:
            found = Sampling(note=note, uncounted=str(response.sampling.get("uncounted", "")))
        else:
            found = self._listings.sampling(response.sampled, response.sampling, launches)
        return replace(found, counted=response.counted)


def _with_kernel(
    response: CudaResponse, worker: Any, asked: CudaRequest, cancelled: Callable[[], bool] = lambda: False
) -> CudaResponse:
    """A failure in a timed call does not tell its kernel: as many calls again, kernel by kernel, do."""
    if response.failure not in (FAULT, TIMEOUT, DIED) or response.kernel or response.calls < 2:
        return response
    careful = worker.run(replace(asked, careful=response.calls), _CAREFUL_SECONDS, cancelled)
    return replace(response, kernel=careful.kernel) if careful.kernel else response


def result_of(response: CudaResponse, model: Model, request: MeasureRequest, program: DeviceProgram) -> MeasuredRun:
    """The child's answer as a result; milliseconds become nanoseconds."""
    if response.status != FINISHED:
        return _failed(response, request)
    nanoseconds = _nanoseconds(response, program)
    repeats = len(nanoseconds)
    blocks = response.blocks or (
        *[_BLOCK] * (repeats // _BLOCK), *([repeats % _BLOCK] if repeats % _BLOCK else [])
    )  # fmt: skip
    launches = launch_records(
        model, request, nanoseconds, grids=[(step.blocks, step.threads) for step in program.steps]
    )
    whole = nanoseconds.sum(axis=1)
    memory = {"device": dict(response.memory), "transfers": [dict(item) for item in response.transfers]}
    return MeasuredRun(
        FINISHED, tuple(int(x) for x in whole), tuple(blocks), launches, tuple(_counters(response)),
        _conditions(response), memory, _timeline(nanoseconds),
    )  # fmt: skip


def _failed(response: CudaResponse, request: MeasureRequest) -> MeasuredRun:
    """A run that did not end well, in the words that a run on the CPU has for it."""
    call = f" (call {response.calls} of the model)" if response.kernel and response.calls else ""
    where = f" in kernel {response.kernel}{call}" if response.kernel else ""
    ended = {CANCELLED: "was cancelled", TIMEOUT: f"had no end within the time limit of {request.time_limit:g} s"}
    words = ended.get(response.failure)
    words = f"{words}{where}" if words else f"failed{where}: {response.error}"
    status = INTERRUPTED if response.failure == CANCELLED else FAILED
    conditions = {"call": response.calls}
    return MeasuredRun(status, error=words, signal=response.error_name, kernel=response.kernel, conditions=conditions)


def _nanoseconds(response: CudaResponse, program: DeviceProgram) -> np.ndarray:
    """Times by call and step; a step whose grid has no blocks is not launched and takes no time."""
    launched = [position for position, step in enumerate(program.steps) if all(step.blocks)]
    found = np.zeros((len(response.traces), len(program.steps)), np.int64)
    if response.traces:
        times = np.array(response.traces, dtype=np.float64).reshape(len(response.traces), len(launched))
        found[:, launched] = np.rint(times * 1e6).astype(np.int64)
    return found


def _counters(response: CudaResponse) -> list[Counter]:
    counters = [
        Counter("graph replay", (response.replay_ms or 0) * 1e-3, "s", "mean of a model's replay as a CUDA graph")
    ]
    for name, unit in (("peak", "B"), ("requested", "B"), ("held", "B"), ("allocations", "allocations")):
        if name in response.memory:
            counters.append(Counter(f"device memory, {name}", float(response.memory[name]), unit))
    for name, facts in response.functions.items():
        counters += [
            Counter(f"{name}: {what}", facts[what], unit) for what, unit in _FACTS if facts.get(what) is not None
        ]
    return counters


def _conditions(response: CudaResponse) -> dict[str, Any]:
    """The machine's and the device's conditions; what would make times doubtful is noted in words."""
    host, device = conditions(), dict(response.conditions)
    notes = [note for note in host["notes"] if "busy" in note]
    if response.replay_equal is False:
        notes.append("the replayed graph gave other results than the first run")
    if device.get("note"):
        notes.append(f"the device's clock is not known: {device['note']}")
    clocks = [(device.get("before") or {}).get("sm_clock_mhz"), device.get("sm_clock_mhz")]
    if all(clocks) and clocks[0] != clocks[1]:
        notes.append(f"the device's clock went from {clocks[0]} to {clocks[1]} MHz meanwhile")
    if (device.get("throttle_reasons") or 0) & ~_IDLE:
        notes.append(f"the device held its clock back (NVML reasons {device['throttle_reasons']:#x})")
    return host | {
        "device": device, "notes": notes, "interval_reached": response.reached, "buffer_sets": response.sets,
    }  # fmt: skip


_IDLE = 1  # NVML's reason "nothing to do" is none to worry about
_FACTS = (("registers", "registers"), ("shared_bytes", "B"), ("local_bytes", "B"))


def _timeline(nanoseconds: np.ndarray) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The launches of the median call, one after the other: a stream is one row."""
    if not nanoseconds.size:
        return ()
    middle = nanoseconds[int(np.argsort(nanoseconds.sum(axis=1))[len(nanoseconds) // 2])]
    ends = np.cumsum(middle)
    return (tuple((int(end - span), int(end)) for end, span in zip(ends, middle)),)
