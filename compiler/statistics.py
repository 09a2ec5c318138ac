"""The figures of a compilation as plain data, and the funnel: what each stage makes of the IR and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from compiler.trace import LLVM_PASS

if TYPE_CHECKING:
    from compiler.model import Model
    from compiler.trace import Trace

STAGES = ("mo", "mogg", "kgen", "kernel", "llvm", "machine", "link")
LLVM_STAGE = "machine"


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


def funnel(trace: Trace, kernel: str | None = None) -> list[StageFigures]:
    """The steps of a whole compilation, or of one kernel (or shared function)."""
    return funnel_of(trace.passes, kernel, _printed(trace))


def funnel_of(
    passes: Sequence[Any], kernel: str | None = None, printed: Mapping[str, int] | None = None
) -> list[StageFigures]:
    """The same from records of passes alone, as a trace or a store has them.

    `printed` has the bytes of what elaboration made, by module, where its texts were kept.
    """
    if kernel is None:
        return _steps(passes, sum(printed.values()) if printed else None)
    return _by_kernel(passes, printed).get(kernel, [])


def funnel_by_kernel(trace: Trace) -> dict[str, list[StageFigures]]:
    """The funnel of every kernel and every shared function."""
    return _by_kernel(trace.passes, _printed(trace))


def _by_kernel(passes: Sequence[Any], printed: Mapping[str, int] | None) -> dict[str, list[StageFigures]]:
    """The funnel of every kernel and every shared function.

    Where passes ran over a module of several kernels, each has a part of their time as large as its part of the
    operations that came out; the same goes for LLVM's work on bundles, by bytes.
    """
    by_kernel: dict[str, list[Any]] = {}
    for record in passes:
        by_kernel.setdefault(record.kernel, []).append(record)
    whole = [record for record in by_kernel.pop("", ()) if record.stage == "kernel"]
    units = {record.kernel: record for record in passes if record.name == "emit-llvm" and record.ops_before >= 0}
    operations = sum(record.ops_before for record in units.values())
    for name, records in by_kernel.items():
        if whole and name in units and not any(record.stage == "kernel" for record in records):
            own, seconds = units[name].ops_before, sum(record.seconds for record in whole)
            part = seconds * own / operations if operations else 0.0
            sizes = {"ops_before": -1, "ops_after": own, "bytes_before": -1, "bytes_after": -1}
            records.append(replace(whole[-1], name="passes", kernel=name, seconds=part, **sizes))
    return {name: _steps(records, (printed or {}).get(name)) for name, records in by_kernel.items()}


def _steps(passes: Sequence[Any], elaborated: int | None) -> list[StageFigures]:
    total = sum(record.seconds for record in passes if record.stage != LLVM_PASS)
    by_stage: dict[str, list[Any]] = {stage: [] for stage in STAGES}
    for record in passes:
        by_stage.setdefault(record.stage, []).append(record)
    found = []
    for stage, records in by_stage.items():
        if records and stage != LLVM_PASS:
            seconds = sum(record.seconds for record in records)
            size = _left(records, "bytes_after") or (elaborated if stage == "kgen" else None)
            share = seconds / total if total else 0.0
            found.append(StageFigures(stage, _left(records, "ops_after"), size, seconds, share))
    return found


def _left(records: Iterable[Any], size: str) -> int | None:
    """What the last pass over each part of the module left, summed over the parts."""
    last = {record.kernel: getattr(record, size) for record in records if getattr(record, size) >= 0}
    return sum(last.values()) if last else None


def _printed(trace: Trace) -> dict[str, int]:
    """Bytes of what elaboration made, by module, where its texts were kept."""
    return {
        module: sum(taken.bytes_after for taken in snapshots if taken.name == "elaborate")
        for module, snapshots in trace.snapshots.items()
        if any(taken.name == "elaborate" for taken in snapshots)
    }


def cache_figures(trace: Trace, kernels: int) -> dict[str, int]:
    """How many kernels came from the cache, as part of a whole model or alone."""
    hits = sum(record.stage == "cache" and record.name in ("model-hit", "object-hit") for record in trace.passes)
    return {"hits": hits, "misses": kernels - hits}


def model_statistics(model: Model) -> dict[str, Any]:
    """Seconds by stage and in all, sizes, counts, peak memory (None while it depends on symbolic dims)."""
    trace = model.trace
    steps = funnel(trace)
    stages = {step.stage: step.seconds for step in steps}
    accepted = sum(decision.accepted for decision in model.ledger)
    memory = None if model.symbols else model.plan()
    return {
        "seconds": {**stages, "total": sum(stages.values())},
        "kernels": len(model.kernels),
        "calls": len(model.fusion.calls),
        "ops": {record.name: record.ops_after for record in trace.passes if record.ops_after >= 0},
        "bytes": {step.stage: step.bytes for step in steps if step.bytes is not None},
        "funnel": [asdict(step) for step in steps],
        "llvm_share": next((step.share for step in steps if step.stage == LLVM_STAGE), 0.0),
        "fusion": {"accepted": accepted, "rejected": len(model.ledger) - accepted},
        "warnings": list(model.warnings),
        "cache": cache_figures(trace, len(model.kernels)),
        "peak_memory": memory.peak if memory is not None else None,
    }
