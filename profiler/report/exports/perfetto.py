"""A run as a Chrome trace (JSON), which Perfetto and chrome://tracing open: passes, launches, memory, samples.

Times are rounded to whole nanoseconds before they become microseconds: begin and end are rounded, never the length, so
that slices that touch still touch. Slices of one track nest or follow each other; what ran at once gets its own track.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from profiler.report.heat import hot_lines
from profiler.report.lanes import lanes

COMPILER, DEVICE = 1, 2
# Tracks are numbered apart from processes: Perfetto takes a thread with its process's number for the main one.
TRACKS = 1000
WHOLE_TRACK = COMPILER * TRACKS
_LINES = 8  # that get a counter
_EVENT = dict[str, Any]
_SPAN = tuple[int, int, dict[str, Any]]


def perfetto_trace(document: dict[str, Any]) -> str:
    """The compilation's passes, then one traced call with a track a thread, and the memory plan as a counter."""
    run = document["run"]
    events = [*_process(COMPILER, f"compile {run['source']}", 0), *_process(DEVICE, f"run on {run['device']}", 1)]
    compiled, end = _compilation(document)
    events += compiled
    events += _call(document, end)
    other = {
        "source": run["source"], "run": run["id"], "device": run["device"], "machine": document["machine"]["name"],
        "started": run["started"], "status": run["status"],
    }  # fmt: skip
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}, allow_nan=False)


def _compilation(document: dict[str, Any]) -> tuple[list[_EVENT], int]:
    """A track for the whole compilation and at least one a stage; and when it ended (ns)."""
    compiled = document["compilation"]
    if compiled is None:
        return [], 0
    spans = [(_ns(p["start"]), _ns(p["start"] + p["seconds"]), p) for p in compiled["passes"]]
    end = max([stop for _, stop, _ in spans] + [_ns(compiled["seconds"])])
    options = {name: compiled[name] for name in ("target", "flow", "opt_level", "debug")}
    kernels = {"kernels": len(compiled["kernels"])}
    events = _thread(COMPILER, WHOLE_TRACK, "compilation", 0)
    events.append(
        _slice(COMPILER, WHOLE_TRACK, f"compile {compiled['graph_name']}", "compilation", 0, end, options | kernels)
    )
    track = WHOLE_TRACK
    for stage in dict.fromkeys(p["stage"] for p in compiled["passes"]):
        for name, lane in _tracks(stage, [span for span in spans if span[2]["stage"] == stage]):
            track += 1
            events += _thread(COMPILER, track, name, track)
            for begin, stop, record in lane:
                known = {
                    k: record[k] for k in ("ops_before", "ops_after", "bytes_before", "bytes_after") if record[k] >= 0
                }
                words = f"{record['name']} {record['kernel']}".strip()
                events.append(_slice(COMPILER, track, words, "pass", begin, stop, {"stage": stage, **known}))
    return events, end


def _tracks(stage: str, spans: list[_SPAN]) -> Iterator[tuple[str, list[_SPAN]]]:
    """The tracks of a stage: one a worker process, more where what one ran is known to overlap."""
    for worker in sorted({record["worker"] for _, _, record in spans}):
        name = f"{stage}, worker {worker}" if worker else stage
        rows = lanes([span for span in spans if span[2]["worker"] == worker])
        for number, lane in enumerate(rows):
            yield f"{name} {number + 1}" if number else name, lane


def _call(document: dict[str, Any], offset: int) -> list[_EVENT]:
    """One traced call, after the compilation: on each thread the call, in it the launches; gaps are waiting."""
    timeline, launches = document["timeline_ns"], document["launches"]
    if not timeline or not launches:
        return []
    end = max(stop for thread in timeline for _, stop in thread)
    times = document["times"] or {}
    figures = {f"{name}_us": times[name] * 1e6 for name in ("median", "low", "high") if name in times}
    kind = "thread" if document["run"]["device"] == "cpu" else "stream"
    events: list[_EVENT] = []
    for thread, spans in enumerate(timeline):
        track = DEVICE * TRACKS + thread
        events += _thread(DEVICE, track, f"{kind} {thread}", thread)
        words = f"call {document['run']['source']}"
        events.append(_slice(DEVICE, track, words, "call", offset, offset + end, figures))
        for launch, (begin, stop) in zip(launches, spans):
            known = {
                "position": launch["position"], "nodes": " ".join(launch["nodes"]), "flops": launch["flops"],
                "bytes": launch["bytes"], "gflops": launch["gflops"], "gbytes": launch["gbytes"],
                "median_us": launch["median"] * 1e6,
            }  # fmt: skip
            details = {name: value for name, value in known.items() if value is not None}
            events.append(_slice(DEVICE, track, launch["kernel"], "kernel", offset + begin, offset + stop, details))
    return events + _memory(document, offset, end) + _samples(document, offset)


def _memory(document: dict[str, Any], offset: int, end: int) -> list[_EVENT]:
    """Planned bytes alive as a counter that changes when the first thread enters each launch, and ends at 0."""
    steps = document["memory"].get("steps", [])
    begins = [min(moments) for moments in zip(*[[begin for begin, _ in thread] for thread in document["timeline_ns"]])]
    pairs = [(begin, alive) for begin, alive in zip(begins, steps)]
    if not pairs:
        return []
    return [
        {"ph": "C", "pid": DEVICE, "tid": 0, "name": "planned memory", "ts": (offset + at) / 1000,
         "args": {"bytes": alive}}
        for at, alive in [*pairs, (end, 0)]
    ]  # fmt: skip


def _samples(document: dict[str, Any], offset: int) -> list[_EVENT]:
    """A counter for each of the hottest lines: its share of the samples of the kernel that is being launched."""
    found = document.get("sampling")
    if found is None:
        return []
    totals = {kernel["kernel"]: kernel["samples"] for kernel in found["kernels"]}
    events: list[_EVENT] = []
    for line in hot_lines(found, most=_LINES):
        moments: list[tuple[int, float]] = []
        for at, launch in enumerate(document["launches"]):
            if launch["kernel"] == line["kernel"]:
                spans = [thread[at] for thread in document["timeline_ns"]]
                share = 100 * line["count"] / totals[line["kernel"]]
                moments += [(min(begin for begin, _ in spans), share), (max(stop for _, stop in spans), 0.0)]
        events += [
            {"ph": "C", "pid": DEVICE, "tid": 0, "name": f"samples at {line['where']} in {line['kernel']}",
             "ts": (offset + moment) / 1000, "args": {"percent": round(share, 2)}}
            for moment, share in moments
        ]  # fmt: skip
    return events


def _ns(seconds: float) -> int:
    return max(round(seconds * 1e9), 0)


def _slice(pid: int, tid: int, name: str, category: str, begin: int, stop: int, args: dict[str, Any]) -> _EVENT:
    length = max(stop - begin, 0)
    return {
        "ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": begin / 1000, "dur": length / 1000,
        "args": args,
    }  # fmt: skip


def _process(pid: int, words: str, index: int) -> list[_EVENT]:
    return [_named("process_name", pid, 0, name=words), _named("process_sort_index", pid, 0, sort_index=index)]


def _thread(pid: int, tid: int, words: str, index: int) -> list[_EVENT]:
    return [_named("thread_name", pid, tid, name=words), _named("thread_sort_index", pid, tid, sort_index=index)]


def _named(kind: str, pid: int, tid: int, **args: Any) -> _EVENT:
    return {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": args}
