"""Requests and answers between this process and the one that runs CUDA work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.processes.frames import named
from profiler.counted import CountedLaunch
from profiler.measure.cuda.program import DeviceProgram

FINISHED, FAILED = "finished", "failed"
# What went wrong, for a failed answer
UNAVAILABLE, REFUSED, FAULT, TIMEOUT, DIED = "unavailable", "refused", "fault", "timeout", "died"
CANCELLED = "cancelled"


@dataclass(frozen=True, eq=False)
class CudaRequest:
    """Run a program on these arguments (None for one that no kernel reads).

    The first run goes kernel by kernel, so that a failure names its kernel; `repeats` more are timed, each kernel with
    events, and `replays` more as a CUDA graph, whose outputs must equal the first run's. With a `budget` (seconds),
    calls are timed until the interval of the median is within `width`, or `repeats` of them where that is not zero;
    with `rotate`, on as many copies of the buffers as it takes to get out of the cache. `careful` asks for so many runs
    kernel by kernel and no times: to find the kernel of a fault that a timed run met.
    """

    program: DeviceProgram
    arrays: tuple[np.ndarray | None, ...]
    repeats: int = 0
    replays: int = 0
    poison: bool = False
    budget: float = 0.0
    width: float = 0.01
    rotate: bool = False
    careful: int = 0
    cubins: tuple[bytes, ...] = ()
    """Machine code to sample: the same kernels, launched once more from these after the timing."""


@dataclass(frozen=True, eq=False)
class CudaResponse:
    """What came of it. Times are milliseconds: `traces` one tuple a repeat with one number a launch."""

    status: str
    outputs: tuple[np.ndarray, ...] = ()
    mutable: Mapping[int, np.ndarray] = field(default_factory=dict)
    traces: tuple[tuple[float, ...], ...] = ()
    replay_ms: float | None = None
    replay_equal: bool | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    transfers: tuple[Mapping[str, Any], ...] = ()
    functions: Mapping[str, Any] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""
    failure: str = ""
    error: str = ""
    error_name: str = ""
    kernel: str = ""
    blocks: tuple[int, ...] = ()
    reached: bool = True
    sets: int = 1
    calls: int = 0
    """Runs made, or begun where one failed."""
    sampled: tuple[tuple[str, int, tuple[tuple[str, int], ...]], ...] = ()
    """Function, offset, and samples by reason; `sampling` are the figures of that pass, or a note why there is none."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    counted: tuple[CountedLaunch, ...] = ()
    """The hardware counters of each launch of that pass."""


@dataclass(frozen=True)
class Running:
    """What comes next: a kernel of a first run, or a timed call, where no kernel is named."""

    kernel: str
    call: int


ANSWERS = named(Running, CudaResponse)
