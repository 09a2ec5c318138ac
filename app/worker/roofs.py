"""Whose machine a run was made on, and what was measured of it."""

from __future__ import annotations

from typing import Any

from compiler.errors import CompilerError
from profiler.records import Ceiling
from profiler.store import Store, queries


def roofs(store: Store, row: dict[str, Any]) -> tuple[str, tuple[Ceiling, ...]]:
    """The machine a run was made on, where that is not this one, and what was measured of its device there."""
    from profiler.measure.ceilings.measured import ceilings_for
    from profiler.measure.machine import machine_with

    machine = queries.machine_row(store, row["machine"])
    try:
        here = machine_with(row["device"]).fingerprint
    except CompilerError:  # the device it ran on is not here
        here = ""
    if machine["fingerprint"] == here:
        return "", ()
    return machine["name"], tuple(ceilings_for(store, row, machine["fingerprint"]))
