"""The times of a finished run, and whether its records agree with each other: that too is a matter of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from profiler.records import LOST, LOST_TRACED, WHOLE
from profiler.store import queries
from profiler.store.connection import Store, StoreError


def finished_samples(store: Store, row: Mapping[str, Any], launches: Sequence[Mapping[str, Any]]) -> dict[int, Any]:
    """Nanoseconds by position of a finished run: of the whole model, of each launch, and what was lost of each.

    Every launch has a time for every call, and blocks and processes add up to the calls; else the file is damaged.
    """
    samples = queries.run_samples(store, row["id"])
    wrong = _disagreement(row, launches, samples)
    if wrong:
        raise StoreError(f"{store.path} is damaged: run {row['id']} {wrong}; nothing was changed")
    return samples


def _disagreement(
    row: Mapping[str, Any], launches: Sequence[Mapping[str, Any]], samples: Mapping[int, np.ndarray]
) -> str:
    if WHOLE not in samples or not samples[WHOLE].size or row["median"] is None:
        return "is finished and has no times"
    calls = samples[WHOLE].size
    blocks, processes = (row["conditions"].get(name, []) for name in ("blocks", "processes"))
    if blocks and sum(blocks) != calls:
        return f"has blocks of {sum(blocks)} calls and times of {calls}"
    if processes and sum(processes) != len(blocks):
        return f"has processes with {sum(processes)} blocks and {len(blocks)} blocks"
    for launch in launches:
        position = launch["position"]
        found = samples[position].size if position in samples else 0
        if position < 0 or found != calls or launch["median"] is None:
            return f"has times of {calls} calls and of {found} of launch {position}"
    for position in (LOST, LOST_TRACED):
        if position in samples and samples[position].size != calls:
            return f"has times of {calls} calls and what {samples[position].size} of them lost"
    return ""


def timeline_of(store: Store, row: Mapping[str, Any], launches: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Begin and end (ns) of each launch of one traced call on each thread; empty where it was not traced."""
    found = queries.timeline(store, row["id"])
    if found is None:
        return []
    if found.shape[1] != len(launches):
        words = f"run {row['id']} has {len(launches)} launches and a timeline of {found.shape[1]}"
        raise StoreError(f"{store.path} is damaged: {words}; nothing was changed")
    return found.tolist()
