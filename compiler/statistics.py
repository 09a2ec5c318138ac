"""The figures of a compilation as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.model import Model


def model_statistics(model: Model) -> dict[str, Any]:
    """Seconds by stage and in all, sizes, counts, peak memory (None while it depends on symbolic dims)."""
    stages = model.trace.seconds_by_stage()
    accepted = sum(decision.accepted for decision in model.ledger)
    memory = None if model.symbols else model.plan()
    return {
        "seconds": {**stages, "total": sum(stages.values())},
        "kernels": len(model.kernels),
        "calls": len(model.fusion.calls),
        "ops": {record.name: record.ops_after for record in model.trace.passes if record.ops_after >= 0},
        "bytes": {record.stage: record.bytes_after for record in model.trace.passes if record.bytes_after >= 0},
        "fusion": {"accepted": accepted, "rejected": len(model.ledger) - accepted},
        "cache": {"hits": 0, "misses": len(model.kernels)},
        "peak_memory": memory.peak if memory is not None else None,
    }
