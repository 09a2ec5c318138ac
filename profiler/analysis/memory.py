"""Memory: the plan against what happened. Bytes alive over time, the peak, what reuse saves, what lies idle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from compiler.model import Model


class PlannedBlock(Protocol):
    """A piece of the arena: where it lies, and from which call to which it is used."""

    @property
    def offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


def memory_record(model: Model, sizes: Mapping[str, int], resident: Mapping[str, int], arena: int) -> dict[str, Any]:
    """The plan for these sizes and the process's resident memory at each step, as plain data.

    `steps` are the planned bytes alive during each call; `fragmentation` is the share of the arena that lies idle when
    most of it is used: 0 means that the plan is as tight as lifetimes allow.
    """
    plan = model.plan(**{name: sizes[name] for name in model.symbols})
    alive = alive_bytes(plan.blocks, len(model.fusion.calls))
    highest = max(alive, default=0)
    return {
        "planned_peak": plan.peak,
        "arena": arena,
        "without_reuse": plan.total_without_reuse,
        "saved": plan.saved,
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


def alive_bytes(blocks: Iterable[PlannedBlock], calls: int) -> list[int]:
    """The bytes of the arena that are in use during each call; bytes that two blocks share count once."""
    begins: dict[int, list[PlannedBlock]] = {}
    for block in blocks:
        begins.setdefault(block.first, []).append(block)
    found, held = [], []
    for index in range(calls):
        held = [block for block in held if block.last >= index] + begins.get(index, [])
        total, end = 0, 0
        for low, high in sorted((block.offset, block.offset + block.size) for block in held):
            total += max(high - max(low, end), 0)
            end = max(end, high)
        found.append(total)
    return found
