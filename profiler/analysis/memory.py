"""Memory: the plan against what happened. Bytes alive over time, the peak, what reuse saves, what lies idle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.model import Model


def memory_record(model: Model, sizes: Mapping[str, int], resident: Mapping[str, int], arena: int) -> dict[str, Any]:
    """The plan for these sizes and the process's resident memory at each step, as plain data.

    `steps` are the planned bytes alive during each call; `fragmentation` is the share of the arena that lies idle when
    most of it is used: 0 means that the plan is as tight as lifetimes allow.
    """
    plan = model.plan(**{name: sizes[name] for name in model.symbols})
    calls = len(model.fusion.calls)
    alive = [0] * calls
    for block in plan.blocks:
        if block.reuses is not None:
            continue  # the same bytes as the block whose place it takes, which is counted to its end below
        last = _last_use(block.name, block.last, plan.blocks)
        for step in range(block.first, min(last, calls - 1) + 1):
            alive[step] += block.size
    highest = max(alive, default=0)
    return {
        "planned_peak": plan.peak,
        "arena": arena,
        "without_reuse": plan.total_without_reuse,
        "saved": plan.total_without_reuse - plan.peak,
        "alive_peak": highest,
        "fragmentation": 1 - highest / plan.peak if plan.peak else 0.0,
        "steps": alive,
        "blocks": [
            {"name": b.name, "offset": b.offset, "size": b.size, "first": b.first, "last": b.last, "reuses": b.reuses}
            for b in plan.blocks
        ],
        "resident": dict(resident),
        "bound_growth": resident.get("bound", 0) - resident.get("before", 0),
    }


def _last_use(name: str, last: int, blocks: Any) -> int:
    """The end of a chain of blocks that take each other's place."""
    for block in blocks:
        if block.reuses == name:
            return _last_use(block.name, block.last, blocks)
    return last
