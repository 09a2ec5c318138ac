"""A report as sections of words and tables, made from the same document that every export is written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.viewmodels.frame.formats import count, seconds, size
from profiler.report.markdown import KERNEL_COLUMNS, WHOLE_COLUMNS, kernel_rows, whole_rows
from profiler.units import moment, percent

MOST_ROWS = 40


@dataclass(frozen=True)
class ReportSection:
    """A heading, some lines, and perhaps a table. `right` are the columns of figures; `bar` is one drawn as bars."""

    title: str
    lines: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    right: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    """0 to 1 for each row, drawn as a bar after the last column; empty for none."""


@dataclass(frozen=True)
class ReportPreview:
    """What a report will say."""

    runs: tuple[int, ...]
    title: str
    subtitle: str
    sections: tuple[ReportSection, ...]
    warning: str = ""


def run_preview(document: dict[str, Any]) -> ReportPreview:
    """The preview of a run's report."""
    run, compiled = document["run"], document["compilation"]
    sizes = "".join(f", {name}={value}" for name, value in run["dims"].items())
    sections = [_times(document), _kernels(document), _memory(document)]
    sections += [_compilation(compiled), _stages(compiled)] if compiled else []
    sections += [_counters(document), _machine(document)]
    return ReportPreview(
        (run["id"],),
        f"{run['source']}, run {run['id']}",
        f"{moment(run['started'])} on {document['machine']['name']}, {run['device']}{sizes}",
        tuple(section for section in sections if section is not None),
        _state(document),
    )


def _state(document: dict[str, Any]) -> str:
    """What is wrong with a run: that it failed, or that its results are not the reference's."""
    run = document["run"]
    if run["error"]:
        return f"{run['status']}: {run['error']}"
    good = document["conditions"].get("check", {}).get("ok", True)
    return "" if good else "check failed: its results are wrong, so its times mean nothing"


def comparison_preview(document: dict[str, Any], runs: tuple[int, ...]) -> ReportPreview:
    """The preview of a comparison's report."""
    labels = tuple(side["label"] for side in document["sides"])
    differs = tuple((d["what"], *(str(v) for v in d["values"])) for d in document["differences"])
    sections = [
        ReportSection(
            "What differs", () if differs else ("Nothing: the same options on the same machine.",),
            ("", *labels) if differs else (), differs,
        )
    ]  # fmt: skip
    if document["whole"] and document["whole"][0]:
        rows, test = tuple(whole_rows(document, seconds)), f"Test: {document['test']}."
        sections.append(ReportSection("Time of a call", (test,), ("side", *WHOLE_COLUMNS), rows, (1, 2, 3)))
    kernels = tuple(row[:-1] for row in kernel_rows(document, seconds))
    header = ("kernel", *labels, *KERNEL_COLUMNS[:-1])
    sections.append(ReportSection("Kernels", (), header, kernels[:MOST_ROWS], tuple(range(1, len(labels) + 2))))
    title = " against ".join(f"{side['label']} ({side['source']})" for side in document["sides"])
    return ReportPreview(runs, title, "", tuple(sections), "; ".join(document["warnings"]))


def _times(document: dict[str, Any]) -> ReportSection | None:
    times = document["times"]
    if not times:
        return None
    outliers = times["outliers"]
    lines = [
        f"Median {seconds(times['median'])}, {percent(times['coverage'])} interval {seconds(times['low'])} "
        f"to {seconds(times['high'])}.",
        f"Fastest {seconds(times['minimum'])}, slowest {seconds(times['maximum'])}, {times['count']} calls, "
        f"{outliers} outlier{'s' * (outliers != 1)}, kept in every figure.",
        *(f"Note: {note}." for note in document["conditions"].get("notes", ())),
    ]
    return ReportSection("Time of a call", tuple(lines))


def _kernels(document: dict[str, Any]) -> ReportSection | None:
    launches: Sequence[dict[str, Any]] = document["launches"]
    if not launches:
        return None
    longest = max(x["median"] or 0.0 for x in launches) or 1.0
    rows = tuple(
        (
            str(x["position"] + 1), x["kernel"], seconds(x["median"]), f"{seconds(x['low'])} to {seconds(x['high'])}",
            count(x["flops"]) if x["flops"] else "", size(x["bytes"]) if x["bytes"] else "", _figure(x["gflops"]),
            _figure(x["gbytes"]), percent(x["share"]),
        )
        for x in launches[:MOST_ROWS]
    )  # fmt: skip
    more = (f"The first {MOST_ROWS} of {len(launches)}; the report has all.",) if len(launches) > MOST_ROWS else ()
    more += tuple(f"{kernel}: {note}" for kernel, note in document.get("kernel_notes", {}).items())
    header = ("#", "kernel", "median", "interval", "FLOPs", "bytes", "GFLOP/s", "GB/s", "of roof")
    shares = tuple((x["median"] or 0.0) / longest for x in launches[:MOST_ROWS])
    return ReportSection("Kernels", more, header, rows, (0, 2, 3, 4, 5, 6, 7, 8), shares)


def _memory(document: dict[str, Any]) -> ReportSection | None:
    memory = document["memory"] or {}
    if "planned_peak" not in memory:
        return None
    words = f"Planned peak {size(memory['planned_peak'])}, {size(memory['saved'])} saved by reuse."
    return ReportSection("Memory", (words,))


def _compilation(compiled: dict[str, Any]) -> ReportSection:
    fused = sum(d["accepted"] for d in compiled["decisions"])
    return ReportSection(
        "Compilation",
        (
            f"{compiled['target']}, {compiled['flow']}, -O{compiled['opt_level']}, debug {compiled['debug']}: "
            f"{len(compiled['kernels'])} kernels in {seconds(compiled['seconds'])}.",
            f"{fused} of {len(compiled['decisions'])} fusion candidates were taken; the ledger says why.",
        ),
    )


def _stages(compiled: dict[str, Any]) -> ReportSection | None:
    spent: dict[str, float] = {}
    for record in compiled["passes"]:
        spent[record["stage"]] = spent.get(record["stage"], 0.0) + record["seconds"]
    if not spent:
        return None
    total = sum(spent.values()) or 1.0
    rows = tuple((stage, seconds(took), f"{took / total:.0%}") for stage, took in spent.items())
    most = max(spent.values()) or 1.0
    return ReportSection(
        "Compile time by stage", (), ("stage", "time", "share"), rows, (1, 2), tuple(t / most for t in spent.values())
    )


def _counters(document: dict[str, Any]) -> ReportSection | None:
    counted = document["counters"]
    if not counted:
        return None
    rows = tuple(
        (c["name"], "not available" if c["value"] is None else _figure(c["value"]), c["unit"], c["note"] or "")
        for c in counted[:MOST_ROWS]
    )
    return ReportSection("Counters", (), ("counter", "value", "unit", "note"), rows, (1,))


def _machine(document: dict[str, Any]) -> ReportSection:
    described = document["machine"]["description"]
    plain = [(k.replace("_", " "), str(v)) for k, v in described.items() if isinstance(v, (str, int, float))]
    return ReportSection("Machine", (document["machine"]["name"],), ("", ""), tuple(plain))


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
