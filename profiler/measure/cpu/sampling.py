"""A sampled pass: the calls of a run once more, over the same kernels with line tables, with a clock that looks on.

Nothing of it touches what is timed: it comes after, over code and buffers of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from compiler.errors import CompilerError, UnavailableError
from profiler.measure.cpu.native import BoundProgram, Watch
from profiler.measure.sampling.clock import PERIOD, SamplingClock
from profiler.measure.sampling.lined import lined_kernels, lined_program, loaded_ranges
from profiler.measure.sampling.mapping import sampled_kernels
from profiler.records import Launch
from profiler.sampled import Sampling

if TYPE_CHECKING:
    from compiler.model import Model

SECONDS = 2.0
"""How long calls are sampled: about eight thousand samples on two threads."""
_STRETCH = 0.1
_PLAIN_EVERY = 4
"""Of the stretches of calls, one in so many is made without the clock, to know what the clock costs."""


def sample_launches(
    model: Model, sets: Sequence[Sequence[np.ndarray]], threads: int, launches: Sequence[Launch], watch: Watch,
    begun: int,
) -> Sampling:  # fmt: skip
    """Sample a model whose launches were timed before."""
    seconds: dict[str, list[float]] = {}
    for launch in launches:
        seconds.setdefault(launch.kernel, []).append(float(np.median(launch.samples)) if launch.samples else 0.0)
    return sample_model(model, sets, threads, watch, begun, seconds)


def sample_model(
    model: Model, sets: Sequence[Sequence[np.ndarray]], threads: int | None, watch: Watch | None = None,
    begun: int = 0, seconds: Mapping[str, Sequence[float]] | None = None,
) -> Sampling:  # fmt: skip
    """Sample a model over some sets of arrays; where that is not to be had, `note` says why."""
    try:
        clock = SamplingClock()  # said before anything is compiled for it
        clock.close()
        kernels = lined_kernels(model)
    except UnavailableError as error:
        return Sampling(note=error.message)
    except CompilerError as error:
        return Sampling(note=f"there are no samples: with line tables, {error.message}")
    program = lined_program(model, kernels)
    bound = BoundProgram(program, sets, threads, watch, begun)
    addresses, figures = _sampled_calls(bound)
    ranges = loaded_ranges(program, kernels)
    where = ranges.find(addresses)
    owners = np.where(where >= 0, ranges.owners[where], -2)
    return Sampling(
        sampled_kernels(addresses, ranges, kernels, seconds or {}), len(addresses), int(np.sum(owners >= 0)),
        int(np.sum(owners == -1)), **figures,
    )  # fmt: skip


def _sampled_calls(bound: BoundProgram) -> tuple[np.ndarray, dict]:
    times = bound.measure(3)
    per_call = max(float(np.median(times[:, 1] - times[:, 0])) * 1e-9, 1e-7)
    count = max(int(_STRETCH / per_call), 1)
    found: list[np.ndarray] = []
    plain: list[float] = []
    sampled: list[float] = []
    calls, turn, begun = 0, 0, perf_counter()
    clock = SamplingClock()  # now that every worker thread is there
    try:
        while turn < _PLAIN_EVERY or perf_counter() - begun < SECONDS:
            looking = turn % _PLAIN_EVERY != 1
            if looking:
                clock.start()
            times = bound.measure(count, turn * count)
            if looking:
                found.append(clock.stop())
                calls += count
            (sampled if looking else plain).append(float(np.median(times[:, 1] - times[:, 0])))
            turn += 1
    finally:
        clock.close()
    slowdown = float(np.median(sampled)) / float(np.median(plain)) - 1
    figures = {
        "lost": clock.lost, "calls": calls, "period": PERIOD * 1e-9, "seconds": perf_counter() - begun,
        "slowdown": slowdown,
    }  # fmt: skip
    return np.concatenate(found), figures
