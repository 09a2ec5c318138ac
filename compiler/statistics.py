"""The funnel: what each stage of a compilation makes of the IR, and how long it takes.

It is computed from records of passes alone, as a compilation leaves them or as a store gives them back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.options import STAGE_TABLE, TIMED_STAGES
from compiler.trace import PassRecord


@dataclass(frozen=True)
class StageFigures:
    """One step of the funnel: operations and bytes that leave it (None where nobody counted), and its seconds.

    Operations are graph ops (`mo`), kernel calls (`mogg`), MLIR operations (`kgen`, `kernel`), LLVM's instructions
    (`llvm`). Bytes are those of LLVM IR and of code; those of MLIR are known where a compilation keeps snapshots.
    """

    stage: str
    ops: int | None
    bytes: int | None
    seconds: float
    share: float
    """Of all seconds of the compilation, or of this kernel."""


def funnel_of(passes: Sequence[PassRecord], printed: Mapping[str, int] | None = None) -> list[StageFigures]:
    """The steps of a whole compilation, in the order of the stages.

    `printed` has the bytes of what elaboration made, by module, where its texts were kept (`Trace.printed`).
    """
    return _steps(passes, sum(printed.values()) if printed else None)


def funnel_by_kernel(
    passes: Sequence[PassRecord], printed: Mapping[str, int] | None = None
) -> dict[str, list[StageFigures]]:
    """The funnel of every kernel and every shared function.

    Where passes ran over a module of several kernels, each has a part of their time as large as its part of the
    operations that came out; the same goes for LLVM's work on bundles, by bytes.
    """
    by_kernel: dict[str, list[PassRecord]] = {}
    for record in passes:
        by_kernel.setdefault(record.kernel, []).append(record)
    whole = [record for record in by_kernel.pop("", ()) if record.stage == "kernel"]
    units = {record.kernel: record for record in passes if record.name == "emit-llvm" and record.ops_before >= 0}
    operations = sum(record.ops_before for record in units.values())
    seconds = sum(record.seconds for record in whole)
    for name, records in by_kernel.items():
        if whole and name in units and not any(record.stage == "kernel" for record in records):
            own = units[name].ops_before
            part = seconds * own / operations if operations else 0.0
            records.append(PassRecord("passes", "kernel", name, 0.0, part, -1, own, -1))
    return {name: _steps(records, printed.get(name) if printed else None) for name, records in by_kernel.items()}


def _steps(passes: Sequence[PassRecord], elaborated: int | None) -> list[StageFigures]:
    timed = _timed(passes)
    total = sum(record.seconds for record in timed)
    by_stage: dict[str, list[PassRecord]] = {stage: [] for stage in TIMED_STAGES}
    for record in timed:
        by_stage.setdefault(record.stage, []).append(record)
    found = []
    for stage, records in by_stage.items():
        if records:
            seconds = sum(record.seconds for record in records)
            size = _left(records, "bytes_after") or (elaborated if stage == "kgen" else None)
            share = seconds / total if total else 0.0
            found.append(StageFigures(stage, _left(records, "ops_after"), size, seconds, share))
    return found


def operations_after(passes: Iterable[PassRecord]) -> dict[str, int]:
    """How many operations each pass left in all, where they were counted, by its name; of two stages, in the later."""
    found: dict[tuple[str, str], list[PassRecord]] = {}
    for record in passes:
        if record.ops_after >= 0:
            found.setdefault((record.stage, record.name), []).append(record)
    return {name: _left(records, "ops_after") or 0 for (_, name), records in found.items()}


IMPORTS, OUTSIDE = "imports", "outside"
"""What a moment of a compilation is put down to where no pass ran: modules that were loaded, or nothing known."""
UNACCOUNTED = {IMPORTS: "loading modules", OUTSIDE: "outside any pass"}
"""The same in words."""


@dataclass(frozen=True)
class Elapsed:
    """A part of the time that went by: a stage, `IMPORTS` or `OUTSIDE`. The parts make up the whole."""

    stage: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Gap:
    """A stretch of a compilation in which no pass ran; `what` is `IMPORTS` or `OUTSIDE`."""

    what: str
    start: float
    seconds: float


def elapsed_parts(
    passes: Sequence[PassRecord], whole: float = 0.0, imports: Sequence[tuple[float, float]] = ()
) -> list[Elapsed]:
    """Where the time by the clock went, in the order of the stages, then what no pass accounts for.

    `whole` is the time from the beginning to the end; `imports` are (start, seconds) of modules that were loaded. A
    stage that several processes worked on at once counts once, and stages that went on at once have a part each.
    """
    lengths, running, loading = _moments(passes, whole, imports)
    seconds = {stage: 0.0 for stage in TIMED_STAGES if stage in running}
    busy = np.sum(list(running.values()), axis=0) if running else np.zeros(len(lengths))
    for stage, active in running.items():
        seconds[stage] = float(np.sum(np.where(active & ~loading, lengths / np.maximum(busy, 1), 0.0)))
    seconds[IMPORTS] = float(lengths[loading].sum())
    seconds[OUTSIDE] = float(lengths[(busy == 0) & ~loading].sum())
    total = sum(seconds.values()) or 1.0
    kept = (entry for entry in seconds.items() if entry[1] > 0 or entry[0] in running)
    return [Elapsed(stage, taken, taken / total) for stage, taken in kept]


def gaps_of(
    passes: Sequence[PassRecord], whole: float = 0.0, imports: Sequence[tuple[float, float]] = (), least: float = 1e-5
) -> list[Gap]:
    """The stretches of at least so many seconds that no pass accounts for."""
    lengths, running, loading = _moments(passes, whole, imports)
    idle = ~np.any(list(running.values()), axis=0) if running else np.ones(len(lengths), bool)
    kinds = np.where(idle, np.where(loading, 1, 2), 0)
    starts = np.concatenate(([0.0], np.cumsum(lengths)))
    found = []
    for first, last in _stretches(kinds):
        taken = float(starts[last] - starts[first])
        if kinds[first] and taken >= least:
            found.append(Gap(IMPORTS if kinds[first] == 1 else OUTSIDE, float(starts[first]), taken))
    return found


def _moments(
    passes: Sequence[PassRecord], whole: float, imports: Sequence[tuple[float, float]]
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """The time cut where anything begins or ends: how long each piece is, which stages ran in it, what was loaded."""
    timed = _timed(passes)
    spans = np.array([(r.start, r.start + r.seconds) for r in timed] or np.zeros((0, 2)), float)
    loads = np.array([(start, start + seconds) for start, seconds in imports] or np.zeros((0, 2)), float)
    end = max(whole, float(spans[:, 1].max()) if len(spans) else 0.0)
    spans, loads = np.clip(spans, 0.0, end), np.clip(loads, 0.0, end)
    # Not np.unique, which first loads NumPy's masked arrays: in the window that would be felt.
    edges = np.sort(np.concatenate(([0.0, end], spans.ravel(), loads.ravel())))
    edges = edges[np.append(True, edges[1:] != edges[:-1])]

    def active(which: np.ndarray) -> np.ndarray:
        change = np.zeros(len(edges), np.int64)
        np.add.at(change, np.searchsorted(edges, which[:, 0]), 1)
        np.add.at(change, np.searchsorted(edges, which[:, 1]), -1)
        return np.cumsum(change)[:-1] > 0

    stages = np.array([record.stage for record in timed])
    running = {stage: active(spans[stages == stage]) for stage in dict.fromkeys(r.stage for r in timed)}
    return np.diff(edges), running, active(loads)


def _stretches(kinds: np.ndarray) -> list[tuple[int, int]]:
    """(first, one after the last) of neighbours that are alike."""
    if not len(kinds):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    return list(itertools.pairwise(cuts))


def _timed(passes: Sequence[PassRecord]) -> list[PassRecord]:
    """Those whose time is no part of another's already."""
    stages = dict.fromkeys(record.stage for record in passes)
    within = {stage for stage in stages if stage in STAGE_TABLE and STAGE_TABLE[stage].within}
    return [record for record in passes if record.stage not in within]


def _left(records: Iterable[PassRecord], size: str) -> int | None:
    """What the last pass over each part of the model left, summed over the parts.

    A part is a kernel, or one of the modules that all kernels are in: each begins with the stage's first pass again.
    """
    first, modules = "", 0
    last: dict[tuple[str, int], int] = {}
    for record in records:
        if not record.kernel:
            first = first or record.name
            modules += record.name == first
        if getattr(record, size) >= 0:
            last[record.kernel, 0 if record.kernel else modules] = getattr(record, size)
    return sum(last.values()) if last else None


def cache_figures(passes: Iterable[PassRecord], kernels: int) -> dict[str, int]:
    """How many kernels came from the cache, as part of a whole model or alone."""
    hits = sum(record.stage == "cache" and record.name in ("model-hit", "object-hit") for record in passes)
    return {"hits": hits, "misses": kernels - hits}
