"""The funnel: what each stage of a compilation makes of the IR, and how long it takes.

It is computed from records of passes alone, as a compilation leaves them or as a store gives them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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


def funnel_of(
    passes: Sequence[PassRecord], kernel: str | None = None, printed: Mapping[str, int] | None = None
) -> list[StageFigures]:
    """The steps of a whole compilation, or of one kernel (or shared function), in the order of the stages.

    `printed` has the bytes of what elaboration made, by module, where its texts were kept (`Trace.printed`).
    """
    if kernel is None:
        return _steps(passes, sum(printed.values()) if printed else None)
    return funnel_by_kernel(passes, printed).get(kernel, [])


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
    timed = [record for record in passes if not _is_within(record.stage)]
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


def _is_within(stage: str) -> bool:
    """Whether the time of a stage is part of another's already."""
    return stage in STAGE_TABLE and bool(STAGE_TABLE[stage].within)


def _left(records: Iterable[PassRecord], size: str) -> int | None:
    """What the last pass over each part of the module left, summed over the parts."""
    last = {record.kernel: getattr(record, size) for record in records if getattr(record, size) >= 0}
    return sum(last.values()) if last else None


def cache_figures(passes: Iterable[PassRecord], kernels: int) -> dict[str, int]:
    """How many kernels came from the cache, as part of a whole model or alone."""
    hits = sum(record.stage == "cache" and record.name in ("model-hit", "object-hit") for record in passes)
    return {"hits": hits, "misses": kernels - hits}
