"""Runs and comparisons as Markdown, to paste in a ticket."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from compiler.printable import printable
from profiler.analysis.advice import advice
from profiler.analysis.aggregation import grouped, uneven_words
from profiler.report.counted import HEADER, counter_rows, uncounted_words
from profiler.report.heat import annotated, finding_words, hot_lines, sampling_words
from profiler.units import count, figure, percent, seconds, size

WHOLE_COLUMNS = ("median", "interval", "ratio", "verdict")
KERNEL_COLUMNS = ("ratio", "verdict", "IR differs from")
_MOST_LINES = 20
_MOST_LAUNCHES = 40  # more of them are put together by kernel
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|&~$])")


def md(value: Any) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(str(value).split())))


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; cells are escaped, those of the header too."""
    lines = [[md(cell) for cell in header], ["---"] * len(header), *[[md(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def run_markdown(document: dict[str, Any]) -> str:
    """The report of a run."""
    run, times, compiled = document["run"], document["times"], document["compilation"]
    sizes = ", ".join(f"{name}={value}" for name, value in run["dims"].items())
    parts = [
        f"# {md(run['source'])}, run {run['id']}",
        f"{md(run['started'])} on {md(document['machine']['name'])}, {md(run['device'])}"
        f"{', ' + md(sizes) if sizes else ''}",
    ]
    if run["error"]:
        parts.append(f"**{md(run['status'])}**: {md(run['error'])}")
    if not (check := document["conditions"].get("check", {"ok": True}))["ok"]:
        parts.append(
            f"**check failed**: its results are wrong, so its times mean nothing. {md('; '.join(check['lines']))}"
        )
    if run["note"]:
        parts.append(f"Note: {md(run['note'])}")
    if times:
        parts.append(
            f"Median{' of process medians' * (times['processes'] > 1)} **{seconds(times['median'])}** "
            f"({percent(times['coverage'])} interval {seconds(times['low'])} to {seconds(times['high'])}), "
            f"fastest {seconds(times['minimum'])}, {times['count']} calls, {times['outliers']} outliers kept."
        )
        rows = [
            (x["kernel"], seconds(x["median"]), f"{seconds(x['low'])} to {seconds(x['high'])}", count(x["flops"]),
             size(x["bytes"]), figure(x["gflops"]), figure(x["gbytes"]), percent(x["share"]))
            for x in document["launches"]
        ]  # fmt: skip
        header = ("kernel", "median", "interval", "FLOPs", "bytes", "GFLOP/s", "GB/s", "of roof")
        if len(rows) > _MOST_LAUNCHES:
            header = ("kernel", "launches", "time", "of the call", "slowest thread / mean")
            rows = [
                (
                    group.name,
                    len(group.launches),
                    seconds(group.seconds),
                    percent(group.share),
                    f"{group.imbalance:.2f}",
                )
                for group in grouped(document["launches"], "kernel", (document["times"] or {}).get("median"))
            ]
        parts.append(table(header, rows))
    parts += _sampled(document)
    parts += [f"> {md(note)}" for note in uneven_words(document["launches"])]
    parts += [f"> {md(kernel)}: {md(note)}" for kernel, note in document.get("kernel_notes", {}).items()]
    parts += [f"> {md(note)}" for note in document["conditions"].get("notes", ())]
    memory = document["memory"]
    if "planned_peak" in memory:
        parts.append(f"Memory: planned peak {size(memory['planned_peak'])}, {size(memory['saved'])} saved by reuse.")
    if compiled:
        parts.append(
            f"Compiled in {seconds(compiled['seconds'])}: {md(compiled['target'])}, {md(compiled['flow'])}, "
            f"-O{compiled['opt_level']}, debug {md(compiled['debug'])}, {len(compiled['kernels'])} kernels."
        )
    return "\n\n".join(parts) + "\n"


def _sampled(document: dict[str, Any]) -> list[str]:
    """Where the time goes: the hottest lines of the kernel language, and the hottest kernel's listing."""
    found = document.get("sampling")
    if found is None:
        return []
    parts = ["## Where the time goes", md(sampling_words(found))]
    if counted := counter_rows(document):
        parts.append(table(HEADER, counted))
    elif missing := uncounted_words(document):
        parts.append(md(missing))
    said = finding_words(advice(document))
    parts += ["\n".join(f"- {md(words)}" for words in said)] if said else []
    rows = [(percent(x["share"]), x["kernel"], x["where"], x["text"]) for x in hot_lines(found, most=_MOST_LINES)]
    if rows:
        parts.append(table(("samples", "kernel", "line", "it says"), rows))
        hottest = found["kernels"][0]
        listing = annotated(hottest, "asm", found["inside"]) or annotated(hottest, "sass", found["inside"])
        shown = "\n".join(f"    {printable(line)}" for line in listing)  # indented: nothing in it can end it
        parts.append(f"{md(hottest['kernel'])}, instruction by instruction:\n\n{shown}")
    return parts


def comparison_markdown(document: dict[str, Any]) -> str:
    """The report of a comparison."""
    labels = [side["label"] for side in document["sides"]]
    parts = ["# " + " against ".join(f"{md(side['label'])} ({md(side['source'])})" for side in document["sides"])]
    parts += [f"> {md(note)}" for note in document["warnings"]]
    if document["differences"]:
        parts += ["## What differs", table(("", *labels), [(d["what"], *d["values"]) for d in document["differences"]])]
    if document["whole"][0]:
        parts += ["## Time of a call", table(("side", *WHOLE_COLUMNS), whole_rows(document))]
        parts += [md(line) for line in document["break_even"]]
        parts.append(f"Test: {document['test']}.")
    parts += ["## Kernels", table(("kernel", *labels, *KERNEL_COLUMNS), kernel_rows(document))]
    if document.get("lines"):
        parts += [
            "## Lines that take another share of the time",
            table(("line", *labels, "it says"), line_rows(document)),
        ]
    return "\n\n".join(parts) + "\n"


def whole_rows(document: dict[str, Any], shown: Callable[[float], str] = seconds) -> list[tuple[str, ...]]:
    """A row a side that has times: its label and WHOLE_COLUMNS; `shown` writes a time."""
    return [
        (side["label"], shown(t["median"]), f"{shown(t['low'])} to {shown(t['high'])}", *verdict_words(v))
        for side, t, v in zip(document["sides"], document["whole"], document["verdicts"])
        if t
    ]


def kernel_rows(document: dict[str, Any], shown: Callable[[float], str] = seconds) -> list[tuple[str, ...]]:
    """A row a kernel: its name, its time on each side and KERNEL_COLUMNS; `shown` writes a time."""
    return [
        (kernel_words(k), *(shown(t["median"]) if t else "" for t in k["times"]), *verdict_words(k["verdicts"][-1]),
         "not kept" if k["differs_at"] is None else k["differs_at"] or "the same")
        for k in document["kernels"]
    ]  # fmt: skip


def line_rows(document: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row for each line whose share of the samples changed: where it is, its shares, what it says."""
    return [
        (f"{x['file']}:{x['line']}", *(percent(share) for share in x["shares"]), x["text"]) for x in document["lines"]
    ]


def verdict_words(verdict: dict[str, Any] | None) -> tuple[str, str]:
    """The ratio with its interval, and the verdict."""
    if verdict is None:
        return "", ""
    return f"{verdict['ratio']:.3f} ({verdict['low']:.3f} to {verdict['high']:.3f})", verdict["words"]


def kernel_words(kernel: dict[str, Any]) -> str:
    """The names on each side, once where they are the same."""
    names = [" + ".join(part) or "none" for part in kernel["names"]]
    return names[0] if len(set(names)) == 1 else " / ".join(names)
