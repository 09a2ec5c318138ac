"""What a comparison warns of: unlike machines and work, other programs, and what the way of measuring leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analysis.comparison import KernelComparison, Side
from profiler.analysis.verdicts import FEW, PROCESSES, Verdict
from profiler.records import Summary

_MOST_KERNELS = 5


Taken = tuple[Summary, int]
"""A run's times, and the number of blocks they were taken in."""


def run_warnings(sides: Sequence[Side], times: Sequence[Taken], verdicts: Sequence[Verdict | None]) -> tuple[str, ...]:
    """What to know before believing the verdicts on whole runs."""
    found = []
    if len({side.machine["fingerprint"] for side in sides}) > 1:
        found.append("these runs are from unlike machines: verdicts tell the machines apart, not the programs")
    for name in ("dims", "threads", "device"):
        if len({str(side.run[name]) for side in sides if side.run}) > 1:
            found.append(f"these runs differ in {name}: their times are of different work")
    graphs = {side.compilation["graph_hash"] for side in sides if side.compilation}
    if len(graphs) > 1:
        found.append("these runs are of different graphs: they may compute different things")
    for side in sides:
        if side.run and not side.run["conditions"].get("check", {}).get("ok", True):
            found.append(f"{side.label}: its check failed, so its times are of wrong results")
    for side, (summary, blocks) in zip(sides, times):
        found += [f"{side.label}: {note}" for note in _busy(side)]
        if blocks < 5:
            found.append(f"{side.label}: only {summary.count} calls were timed; more repeats would tell more")
    found += _limits(sides, times, verdicts)
    return tuple(found)


def _limits(sides: Sequence[Side], times: Sequence[Taken], verdicts: Sequence[Verdict | None]) -> list[str]:
    """What the way these runs were measured leaves open."""
    methods = {verdict.method for verdict in verdicts if verdict}
    found = []
    if FEW in methods:
        counts = [summary.processes for summary, _ in times]
        made = "one process each" if set(counts) == {1} else f"{' and '.join(map(str, counts))} processes"
        found.append(f"{made}: between-process variation unknown; `run --processes 5` measures it")
    if PROCESSES in methods:
        found.append(
            "measured at different times; `compare --again` measures both in turns, which tells finer differences"
        )
    for side, verdict in zip(sides, verdicts):
        if verdict is not None and verdict.why:
            found.append(f"{side.label}: {_untold(verdict)}")
    return found


def kernel_warnings(sides: Sequence[Side], kernels: Sequence[KernelComparison]) -> list[str]:
    """Kernels of which nothing can be told, with the reason; a few of them."""
    found = [
        f"{side.label}, {' + '.join(kernel.names[0])}: {_untold(verdict)}"
        for kernel in kernels
        for side, verdict in zip(sides, kernel.verdicts)
        if verdict is not None and verdict.why
    ]
    return found[:_MOST_KERNELS] + (
        [f"and {len(found) - _MOST_KERNELS} kernels more"] if len(found) > _MOST_KERNELS else []
    )


def _untold(verdict: Verdict) -> str:
    """Why there is no verdict, and what to do."""
    words = f"cannot tell whether {verdict.ratio - 1:+.1%} is a difference: {verdict.why}"
    return f"{words}; {verdict.advice}" if verdict.advice else words


def _busy(side: Side) -> list[str]:
    """The notes that say that other programs ran meanwhile."""
    notes = side.run["conditions"].get("notes", ()) if side.run else ()
    return [note for note in notes if "busy" in note or "other programs" in note]
