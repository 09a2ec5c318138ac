"""What a run's figures say could be better: findings with the numbers behind them, the dearest first.

Every finding is a figure past a stated limit; where none is, nothing is said. `cost` is the part of a call, in seconds,
that the finding is about: what is ranked by, not a promise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiler.analysis.aggregation import uneven_launches
from profiler.counted import CountedLaunch
from profiler.sampled import PLACES
from profiler.units import percent, size

_OF_CALL = 0.05
"""A finding about less of a call than this is not worth a line."""
_ROOF, _ISSUED, _WAITING, _LINE, _STALL = 0.6, 2.0, 0.1, 0.25, 0.3
_SCALAR, _STACK, _DRAM = 0.2, 0.1, 1.5
_SCALAR_CODE = re.compile(
    r"^(?:f(?:add|sub|mul|div|madd|msub|nmadd|nmsub|sqrt|max\w*|min\w*)\s+[sdh]\d+,"
    r"|v?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d*)s[sdh]\b)"
)
_STACK_CODE = re.compile(r"^(?:(?:ld|st)[rp]\w*\s.*\[sp|v?mov\w*\s.*\(%[re](?:sp|bp)\)|(?:LDL|STL))")
_WAITS = {
    "long_scoreboard": "memory", "short_scoreboard": "shared memory or special functions", "mio_throttle":
    "the queue of memory instructions", "lg_throttle": "the queue of loads and stores", "barrier": "a barrier",
    "math_pipe_throttle": "a busy arithmetic unit", "tex_throttle": "the texture unit",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One thing that could be better: in which kernel, what of a call it is about, in words, and where to look."""

    kernel: str
    cost: float
    words: str
    where: str = ""


def advice(document: Mapping[str, Any]) -> list[Finding]:
    """The findings of a run, as `run_document` gives it, the dearest first."""
    times = document["times"]
    if times is None or not times["median"]:
        return []
    whole, launches = times["median"], document["launches"]
    found = [*_roofs(launches), *_traffic(launches), *_threads(launches), *_samples(document, whole)]
    found += _counted(document)
    found += _spills(document["counters"], launches)
    return sorted((item for item in found if item.cost >= _OF_CALL * whole), key=lambda item: -item.cost)


def _roofs(launches: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for x in launches:
        if x["share"] is not None and x["share"] < _ROOF and x["bound"] in ("memory", "compute"):
            roof = "memory bandwidth" if x["bound"] == "memory" else "arithmetic rate"
            words = f"reaches {percent(x['share'])} of what the measured {roof} allows"
            yield Finding(x["kernel"], x["median"] * (1 - x["share"]), words)


def _traffic(launches: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for x in launches:
        if x["bytes"] and x["loads"] is not None and x["stores"] is not None and x["bound"] == "memory":
            ratio = (x["loads"] + x["stores"]) / x["bytes"]
            if ratio >= _ISSUED:
                moved = f"{size(x['loads'])} loaded and {size(x['stores'])} stored for {size(x['bytes'])} that must be"
                yield Finding(x["kernel"], x["median"] * (1 - 1 / ratio), f"moves {ratio:.1f} times its data: {moved}")


def _counted(document: Mapping[str, Any]) -> Iterator[Finding]:
    """What a GPU counted: more bytes to and from its memory than there had to be."""
    launches = {x["position"]: x for x in document["launches"]}
    for item in (document.get("sampling") or {}).get("counted", ()):
        x, went = launches[item["position"]], CountedLaunch(**item).dram_bytes
        if went and x["bytes"] and went / x["bytes"] >= _DRAM:
            ratio = went / x["bytes"]
            words = f"reads and writes {size(went)} of DRAM, {ratio:.1f} times the {size(x['bytes'])} that must be"
            yield Finding(x["kernel"], x["median"] * (1 - 1 / ratio), words)


def _threads(launches: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for at, ratio in uneven_launches(launches):
        x = launches[at]
        words = f"its threads have uneven work: the slowest takes {ratio:.2f} times the mean"
        yield Finding(x["kernel"], x["median"] * (1 - 1 / ratio), words)


def _spills(counters: Sequence[Mapping[str, Any]], launches: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """On a GPU, local memory is where registers go that are not there."""
    seconds: dict[str, float] = {}
    for x in launches:
        seconds[x["kernel"]] = seconds.get(x["kernel"], 0.0) + x["median"]
    for counter in counters:
        kernel, _, what = counter["name"].rpartition(": ")
        if what == "local_bytes" and counter["value"] and kernel in seconds:
            words = f"keeps {size(counter['value'])} of each thread in local memory: registers run out"
            yield Finding(kernel, seconds[kernel], words)


def _samples(document: Mapping[str, Any], whole: float) -> Iterator[Finding]:
    found = document.get("sampling")
    if found is None or not found["inside"]:
        return
    if found["waiting"] / found["samples"] >= _WAITING:
        share = found["waiting"] / found["samples"]
        yield Finding("", share * whole, f"threads wait for others in {percent(share)} of all samples")
    for kernel in found["kernels"]:
        seconds = sum(x["median"] for x in document["launches"] if x["kernel"] == kernel["kernel"])
        stages = {part["stage"]: part["lines"] for part in kernel["stages"]}
        yield from _code(kernel, stages.get("sass") or stages.get("asm") or (), seconds)
        yield from _lines(kernel, stages.get(PLACES) or (), seconds)


def _code(kernel: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], seconds: float) -> Iterator[Finding]:
    """Shares of the samples at kinds of instructions."""
    kinds = (
        (_SCALAR_CODE, _SCALAR, "of its samples are at scalar arithmetic: lanes of the vectors stay empty"),
        (_STACK_CODE, _STACK, "of its samples are at loads and stores of the stack: registers run out"),
    )
    for pattern, limit, words in kinds:
        matching = [line for line in lines if pattern.match(line["text"])]
        share = sum(line["count"] for line in matching) / kernel["samples"]
        if share >= limit:
            hot = max(matching, key=lambda line: line["count"])
            yield Finding(kernel["kernel"], share * seconds, f"{percent(share)} {words}", _place(hot))


def _lines(kernel: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], seconds: float) -> Iterator[Finding]:
    """A line that takes much of the kernel, and what its warps wait for where that is known."""
    for line in lines:
        share = line["count"] / kernel["samples"]
        if share < _LINE or line["count"] == kernel["samples"]:
            continue
        waits = [(name, count / kernel["samples"]) for name, count in line["stalls"]]
        name, waiting = max(((n, s) for n, s in waits if n in _WAITS), key=lambda item: item[1], default=("", 0.0))
        if waiting >= _STALL:
            words = f"{percent(waiting)} of its samples wait for {_WAITS[name]} ({name})"
            yield Finding(kernel["kernel"], waiting * seconds, words, _place(line))
        elif not waits:
            yield Finding(kernel["kernel"], share * seconds, f"{percent(share)} of its samples are at one line",
                          _place(line))  # fmt: skip


def _place(line: Mapping[str, Any]) -> str:
    file = line["file"].rsplit("/", 1)[-1]
    return f"{file}:{line['source_line']}" if file and line["source_line"] else ""
