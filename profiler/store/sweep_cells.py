"""Sweeps as the store has them, for whoever has no file of theirs: their names, and what their cells came to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from profiler.store.connection import Store

_PEAK = """CASE WHEN json_valid(stats) AND json_type(stats, '$.peak_memory') = 'integer'
           THEN json_extract(stats, '$.peak_memory') END AS peak"""


def sweep_names(store: Store) -> list[dict[str, Any]]:
    """The sweeps, the one with the newest record first: name, how many records they have, and the newest's time."""
    return store.rows(
        """SELECT name, count(*) AS n, max(created) AS created FROM (
             SELECT json_extract(stats, '$.sweep.name') AS name, created FROM compilations
             WHERE json_valid(stats) AND json_type(stats, '$.sweep.name') = 'text'
             UNION ALL
             SELECT json_extract(conditions, '$.sweep.name'), coalesce(finished, started) FROM runs
             WHERE json_valid(conditions) AND json_type(conditions, '$.sweep.name') = 'text')
           GROUP BY name ORDER BY created DESC"""
    )


def mark(sweep: str, cell: str) -> dict[str, str]:
    """What a compilation's `stats` or a run's `conditions` have under `sweep`."""
    return {"name": sweep, "cell": cell}


def sweep_cells(store: Store, name: str, sources: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """What a sweep has come to, oldest first: compilations (on no device) and runs, each as it was asked for.

    Those of some `sources` are found by an index.
    """
    among = "{} IN (SELECT value FROM json_each(?)) AND" if sources is not None else ""
    asked = [json.dumps(list(sources))] if sources is not None else []
    compiled = store.rows(
        f"""SELECT 0 AS run, id AS compilation, source, target, '' AS device, flow, opt_level, '' AS sizes,
            CASE WHEN json_valid(options) THEN json_extract(options, '$.libraries[#-1]') END AS library,
            json_extract(stats, '$.sweep.cell') AS key, 'finished' AS status, NULL AS error, NULL AS median,
            seconds AS compile_seconds, created AS finished,
            {_PEAK}, (SELECT count(*) FROM kernels WHERE kernels.compilation = compilations.id) AS kernels
            FROM compilations WHERE {among.format("source")} json_valid(stats)
            AND json_extract(stats, '$.sweep.name') = ?""",
        (*asked, name),
    )
    timed = store.rows(
        f"""SELECT runs.id AS number, compilation, runs.source, json_extract(request, '$.target') AS target, device,
            json_extract(request, '$.flow') AS flow, json_extract(request, '$.opt_level') AS opt_level,
            CASE WHEN json_valid(dims) THEN (SELECT group_concat(key || '=' || value, ' ') FROM json_each(dims)) END
            AS sizes, json_extract(request, '$.libraries[#-1]') AS library,
            json_extract(conditions, '$.sweep.cell') AS key, status, error, runs.median, finished,
            compilations.seconds AS compile_seconds, {_PEAK},
            (SELECT count(*) FROM kernels WHERE kernels.compilation = runs.compilation) AS kernels
            FROM runs LEFT JOIN compilations ON compilations.id = runs.compilation
            WHERE {among.format("runs.source")} json_valid(conditions) AND json_valid(request)
            AND json_extract(conditions, '$.sweep.name') = ? AND status IN ('finished', 'failed')""",
        (*asked, name),
    )
    runs = [{"run": row.pop("number"), **row} for row in timed]
    return sorted([*compiled, *runs], key=lambda row: row["finished"] or "")
