"""Views for people who ask the database by hand: the usual questions, answered once. docs/queries.md shows their use.

The program itself asks the tables; these are for SQLite's own shell, a notebook, a dashboard. A view that changes gets
a migration that drops it and makes it anew.
"""

from __future__ import annotations

VIEWS = {
    "run_overview": """
        SELECT runs.id AS run, runs.started, runs.source, runs.status, runs.device, runs.threads, runs.dims,
            compilations.target, compilations.flow, compilations.opt_level, compilations.debug,
            runs.median AS median_s, runs.low AS low_s, runs.high AS high_s, runs.minimum AS fastest_s,
            runs.count AS calls, compilations.seconds AS compile_s,
            (SELECT group_concat(tag, ' ') FROM tags WHERE tags.run = runs.id) AS tags, runs.note, runs.pinned,
            CASE WHEN json_valid(runs.conditions) THEN json_extract(runs.conditions, '$.check.ok') END AS check_ok,
            machines.name AS machine, graphs.name AS graph, substr(graphs.hash, 1, 12) AS graph_hash,
            runs.compilation, runs.error
        FROM runs JOIN machines ON machines.id = runs.machine
        LEFT JOIN compilations ON compilations.id = runs.compilation
        LEFT JOIN graphs ON graphs.id = compilations.graph""",
    "kernel_times": """
        SELECT launches.run, runs.source, launches.position, launches.kernel, launches.median AS median_s,
            launches.low AS low_s, launches.high AS high_s,
            launches.median / runs.median AS share,
            launches.median / sum(launches.median) OVER (PARTITION BY launches.run) AS share_of_launches,
            launches.flops / launches.median * 1e-9 AS gflops, launches.bytes / launches.median * 1e-9 AS gbytes,
            launches.flops, launches.bytes, launches.key
        FROM launches JOIN runs ON runs.id = launches.run""",
    "run_history": """
        SELECT run, started, source, device, machine, median_s, low_s, high_s,
            lag(run) OVER before AS previous_run, median_s / lag(median_s) OVER before AS ratio
        FROM run_overview WHERE status = 'finished' AND check_ok IS NOT 0
        WINDOW before AS (PARTITION BY source, device, threads, dims, machine, flow, opt_level, debug
            ORDER BY started, run)""",
    "compile_stages": """
        SELECT passes.compilation, compilations.source, compilations.created, passes.stage, count(*) AS passes,
            sum(passes.seconds) AS seconds
        FROM passes JOIN compilations ON compilations.id = passes.compilation
        GROUP BY passes.compilation, passes.stage""",
    "fusion_ledger": """
        SELECT decisions.compilation, compilations.source, decisions.producer, decisions.consumer,
            CASE decisions.accepted WHEN 1 THEN 'fused' ELSE 'not fused' END AS decided, decisions.rule,
            decisions.reason, decisions.bytes_saved
        FROM decisions JOIN compilations ON compilations.id = decisions.compilation""",
    "sample_sets": """
        SELECT samples.run, samples.position,
            CASE samples.position WHEN -1 THEN 'whole model' WHEN -2 THEN 'processor time lost, whole calls'
                WHEN -3 THEN 'processor time lost, calls timed launch by launch' ELSE 'launch' END AS what,
            launches.kernel, samples.count, length(samples.data) AS stored_bytes
        FROM samples LEFT JOIN launches ON launches.run = samples.run AND launches.position = samples.position""",
    "storage": """
        SELECT compilations.id AS compilation, compilations.source, count(*) AS texts, sum(texts.size) AS bytes,
            sum(length(texts.data)) AS stored_bytes
        FROM stages JOIN compilations ON compilations.id = stages.compilation JOIN texts ON texts.id = stages.text
        GROUP BY compilations.id""",
}
VIEWS_MADE = tuple(f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items())
VIEWS_DROPPED = tuple(f"DROP VIEW IF EXISTS {name}" for name in VIEWS)
"""The statements that make all of them, and those that take older ones away."""
