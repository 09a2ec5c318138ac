"""Launches put together, as a model of many layers has too many to read: by kernel, by layer, by op.

And how evenly a launch's threads share its work: a kernel is over when its last thread is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiler.units import seconds

BY = ("launch", "kernel", "layer", "op")
UNEVEN = 1.5
"""How many times its threads' mean a thread may take before the launch is said to be uneven."""
_LEAST_SHARE = 0.01  # of a call: below it nobody gains from evening out


@dataclass(frozen=True)
class Group:
    """Launches that belong together: the sum of their medians, its share of the call, and what they do."""

    name: str
    launches: tuple[int, ...]
    seconds: float
    share: float
    flops: int | None
    bytes: int | None
    imbalance: float
    """The slowest thread's time over the mean of threads, over all launches; 1 is even."""
    uneven: bool


def between_launches(whole: float, launches: Iterable[float]) -> float:
    """What of a call lies in no launch, from the median of whole calls and those of its launches.

    Launches are timed in calls of their own: where those took longer than the others, it is negative.
    """
    return whole - sum(launches)


def grouped(launches: Sequence[Mapping[str, Any]], by: str, whole: float | None = None) -> list[Group]:
    """The launches of a call by what they have in common; the costly ones first, layers in their order.

    `whole` is the median of the call, which shares are of; without one they are of all launches together.
    """
    total = whole or sum(launch["median"] for launch in launches)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for name, launch in zip(_names(launches, by), launches):
        found.setdefault(name, []).append(launch)
    made = [_group(name, same, total) for name, same in found.items()]
    return made if by in ("layer", "launch") else sorted(made, key=lambda group: -group.seconds)


def uneven_launches(launches: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
    """Launches (their places in the list) whose threads share the work badly, and by how much; those that matter."""
    total = sum(launch["median"] for launch in launches)
    found = [(at, imbalance(launch.get("thread_seconds") or ())) for at, launch in enumerate(launches)]
    return [(at, over) for at, over in found if over > UNEVEN and launches[at]["median"] >= _LEAST_SHARE * total]


def uneven_words(launches: Sequence[Mapping[str, Any]], most: int = 3) -> list[str]:
    """The same as people read it, the costliest first; a few of them."""
    found = sorted((launches[at] for at, _ in uneven_launches(launches)), key=lambda launch: -launch["median"])
    lines = [
        f"{launch['kernel']} is uneven: its threads take {', '.join(seconds(x) for x in launch['thread_seconds'])}"
        for launch in found[:most]
    ]
    return lines + [f"and {len(found) - most} launches more are uneven"] * (len(found) > most)


def imbalance(thread_seconds: Sequence[float]) -> float:
    """The slowest thread's time over the mean of threads; 1 where all take as long."""
    mean = sum(thread_seconds) / len(thread_seconds) if thread_seconds else 0.0
    return max(thread_seconds) / mean if mean else 1.0


def _group(name: str, same: Sequence[Mapping[str, Any]], total: float) -> Group:
    seconds = sum(launch["median"] for launch in same)
    counts = [[launch.get(what) for launch in same] for what in ("flops", "bytes")]
    flops, moved = (None if any(x is None for x in known) else int(sum(x or 0 for x in known)) for known in counts)
    worst = sum(max(launch.get("thread_seconds") or (launch["median"],)) for launch in same)
    means = [launch.get("thread_seconds") or (launch["median"],) for launch in same]
    mean = sum(sum(threads) / len(threads) for threads in means)
    over = worst / mean if mean else 1.0
    share = seconds / total if total else 0.0
    places = tuple(launch["position"] for launch in same)
    return Group(name, places, seconds, share, flops, moved, over, over > UNEVEN and share >= _LEAST_SHARE)


def _names(launches: Sequence[Mapping[str, Any]], by: str) -> list[str]:
    if by == "kernel":
        return _kernel_names(launches)
    if by == "layer":
        return _layer_names(launches)
    if by == "op":
        # The op that a launch does, fused ones in a row: what its kernel is named after, without its number.
        return [re.sub(r"_\d+$", "", launch["kernel"]) for launch in launches]
    return [f"{launch['position']} {launch['kernel']}" for launch in launches]


def _kernel_names(launches: Sequence[Mapping[str, Any]]) -> list[str]:
    """Launches that compute the same bear the name of the first of them."""
    first: dict[str, str] = {}
    return [first.setdefault(launch.get("key") or launch["kernel"], launch["kernel"]) for launch in launches]


def _layer_names(launches: Sequence[Mapping[str, Any]]) -> list[str]:
    """Layers are the copies of the stretch of launches that is repeated most; what stands around them has no layer."""
    keys = [launch.get("key") or launch["kernel"] for launch in launches]
    start, period, copies = repeated_stretch(keys)
    names = []
    for at in range(len(keys)):
        layer = (at - start) // period if period else copies
        inside = period and at >= start and layer < copies
        names.append(f"layer {layer + 1}" if inside else "before the layers" if at < start else "after the layers")
    return names if copies else ["no layers"] * len(keys)


def repeated_stretch(keys: Sequence[str]) -> tuple[int, int, int]:
    """Where a stretch begins that follows upon itself, its length, and how often it stands there; it covers the most.

    Of stretches that cover as much the shortest is meant. Nothing repeated is (0, 0, 0).
    """
    best, found = 0, (0, 0, 0)
    for period in range(1, len(keys) // 2 + 1):
        length = 0
        for at in range(len(keys) - period):
            length = length + 1 if keys[at] == keys[at + period] else 0
            copies = length // period + 1
            if copies > 1 and copies * period > best and length % period == 0:
                best, found = copies * period, (at + 1 - length, period, copies)
    return found
