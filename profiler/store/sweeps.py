"""What the store has of a sweep's cells: compilations and runs that carry the sweep's name and the cell's key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from profiler.store.connection import Store


def mark(sweep: str, cell: str) -> dict[str, str]:
    """What a compilation's `stats` or a run's `conditions` have under `sweep`."""
    return {"name": sweep, "cell": cell}


def sweep_compilations(store: Store, sweep: str, sources: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The newest compilation of each cell, by its key."""
    rows = store.rows(
        """SELECT id, seconds, json_extract(stats, '$.sweep.cell') AS key,
           json_extract(stats, '$.peak_memory') AS peak,
           (SELECT count(*) FROM kernels WHERE kernels.compilation = compilations.id) AS kernels
           FROM compilations WHERE source IN (SELECT value FROM json_each(?)) AND json_valid(stats)
           AND json_extract(stats, '$.sweep.name') = ? ORDER BY id""",
        (json.dumps(list(sources)), sweep),
    )
    return {row["key"]: row for row in rows}


def sweep_runs(store: Store, sweep: str, sources: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The newest run of each cell that ended by itself, by its key: finished, or failed with its reason."""
    rows = store.rows(
        """SELECT runs.id, runs.status, runs.error, runs.median, runs.compilation,
           json_extract(conditions, '$.sweep.cell') AS key, json_extract(compilations.stats, '$.peak_memory') AS peak,
           compilations.seconds AS compile_seconds,
           (SELECT count(*) FROM kernels WHERE kernels.compilation = runs.compilation) AS kernels
           FROM runs LEFT JOIN compilations ON compilations.id = runs.compilation
           WHERE runs.source IN (SELECT value FROM json_each(?)) AND json_valid(conditions)
           AND json_extract(conditions, '$.sweep.name') = ? AND runs.status IN ('finished', 'failed')
           ORDER BY runs.id""",
        (json.dumps(list(sources)), sweep),
    )
    return {row["key"]: row for row in rows}
