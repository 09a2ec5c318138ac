"""The figures of a compilation as plain data, and the funnel: what each stage makes of the IR and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.model import Model
    from compiler.trace import PassRecord, Trace

STAGES = ("mo", "mogg", "kgen", "kernel", "llvm", "machine", "link")
LLVM_STAGE = "machine"
DETAIL_STAGE = "llvm-pass"  # LLVM's own passes, whose time is part of the machine stage


@dataclass(frozen=True)
class StageFigures:
    """One step of the funnel: operations and bytes that leave it (None where it has no such size), and its seconds."""

    stage: str
    ops: int | None
    bytes: int | None
    seconds: float
    share: float
    """Of all seconds of the compilation."""


def funnel(trace: Trace, kernel: str | None = None) -> list[StageFigures]:
    """The steps of a whole compilation, or of one kernel (or shared function) as far as it was worked on alone."""
    passes = [record for record in trace.passes if kernel is None or record.kernel == kernel]
    total = sum(record.seconds for record in passes if record.stage != DETAIL_STAGE)
    found = []
    for stage in dict.fromkeys((*STAGES, *(record.stage for record in passes))):
        records = [record for record in passes if record.stage == stage]
        if records and stage != DETAIL_STAGE:
            seconds = sum(record.seconds for record in records)
            share = seconds / total if total else 0.0
            found.append(StageFigures(stage, _operations(records), _bytes(records), seconds, share))
    return found


def funnel_by_kernel(trace: Trace) -> dict[str, list[StageFigures]]:
    """The funnel of every kernel and every shared function."""
    names = dict.fromkeys(record.kernel for record in trace.passes if record.kernel)
    return {name: funnel(trace, name) for name in names}


def _operations(records: Iterable[PassRecord]) -> int | None:
    """What the last pass over each part of the module left; passes that make something new are summed."""
    last: dict[str, int] = {}
    for record in records:
        if record.ops_after >= 0:
            last[record.kernel] = record.ops_after
    return sum(last.values()) if last else None


def _bytes(records: Iterable[PassRecord]) -> int | None:
    sizes = [record.bytes_after for record in records if record.bytes_after >= 0]
    return sum(sizes) if sizes else None


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
        "cache": cache_figures(trace, len(model.kernels)),
        "peak_memory": memory.peak if memory is not None else None,
    }
