"""A stored run, or a comparison, as plain data: what the JSON export writes and every report is made from.

The fields are described in docs/trace-schema.md; `SCHEMA` changes when one of them changes its meaning.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from profiler.analysis.comparison import Comparison
from profiler.analysis.roofline import kernel_dtype, roofline
from profiler.analysis.statistics import summarise
from profiler.measure.ceilings.measured import ceilings_for
from profiler.records import FINISHED, PASS_COLUMNS, WHOLE
from profiler.store import Store, queries
from profiler.store.finished import finished_samples, timeline_of
from profiler.store.kernel_notes import kernel_notes
from profiler.store.sampled import sampling

SCHEMA = "kernelglass-run/1"
COMPARISON_SCHEMA = "kernelglass-comparison/1"
_RUN = ("id", "source", "status", "started", "finished", "device", "threads", "dims", "seed", "note", "tags", "pinned",
        "error", "signal", "kernel")  # fmt: skip


def run_document(store: Store, run: int) -> dict[str, Any]:
    """Everything about a run but the IR texts; a failed run has no times."""
    row = queries.run_row(store, run)
    machine = queries.machine_row(store, row["machine"])
    launches = queries.launches(store, run)
    samples = finished_samples(store, row, launches) if row["status"] == FINISHED else {}
    blocks = row["conditions"].get("blocks", [])
    ceilings = ceilings_for(store, row, machine["fingerprint"])
    taken = sampling(store, run)
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "run": {name: row[name] for name in _RUN},
        "request": row["request"],
        "machine": {name: machine[name] for name in ("fingerprint", "name", "description")},
        "conditions": row["conditions"],
        "compilation": compilation_document(store, row["compilation"]) if row["compilation"] else None,
        "times": None,
        "launches": [],
        "counters": queries.counters(store, run),
        "memory": row["memory"],
        "ceilings": [asdict(ceiling) for ceiling in ceilings],
        "timeline_ns": timeline_of(store, row, launches),
    }
    if row["status"] == FINISHED:
        found["times"] = asdict(summarise(samples[WHOLE], blocks, row["conditions"].get("processes", []))) | {
            "samples_ns": samples[WHOLE].tolist(), "blocks": blocks,
        }  # fmt: skip
        known = found["compilation"]["kernels"] if found["compilation"] else []
        dtypes = {k["name"]: kernel_dtype(k["source"]) for k in known}
        points = roofline(launches, ceilings, dtypes, taken.counted if taken is not None else ())
        left_out = ("kernel", "position", "seconds", *(() if taken is not None and taken.counted else ("measured",)))
        for launch, point in zip(launches, points):
            figures = {name: value for name, value in launch.items() if name not in ("id", "run")}
            rates = {name: value for name, value in asdict(point).items() if name not in left_out}
            times = samples[launch["position"]].tolist()
            found["launches"].append(figures | rates | {"samples_ns": times})
    if taken is not None:  # there is no such field where nobody sampled
        found["sampling"] = asdict(taken) | {"mapped": taken.mapped}
    if notes := _notes_on(store, row["source"], found["compilation"]):  # nor this where nobody noted anything
        found["kernel_notes"] = notes
    return found


def _notes_on(store: Store, source: str, compilation: dict[str, Any] | None) -> dict[str, str]:
    """What was noted on kernels that a run has."""
    known = {kernel["name"] for kernel in compilation["kernels"]} if compilation else set()
    return {kernel: note for kernel, note in kernel_notes(store, source).items() if kernel in known}


def compilation_document(store: Store, compilation: int) -> dict[str, Any]:
    """A compilation with its passes, kernels and ledger."""
    row = queries.compilation_row(store, compilation)
    names = ("id", "created", "source", "target", "flow", "opt_level", "debug", "options", "versions", "seconds",
             "stats", "graph_name", "graph_hash", "graph_text")  # fmt: skip
    return {name: row[name] for name in names} | {
        "passes": [{key: getattr(p, key) for key in PASS_COLUMNS} for p in queries.passes(store, compilation)],
        "kernels": [asdict(record) for record in queries.kernels(store, compilation)],
        "decisions": [asdict(record) for record in queries.decisions(store, compilation)],
    }


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "schema": COMPARISON_SCHEMA,
        "test": comparison.test,
        "sides": [
            {
                "label": side.label,
                "run": side.run["id"] if side.run else None,
                "compilation": side.compilation["id"] if side.compilation else None,
                "source": (side.run or side.compilation or {}).get("source", ""),
                "compile_seconds": side.compilation["seconds"] if side.compilation else None,
                "machine": side.machine["name"],
            }
            for side in comparison.sides
        ],
        "differences": [asdict(item) for item in comparison.differences],
        "warnings": list(comparison.warnings),
        "whole": [asdict(item) if item else None for item in comparison.whole],
        "verdicts": [asdict(item) if item else None for item in comparison.verdicts],
        "kernels": [asdict(item) for item in comparison.kernels],
        "stage_seconds": [dict(item) for item in comparison.stage_seconds],
        "stage_names": list(dict.fromkeys(name for item in comparison.stage_seconds for name in item)),
        "model_differs_at": comparison.model_differs_at,
        "break_even": list(comparison.break_even),
        **({"lines": [asdict(item) for item in comparison.lines]} if comparison.lines else {}),
    }
