"""A figure over time: the runs of a source that can be compared, in order, and where it changed.

A change point is found where the ranks of the runs before it and after it lie so far apart that chance puts runs into
such an order in fewer than one of a hundred histories (a permutation test of the largest difference over all places to
cut). Parts of a history that was cut are looked at in turn; so of histories without any change, one of a hundred gets a
change point or more. Below about ten runs no order is that unlikely, and nothing is found. How much of a change is the
machine's is told by the yardstick that was timed beside the runs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from profiler.analysis.undisturbed import is_yardstick
from profiler.records import FINISHED, Change, History, Moment
from profiler.store import Store, queries

FALSE_ALARMS = 0.01
"""Of histories without a change, the share in which one is found all the same."""
_DRAWN = 1999
_LEAST = 3  # runs on either side of a change
_MOST = 10_000
_SHORT = 10  # letters of a commit that are shown
_SERIES = ("device", "threads", "dims", "flow", "opt_level", "debug", "machine")


def history(store: Store, source: str, run: int | None = None, by: str = "run") -> History:
    """The history of a source under the conditions of a run, or of its newest; a failed check keeps a run out.

    By commit or tag, runs that have it in common are one moment, in the order of their first runs; those without it are
    left out. Changes are looked for among the runs in that order.
    """
    rows = [
        row
        for row in queries.list_runs(store, queries.RunFilter(source=source, status=FINISHED, limit=_MOST))
        if row["median"] and row["check_ok"] is not False
    ]
    if not rows:
        raise ExecutionError(f"there is no finished run of {source} in {store.path}")
    meant = next((row for row in rows if row["id"] == run), rows[0])
    alike = [row for row in reversed(rows) if _conditions(row) == _conditions(meant)]
    together: dict[Any, list[dict[str, Any]]] = {}
    for row in alike:
        if (key := _key(row, by)) is not None:
            together.setdefault(key, []).append(row)
    if not together:
        raise ExecutionError(f"no run of {source} under these conditions has a {by}; {_HAVE[by]}")
    moments = tuple(_moment(rows, by) for rows in together.values())
    ordered = [(at, row) for at, rows in enumerate(together.values()) for row in rows]
    found = change_points([row["median"] for _, row in ordered])
    machine = _machine_ratios(store, [row["id"] for _, row in ordered], [at for at, _, _ in found])
    changes = tuple(
        Change(ordered[at][1]["id"], ordered[at][0], ratio, p, moved) for (at, ratio, p), moved in zip(found, machine)
    )
    alike = [row for _, row in ordered]
    return History(meant["source"], _conditions(meant), moments, changes, len(rows) - len(alike))


_HAVE = {
    "commit": "runs of a file in a Git repository get it by themselves",
    "tag": "`kernelglass run --tag` and `kernelglass runs tag` put one on",
}


def _machine_ratios(store: Store, runs: Sequence[int], places: Sequence[int]) -> list[float]:
    """For each change, by how much longer the yardstick took after it than before, up to the next; 1 if unknown."""
    asked = queries.yardsticks(store, runs) if places else {}
    known = {run: took for run, took in asked.items() if is_yardstick(took)}
    borders = [0, *places, len(runs)]
    parts = [[known[run] for run in runs[a:b] if run in known] for a, b in itertools.pairwise(borders)]
    return [
        float(np.median(after) / np.median(before)) if min(len(before), len(after)) >= _LEAST else 1.0
        for before, after in itertools.pairwise(parts)
    ]


def _key(row: dict[str, Any], by: str) -> Any:
    """What runs of one moment have in common; None where a run has none of it."""
    if by == "commit":
        return row["commit"] or None
    return (" ".join(row["tags"]) or None) if by == "tag" else row["id"]


def _moment(rows: Sequence[dict[str, Any]], by: str) -> Moment:
    first = rows[0]
    label = first["commit"][:_SHORT] if by == "commit" else _label(first)
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    middle = float(np.median([row["median"] for row in rows]))
    return Moment(first["id"], first["started"], label, middle, low, high, tuple(row["id"] for row in rows))


def _label(row: dict[str, Any]) -> str:
    return " ".join(row["tags"]) or f"run {row['id']}"


def change_points(
    values: Sequence[float], alpha: float = FALSE_ALARMS, seed: int = 0
) -> list[tuple[int, float, float]]:
    """Places before which a series changes, each with the ratio of the medians after and before it, and p."""
    rng, cuts = np.random.default_rng(seed), []
    series = np.asarray(values, np.float64)
    waiting = [(0, len(series), alpha)]
    while waiting:
        begin, end, allowed = waiting.pop()
        found = _cut(series[begin:end], rng)
        if found is not None and found[1] <= allowed:
            place = begin + found[0]
            cuts.append((place, found[1]))
            waiting += [(begin, place, allowed / 2), (place, end, allowed / 2)]  # both together as much as the whole
    if not cuts:
        return []
    ends = sorted(place for place, _ in cuts)
    borders = [0, *ends, len(series)]
    middles = [float(np.median(series[a:b])) for a, b in itertools.pairwise(borders)]
    chances = dict(cuts)
    return [(place, middles[at + 1] / middles[at], chances[place]) for at, place in enumerate(ends)]


def _cut(part: np.ndarray, rng: np.random.Generator) -> tuple[int, float] | None:
    """Where a part is best cut in two, and how likely chance cuts it as well as that."""
    count = len(part)
    if count < 2 * _LEAST:
        return None
    ranks = part.argsort().argsort().astype(np.float64)
    ranks -= ranks.mean()
    places = np.arange(_LEAST, count - _LEAST + 1)
    weights = np.sqrt(places * (count - places))
    seen = np.abs(np.cumsum(ranks)[places - 1]) / weights
    drawn = rng.permuted(np.tile(ranks, (_DRAWN, 1)), axis=1)
    largest = (np.abs(np.cumsum(drawn, axis=1)[:, places - 1]) / weights).max(axis=1)
    chance = float((1 + np.sum(largest >= seen.max() * (1 - 1e-9))) / (1 + _DRAWN))
    # Ranks tell whether; where is told by how far apart the values are, those that stand out alone brought in.
    first, third = np.quantile(part, (0.25, 0.75))
    tame = np.clip(part, first - 1.5 * (third - first), third + 1.5 * (third - first))
    best = int(np.argmax(np.abs(np.cumsum(tame - tame.mean())[places - 1]) / weights))
    return int(places[best]), chance


def _conditions(row: dict[str, Any]) -> dict[str, str]:
    """What has to be the same for runs to be put into one history."""
    return {name: json.dumps(row[name], sort_keys=True, default=str).strip('"') for name in _SERIES}
