"""The process that touches the device for another one: takes requests, answers them.

Before each kernel of a first run it says which one comes, so that the parent can name a kernel that never ends, and
before each timed call which call it is, so that the parent can have that one made again kernel by kernel. After an
error that spoils the context it answers and ends: the parent starts another.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from compiler.errors import CompilerError, UnavailableError
from compiler.processes.child import end_with_parent
from compiler.processes.frames import Channel, named
from profiler.measure.cuda.driver import CudaError
from profiler.measure.cuda.messages import (
    FAILED,
    FAULT,
    FINISHED,
    REFUSED,
    UNAVAILABLE,
    CudaRequest,
    CudaResponse,
    Running,
)
from profiler.measure.cuda.timing import CudaTiming, rotating_sets, time_residents

KNOWN = named(CudaRequest)


def run(request: CudaRequest, index: int, say: Any) -> CudaResponse:
    """Run one request on this process's device; `say` is told each kernel before it starts, and each timed call."""
    from profiler.measure.cuda.device import open_device
    from profiler.measure.cuda.resident import Executable, Resident

    device = open_device(index)
    with ExitStack() as stack:
        executable = Executable(device, request.program)
        stack.callback(executable.close)
        resident = stack.enter_context(Resident(executable, request.program))
        transfers = len(device.transfers.done)
        resident.upload(request.arrays)
        if request.poison:
            resident.poison()
        for call in range(max(request.careful, 1)):
            resident.launch_carefully(lambda kernel, call=call: say(kernel, call + 1))
        say("", 1)
        if request.careful:
            return CudaResponse(FINISHED, calls=request.careful)
        mutable = resident.download_mutable()
        outputs = resident.download()
        before = _conditions(device)
        timing, sets = _timed(request, executable, resident, stack, say)
        replay_ms = equal = None
        if request.replays:
            resident.upload(request.arrays)
            resident.capture()
            resident.replay()
            resident.synchronize()
            equal = _equal(outputs, resident.download()) and _equal(mutable, resident.download_mutable())
            replay_ms = resident.time(request.replays, replay=True)
        memory = asdict(device.memory())
        moved = [asdict(t) | {"bandwidth": t.bandwidth} for t in list(device.transfers.done)[transfers:]]
        functions = {
            name: {"registers": f.registers, "shared_bytes": f.shared_bytes, "local_bytes": f.local_bytes}
            for name, f in executable.loaded.functions.items()
        }
        after = _conditions(device) | {"before": before}
        sampled, counted, sampling = _sampled(request, device) if request.cubins else ((), (), {})
        return CudaResponse(
            FINISHED, tuple(outputs), mutable, timing.traces, replay_ms, equal, memory, tuple(moved), functions,
            after, executable.loaded.log, blocks=timing.blocks, reached=timing.reached, sets=sets, sampled=sampled,
            sampling=sampling, counted=counted,
        )  # fmt: skip


def _sampled(request: CudaRequest, device: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """Where the warps of the same launches are, from code of its own; what went wrong is a note, not a failed run."""
    from profiler.measure.cuda.sampling import sample_program

    try:
        return sample_program(device, request.program, request.cubins, request.arrays, request.rotate)
    except (UnavailableError, CudaError) as error:
        return (), (), {"note": str(error)}


def _timed(request: CudaRequest, executable: Any, resident: Any, stack: ExitStack, say: Any) -> tuple[CudaTiming, int]:
    """Times of every launch of every timed call, on rotating buffers where that is asked for."""
    from profiler.measure.cuda.resident import Resident

    if not request.budget:
        traces = []
        for call in range(request.repeats):
            say("", call + 2)
            traces.append(tuple(each.milliseconds for each in resident.trace()))
        return CudaTiming(tuple(traces), (), True), 1
    device, program = executable.device, request.program
    free, _ = device.memory_info()
    cache = device.attribute("L2_CACHE_SIZE")
    sets = rotating_sets(program.call_bytes, cache, free, request.rotate)
    residents = [resident]
    for _ in range(sets - 1):
        residents.append(stack.enter_context(Resident(executable, program)))
        residents[-1].upload(request.arrays)
    timing = time_residents(
        residents, repeat=request.repeats or None, width=request.width, budget=request.budget,
        report=lambda made: say("", made + 2),
    )  # fmt: skip
    return timing, sets


def _equal(first: Any, second: Any) -> bool:
    """Bit for bit, so that NaN equals itself."""
    if isinstance(first, dict):
        first, second = list(first.values()), list(second.values())
    return all(
        np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))
        for a, b in zip(first, second, strict=True)
    )


def _conditions(device: Any) -> dict[str, Any]:
    from profiler.measure.cuda.nvml import conditions

    try:
        return asdict(conditions(device.pci_bus_id))
    except UnavailableError as missing:
        return {"note": str(missing)}


def answer(request: CudaRequest, index: int, say: Any) -> tuple[CudaResponse, bool]:
    """The response, and whether this process can go on."""
    running, calls = [""], [0]

    def tell(kernel: str, call: int) -> None:
        running[0], calls[0] = kernel, call
        say(kernel, call)

    try:
        return run(request, index, tell), True
    except UnavailableError as error:
        return CudaResponse(FAILED, failure=UNAVAILABLE, error=str(error)), True
    except CudaError as error:
        response = CudaResponse(
            FAILED, failure=FAULT, error=str(error), error_name=error.name, kernel=running[0], calls=calls[0]
        )
        return response, not error.sticky
    except CompilerError as error:
        log = getattr(error, "log", "")
        return CudaResponse(FAILED, failure=REFUSED, error=str(error), error_name=type(error).__name__, log=log), True


def serve(channel: Channel, index: str) -> None:
    """Answer until the parent closes its end."""
    end_with_parent()
    with suppress(EOFError, OSError):
        usable = True
        while usable:
            request: CudaRequest = channel.receive().value
            response, usable = answer(request, int(index), lambda kernel, call: channel.send(Running(kernel, call)))
            channel.send(response)
    os._exit(0)  # a spoiled context may hang in the driver's own exit code
