"""A run as a Chrome trace (JSON), which Perfetto and chrome://tracing open: passes, launches by thread, memory."""

from __future__ import annotations

import json
from typing import Any

COMPILER, DEVICE = 1, 2
_EVENT = dict[str, Any]


def perfetto_trace(document: dict[str, Any]) -> str:
    """The compilation's passes, then one traced call with a track a thread, and the memory plan as a counter."""
    events: list[_EVENT] = [
        _name("process_name", COMPILER, 0, "compiler"),
        _name("process_name", DEVICE, 0, document["run"]["device"]),
    ]
    compiled = document["compilation"] or {"passes": []}
    stages = list(dict.fromkeys(record["stage"] for record in compiled["passes"]))
    for number, stage in enumerate(stages):
        events.append(_name("thread_name", COMPILER, number + 1, stage))
        events.append(_sort(COMPILER, number + 1, number))
    end = 0.0
    for record in compiled["passes"]:
        words = f"{record['name']} {record['kernel']}".strip()
        sizes = {k: record[k] for k in ("ops_before", "ops_after", "bytes_after") if record[k] >= 0}
        start = record["start"] * 1e6
        events.append(
            _slice(COMPILER, stages.index(record["stage"]) + 1, words, "pass", start, record["seconds"] * 1e6, sizes)
        )
        end = max(end, start + record["seconds"] * 1e6)
    events += _launches(document, end)
    other = {"source": document["run"]["source"], "run": document["run"]["id"], "machine": document["machine"]["name"]}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}, allow_nan=False)


def _launches(document: dict[str, Any], offset: float) -> list[_EVENT]:
    events: list[_EVENT] = []
    steps = document["memory"].get("steps", [])
    for thread, spans in enumerate(document["timeline_ns"]):
        events.append(_name("thread_name", DEVICE, thread + 1, f"thread {thread}"))
        events.append(_sort(DEVICE, thread + 1, thread))
        for launch, (begin, stop) in zip(document["launches"], spans):
            known = {"nodes": " ".join(launch["nodes"]), "flops": launch["flops"], "bytes": launch["bytes"],
                     "median_us": launch["median"] * 1e6}  # fmt: skip
            details = {name: value for name, value in known.items() if value is not None}
            start, length = offset + begin * 1e-3, (stop - begin) * 1e-3
            events.append(_slice(DEVICE, thread + 1, launch["kernel"], "kernel", start, length, details))
            if thread == 0 and launch["position"] < len(steps):
                events.append({"ph": "C", "pid": DEVICE, "tid": 0, "name": "planned memory", "ts": start,
                               "args": {"bytes": steps[launch["position"]]}})  # fmt: skip
    return events


def _slice(pid: int, tid: int, name: str, category: str, start: float, length: float, args: dict[str, Any]) -> _EVENT:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": start, "dur": length, "args": args}


def _name(kind: str, pid: int, tid: int, words: str) -> _EVENT:
    return {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {"name": words}}


def _sort(pid: int, tid: int, index: int) -> _EVENT:
    return {"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": index}}
