"""A sampled pass on a device: the launches of a program again and again, from machine code of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np

from profiler.measure.cuda.device import Device
from profiler.measure.cuda.driver import call, driver
from profiler.measure.cuda.pc_sampling import PcSampler, Sampled
from profiler.measure.cuda.program import DeviceProgram
from profiler.measure.cuda.resident import Executable, Resident

SECONDS = 1.0
_TURN = 0.05
"""Seconds of calls between two looks at what was found."""
_WARM, _STRETCH, _MOST = 3, 20, 20_000


def sample_program(
    device: Device, program: DeviceProgram, cubins: Sequence[bytes], arrays: Sequence[np.ndarray | None]
) -> tuple[tuple[Sampled, ...], dict[str, Any]]:
    """Samples by function and offset, and what taking them was like."""
    with ExitStack() as stack:
        executable = Executable(device, program, cubins)
        stack.callback(executable.close)
        resident = stack.enter_context(Resident(executable, program))
        resident.upload(arrays)
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
