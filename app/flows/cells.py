"""Measuring compilations from outside: a fresh process each, its resources as `/usr/bin/time` would tell them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from app.errors import CompilationFailed
from compiler.errors import UnavailableError
from compiler.options import FLOWS, CompileOptions
from compiler.temporary import temporary_folder

CACHES = ("cold", "warm")


@dataclass(frozen=True)
class Request:
    """What is measured, apart from what varies between cells."""

    source: str
    options: CompileOptions = field(default_factory=CompileOptions)
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One row of a table: a flow at an optimisation and debug level, with an empty or a filled cache."""

    flow: str
    opt_level: int
    debug: str
    cache: str
    execute: bool = False

    def __str__(self) -> str:
        return f"{self.flow} -O{self.opt_level} {self.debug} {self.cache}{' to first result' * self.execute}"


BASE = Cell("none", 0, "none", "cold")
"""A process that only loads the source: what every cell pays before it compiles anything."""


@dataclass(frozen=True)
class Task:
    """What one process does: load a source, compile it where options are given, and run it where asked to."""

    source: str
    options: CompileOptions | None
    libraries: tuple[str, ...] = ()
    execute: bool = False


@dataclass(frozen=True)
class Told:
    """What a process says about itself; the seconds to its result count from the beginning of its compilation."""

    kernels: int = 0
    compile_seconds: float = 0.0
    first_result_seconds: float = 0.0
    imports: float = 0.0
    """Seconds of importing, which are no part of the compilation's own."""


@dataclass(frozen=True)
class Sample:
    """One process: seconds, the most bytes that it and its own workers held together, and what it said of itself."""

    user: float
    system: float
    elapsed: float
    peak_bytes: int
    told: Told = field(repr=False)

    @property
    def cpu(self) -> float:
        """User and system time together."""
        return self.user + self.system


@dataclass(frozen=True)
class Row:
    """A cell's samples in short: medians, and how far apart the samples lie."""

    cell: Cell
    samples: tuple[Sample, ...]

    def median(self, what: Callable[[Sample], float]) -> float:
        """The median of a figure over the repeats."""
        import statistics  # slow to load, and the window loads this file when it starts

        return statistics.median(what(sample) for sample in self.samples)

    def spread(self, what: Callable[[Sample], float]) -> float | None:
        """(largest - smallest) / median; of one sample there is none."""
        values = [what(sample) for sample in self.samples]
        middle = self.median(what)
        return (max(values) - min(values)) / middle if middle and len(values) > 1 else None

    def document(self) -> dict[str, Any]:
        """As plain data."""
        elapsed = self.median(lambda s: s.elapsed)
        return asdict(self.cell) | {
            "user_s": self.median(lambda s: s.user),
            "system_s": self.median(lambda s: s.system),
            "elapsed_s": elapsed,
            "cpu_percent": 100 * self.median(lambda s: s.cpu) / elapsed if elapsed else 0.0,
            "peak_bytes": int(self.median(lambda s: s.peak_bytes)),
            "repeats": len(self.samples),
            "spread": self.spread((lambda s: s.told.first_result_seconds) if self.cell.execute else (lambda s: s.cpu)),
            "import_s": self.median(lambda s: s.told.imports),
            "compile_s": self.median(lambda s: s.told.compile_seconds),
            "first_result_s": self.median(lambda s: s.told.first_result_seconds) if self.cell.execute else None,
        }


@dataclass
class Measured:
    """What has been measured so far."""

    request: Request
    repeat: int
    base: Sample
    samples: dict[Cell, list[Sample]]
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    """What else to know of the machine: that it was busy before or after."""

    @property
    def rows(self) -> list[Row]:
        """The cells that have at least one sample."""
        return [Row(cell, tuple(found)) for cell, found in self.samples.items() if found]


def cells(levels: Sequence[int], debugs: Sequence[str], *, start_up: bool) -> list[Cell]:
    """Every combination; start-up cells (at the highest level, without debug info unless nothing else) come last."""
    listed = [
        Cell(flow, o, debug, cache) for o, debug, cache, flow in itertools.product(levels, debugs, CACHES, FLOWS[::-1])
    ]
    if start_up:
        debug = "none" if "none" in debugs else debugs[0]
        listed += [Cell(flow, max(levels), debug, cache, True) for cache in CACHES for flow in FLOWS[::-1]]
    return listed


def measure(request: Request, wanted: Sequence[Cell], repeat: int, say: Callable[[str], None]) -> Measured:
    """Measure the cells in turn, `repeat` times over, so that a slow moment of the machine hits all of them alike.

    An interrupt ends the measuring and keeps what is finished.
    """
    from profiler.measure.machine import busy_notes

    notes = busy_notes()  # the load afterwards is our own
    return gathered(request, wanted, repeat, take_samples(request, wanted, repeat), notes, say)


Samples = Generator[tuple[Cell, Sample | None], None, None]
"""First `BASE` with its sample; then each cell twice in every round: with None as it begins, and as it ends."""


def gathered(
    request: Request, wanted: Sequence[Cell], repeat: int, taken: Samples, notes: tuple[str, ...],
    say: Callable[[str], None],
) -> Measured:  # fmt: skip
    """Samples as they are taken, wherever that is; an interrupt keeps what is finished."""
    measured: Measured | None = None
    total = len(wanted) * repeat
    try:
        for number, (cell, sample) in enumerate(taken):
            if measured is None:
                assert sample is not None
                measured = Measured(request, repeat, sample, {known: [] for known in wanted})
            elif sample is None:
                say(f"[{number // 2 + 1}/{total}] {cell}")
            else:
                measured.samples[cell].append(sample)
    except KeyboardInterrupt:
        if measured is None:
            raise
        measured.interrupted = True
    finally:
        taken.close()
    assert measured is not None
    measured.notes = notes
    return measured


def take_samples(request: Request, wanted: Sequence[Cell], repeat: int, within: str | None = None) -> Samples:
    """The samples of all cells, taken on this machine.

    The caches are made in a temporary folder inside `within`, which a caller that may be killed can remove itself.
    """
    check_platform()
    with temporary_folder("flows", within) as folder:
        _process(request, BASE, folder)  # byte code and page cache
        yield BASE, _process(request, BASE, folder)
        for turn, cell in itertools.product(range(repeat), wanted):
            yield cell, None
            yield cell, sample_with_cache(cell, Path(folder), turn, lambda cell, cache: _process(request, cell, cache))


def sample_with_cache(cell: Cell, folder: Path, turn: int, process: Callable[[Cell, str], Sample]) -> Sample:
    """A cold cell gets an empty cache of its own; a warm one the cache that the cold cell before it filled."""
    cache = folder / f"{turn}-{cell.flow}-{cell.opt_level}-{cell.debug}-{cell.execute}"
    if cell.cache == "warm" and not cache.exists():
        process(cell, str(cache))
    return process(cell, str(cache))


def options_of(options: CompileOptions, cell: Cell) -> CompileOptions | None:
    """What a cell is compiled with; None where it only loads the source."""
    if cell == BASE:
        return None
    return replace(options, flow=cell.flow, opt_level=cell.opt_level, debug=cell.debug)


def _process(request: Request, cell: Cell, cache: str) -> Sample:
    task = Task(request.source, options_of(request.options, cell), request.libraries, cell.execute)
    return measured_process("app.worker.flow_child", task, cell, cache)


def measured_process(
    module: str, task: object, cell: Cell, cache: str, unwanted: Callable[[], bool] | None = None
) -> Sample:
    """A fresh process that does a task, with a cache of its own, watched from outside."""
    from compiler.processes.frames import Wait
    from compiler.processes.messages import Refusal, remade
    from compiler.processes.supervisor import Child
    from profiler.measure.tree_memory import watched

    start = time.perf_counter()
    # It may be in the middle of anything when it is ended, with workers of its own: a session holds them together.
    child = Child(module, {"Told": Told, "Refusal": Refusal}, session=True, more={"KERNELGLASS_CACHE": cache})
    told: Told | Refusal | None = None
    try:
        with watched(child.pid) as peak:
            with suppress(EOFError, ConnectionError):
                child.channel.send(task)
                told = child.channel.receive(Wait(cancelled=unwanted)).value
            usage = child.end_measured()
    except BaseException:
        child.end()
        raise
    elapsed = time.perf_counter() - start
    status = child.process.returncode
    if status != 0 or told is None:
        raise CompilationFailed(f"the process that compiles {cell} ended with status {status}")
    if isinstance(told, Refusal):
        raise CompilationFailed(str(remade(told)))
    return Sample(usage.ru_utime, usage.ru_stime, elapsed, peak.bytes, told)


def check_platform() -> None:
    """UnavailableError where processes cannot be measured from outside."""
    if not hasattr(os, "wait4"):
        raise UnavailableError("measuring processes needs wait4, which this system does not have")
