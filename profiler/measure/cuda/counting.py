"""The hardware counters of every launch of a program, in calls of their own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from compiler.errors import UnavailableError
from profiler.counted import CountedLaunch
from profiler.measure.cuda.driver import CudaError, call, driver
from profiler.measure.cuda.range_counters import RangeCounters
from profiler.measure.cuda.resident import Resident

_WARM = 2
"""Calls before one that is counted: the caches then hold what a call leaves behind, not what the upload did."""


def count_launches(resident: Resident, others: Sequence[Resident] = ()) -> tuple[tuple[CountedLaunch, ...], str]:
    """The counters of each launch, or a sentence that says why there are none.

    `others` are copies of the program on buffers of their own: they are called before each counted call, so that it
    finds the caches as timed calls do.
    """
    steps = [(at, step.kernel) for at, step in enumerate(resident.program.steps) if all(step.blocks)]

    def before() -> None:
        for other in (*others, *([] if others else [resident] * _WARM)):
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
