"""Launches put together in the run view: by kernel, layer or op, as a model of many layers has too many to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.run_figures import CallFigures
from profiler.analysis.aggregation import grouped, uneven_launches
from profiler.analysis.roofline import rates
from profiler.analysis.statistics import quartiles

WAYS = (("launch", "Every launch"), ("kernel", "By kernel"), ("layer", "By layer"), ("op", "By op"))


def launch_rows(rows: Sequence[CallFigures], run: RunTimes, by: str) -> list[CallFigures]:
    """The rows of a run's launches, put together; those whose threads share the work badly say by how much."""
    known = [_launch(row, run) for row in rows]
    if by == "launch":
        uneven = dict(uneven_launches(known))
        return [replace(row, uneven=uneven.get(at, 0.0)) for at, row in enumerate(rows)]
    found = []
    for number, group in enumerate(grouped(known, by, run.summary.median if run.summary else None)):
        same = [rows[at] for at in group.launches]
        times = tuple(map(sum, zip(*(row.times for row in same))))  # of each call that was timed launch by launch
        nodes = tuple(dict.fromkeys(node for row in same for node in row.nodes))
        point = rates(group.name, number, group.seconds, group.flops, group.bytes)
        found.append(
            CallFigures(
                number, group.name, nodes, None, quartiles(times) if times else (0.0, 0.0), group.share, point, times,
                together=group.seconds, launches=len(same), uneven=group.imbalance if group.uneven else 0.0,
            )
        )  # fmt: skip
    return found


def _launch(row: CallFigures, run: RunTimes) -> dict[str, object]:
    """A launch as the profiler's aggregation takes it; places are those in the list."""
    at = row.index
    return {
        "position": at, "kernel": row.kernel, "median": row.median,
        "key": run.keys[at] if at < len(run.keys) else "",
        "thread_seconds": run.thread_seconds[at] if at < len(run.thread_seconds) else (),
        "flops": run.work[at][0] if at < len(run.work) else None,
        "bytes": run.work[at][1] if at < len(run.work) else None,
    }  # fmt: skip
