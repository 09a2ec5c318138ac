"""What the JSON columns of the store hold, as far as anybody looks inside: types by name, all the way down.

A record that reads as JSON may still be damaged. What does not fit its shape here is damage, named by its place; what
fits and fails later is a mistake of the program's, and is not called anything else.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

_MOST = 1 << 62


@dataclass(frozen=True)
class Every:
    """An object whose values all have one shape, whatever their names."""

    shape: Any


def read_json(text: str) -> Any:
    """What a column holds. Numbers that JSON does not have, which Python reads and no report could write, are null."""
    return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)


def _finite(digits: str) -> float | None:
    return value if math.isfinite(value := float(digits)) else None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_MOST < value < _MOST


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf


COUNT, WHOLE_NUMBER, NUMBER, AMOUNT = "a size", "a whole number", "a number", "an amount"
TEXT, FLAG = "a text", "true or false"
PLAIN = {
    COUNT: lambda value: _whole(value) and value >= 0,
    WHOLE_NUMBER: _whole,
    NUMBER: _real,
    AMOUNT: lambda value: _real(value) and value >= 0,
    TEXT: lambda value: isinstance(value, str),
    FLAG: lambda value: isinstance(value, bool),
}


@dataclass(frozen=True)
class Maybe:
    """The shape, or nothing (null)."""

    shape: Any


@dataclass(frozen=True)
class Whole:
    """An object that has to have all of these."""

    shape: dict[str, Any]


_PAIRS = [[TEXT]]
_SWEEP = {"name": TEXT, "cell": TEXT}
_OPTIONS = {
    "jobs": Maybe(COUNT), "cache": FLAG, "fuse": FLAG, "recognise": FLAG, "force_cut": _PAIRS, "force_fuse": _PAIRS,
    "sources": _PAIRS, "libraries": [TEXT],
}  # fmt: skip
_REQUEST = _OPTIONS | {
    "source": TEXT, "device": TEXT, "threads": Maybe(COUNT), "dims": Every(COUNT), "seed": COUNT,
    "repeat": Maybe(COUNT), "width": NUMBER, "budget": NUMBER, "rotate": FLAG, "time_limit": NUMBER,
    "memory_limit": Maybe(COUNT), "target": TEXT, "flow": TEXT, "opt_level": COUNT, "debug": TEXT, "count": FLAG,
    "processes": COUNT, "pin": Maybe(FLAG), "tuned": [{"problem": TEXT, "choices": [[object]]}],
}  # fmt: skip
_CONDITIONS = {
    "load": [NUMBER], "load_after": [NUMBER], "cores": COUNT, "megahertz": Maybe(NUMBER), "governor": Maybe(TEXT),
    "notes": [TEXT], "threads": Maybe(COUNT), "buffer_sets": COUNT, "interval_reached": FLAG,
    "lost_share": Maybe(NUMBER), "disturbed_calls": Maybe(COUNT), "each_process": [Every(object)], "blocks": [COUNT],
    "processes": [COUNT], "turns": {"session": TEXT, "first": [COUNT], "rounds": FLAG}, "device": Every(object),
    "phase": TEXT, "call": COUNT, "check": {"ok": FLAG, "lines": [TEXT]}, "nice": WHOLE_NUMBER, "affinity": [COUNT],
    "pinned": [COUNT], "yardstick": AMOUNT, "commit": TEXT, "sweep": _SWEEP,
}  # fmt: skip
_BLOCK = {
    "name": TEXT, "offset": COUNT, "size": COUNT, "first": COUNT, "last": COUNT, "reuses": Maybe(TEXT),
}  # fmt: skip
_MEMORY = {
    "planned_peak": COUNT, "arena": COUNT, "without_reuse": COUNT, "saved": WHOLE_NUMBER, "alive_peak": COUNT,
    "fragmentation": NUMBER, "steps": [COUNT], "blocks": [_BLOCK], "resident": Every(COUNT),
    "bound_growth": WHOLE_NUMBER, "device": Every(object), "transfers": [Every(object)],
}  # fmt: skip
_STATS = {
    "seconds": Every(NUMBER), "funnel": [{"stage": TEXT, "ops": Maybe(COUNT)}], "cache": {"hits": COUNT},
    "llvm_share": Maybe(NUMBER), "imports": AMOUNT, "sweep": _SWEEP,
}  # fmt: skip
_DESCRIPTION = {"memory_bytes": COUNT, "caches": Every(COUNT), "card": Every(object), "features": [TEXT]}
SHAPES: dict[str, Any] = {
    "dims": Every(COUNT), "conditions": _CONDITIONS, "memory": _MEMORY, "request": _REQUEST,
    "options": _OPTIONS | {"tuned": Every(Every(object))},
    "versions": Every(TEXT), "stats": _STATS, "description": _DESCRIPTION, "nodes": [TEXT],
    "thread_seconds": [NUMBER], "slots": [TEXT],
}  # fmt: skip
_COMPLETE = {"memory.blocks": frozenset(_BLOCK) - {"reuses"}, "stats.funnel": frozenset({"stage"})}
"""Objects in lists that make no sense with a part of them missing."""
_PLAN = frozenset(_MEMORY) - {"device", "transfers"}
"""What a memory plan has; a run without one has nothing of it."""


def misfit(value: Any, shape: Any, place: str) -> str:
    """The first place of a value that is not of its shape, and what should be there; empty where all is."""
    if isinstance(shape, Maybe):
        return "" if value is None else misfit(value, shape.shape, place)
    if shape is object:
        return ""
    if isinstance(shape, str):
        return "" if PLAIN[shape](value) else f"{place} is not {shape}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{place} is not a list"
        return next(filter(None, (misfit(item, shape[0], f"{place}[{at}]") for at, item in enumerate(value))), "")
    if not isinstance(value, dict):
        return f"{place} is not an object"
    if isinstance(shape, Every):
        return next(filter(None, (misfit(item, shape.shape, f"{place}.{name}") for name, item in value.items())), "")
    needed = _COMPLETE.get(place.partition("[")[0], frozenset())
    if isinstance(shape, Whole):
        shape, needed = shape.shape, frozenset(shape.shape)
    if shape is _MEMORY and not _PLAN.isdisjoint(value):
        needed = _PLAN
    missing = sorted(needed - set(value))
    if missing:
        return f"{place} has no {missing[0]}"
    known = ((name, item) for name, item in value.items() if name in shape)
    return next(filter(None, (misfit(item, shape[name], f"{place}.{name}") for name, item in known)), "")
