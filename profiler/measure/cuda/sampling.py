"""A sampled pass on a device: the launches of a program again and again, from machine code of its own, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from time import perf_counter
from typing import Any

import numpy as np

from compiler.errors import UnavailableError
from profiler.counted import CountedLaunch
from profiler.measure.cuda.device import Device
from profiler.measure.cuda.driver import CudaError, call, driver
from profiler.measure.cuda.pc_sampling import PcSampler, Sampled
from profiler.measure.cuda.program import DeviceProgram
from profiler.measure.cuda.range_counters import RangeCounters
from profiler.measure.cuda.resident import Executable, Resident
from profiler.measure.cuda.timing import rotating_sets

SECONDS = 1.0
_TURN = 0.05
"""Seconds of calls between two looks at what was found."""
_WARM, _STRETCH, _MOST = 3, 20, 20_000
_BEFORE = 2
"""Calls before one that is counted: the caches then hold what a call leaves behind, not what the upload did."""


def sample_program(
    device: Device,
    program: DeviceProgram,
    cubins: Sequence[bytes],
    arrays: Sequence[np.ndarray | None],
    rotate: bool = False,
) -> tuple[tuple[Sampled, ...], tuple[CountedLaunch, ...], dict[str, Any]]:
    """Samples by function and offset, the counters of each launch, and what taking them was like.

    Where timed calls rotate among copies of the buffers, so do those that are counted.
    """
    with ExitStack() as stack:
        executable = Executable(device, program, cubins)
        stack.callback(executable.close)
        resident = stack.enter_context(Resident(executable, program))
        resident.upload(arrays)
        try:
            rows, figures = _sampled(resident)  # first: in a process that has counted, CUPTI begins no sampling
        except UnavailableError as error:
            rows, figures = (), {"note": str(error)}
        sets = rotating_sets(program.call_bytes, device.attribute("L2_CACHE_SIZE"), device.memory_info()[0], rotate)
        others = [stack.enter_context(Resident(executable, program)) for _ in range(sets - 1)]
        for other in others:
            other.upload(arrays)
        counted, uncounted = count_launches(resident, others)
    return rows, counted, {**figures, "uncounted": uncounted}


def _sampled(resident: Resident) -> tuple[tuple[Sampled, ...], dict[str, Any]]:
    with ExitStack() as stack:
        plain = _calls(resident, _WARM, SECONDS / 4)
        sampler = PcSampler(int(call(driver().cuCtxGetCurrent)))
        stack.callback(sampler.close)
        found: dict[tuple[str, int], Counter[str]] = {}
        sampled: list[float] = []
        dropped, begun = 0, perf_counter()
        while len(sampled) < _WARM or perf_counter() - begun < SECONDS:
            sampler.start()
            sampled += _calls(resident, 1, _TURN)
            taken, lost = sampler.stop()
            dropped += lost
            for name, offset, stalls in taken:
                found.setdefault((name, offset), Counter()).update(dict(stalls))
        seconds = perf_counter() - begun
    slowdown = float(np.median(sampled) / np.median(plain) - 1)
    rows = tuple((name, offset, tuple(stalls.most_common())) for (name, offset), stalls in found.items())
    return rows, {"lost": dropped, "calls": _STRETCH * len(sampled), "seconds": seconds, "slowdown": slowdown}


def _calls(resident: Resident, least: int, seconds: float) -> list[float]:
    """Seconds of stretches of calls: at least so many stretches, and for so long."""
    begun, taken = perf_counter(), []
    while len(taken) < least or (perf_counter() - begun < seconds and len(taken) * _STRETCH < _MOST):
        start = perf_counter()
        for _ in range(_STRETCH):
            resident.launch()
        resident.synchronize()
        taken.append((perf_counter() - start) / _STRETCH)
    return taken


def count_launches(resident: Resident, others: Sequence[Resident] = ()) -> tuple[tuple[CountedLaunch, ...], str]:
    """The counters of each launch, or a sentence that says why there are none.

    `others` are copies of the program on buffers of their own: they are called before each counted call, so that it
    finds the caches as timed calls do.
    """
    steps = [(at, step.kernel) for at, step in enumerate(resident.program.steps) if all(step.blocks)]

    def before() -> None:
        for other in (*others, *([] if others else [resident] * _BEFORE)):
            other.launch()
            other.synchronize()

    try:
        with closing(RangeCounters(int(call(driver().cuCtxGetCurrent)), resident.device.index)) as counters:
            found = counters.count(
                [lambda start=start: call(start[0], *start[1]) for _, start in resident.starts],
                synchronize=resident.synchronize,
                before=before,
            )
    except (UnavailableError, CudaError) as error:
        return (), str(error)
    return tuple(CountedLaunch(at, kernel, **values) for (at, kernel), values in zip(steps, found, strict=True)), ""
