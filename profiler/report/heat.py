"""Samples as reports and the command line show them: hottest lines, annotated listings, and what sampling cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from profiler.analysis.advice import Finding, advice
from profiler.report.counted import HEADER, counter_rows, uncounted_words
from profiler.sampled import PLACES
from profiler.units import percent, seconds

_MOST_LINES = 40
_MOST_LISTINGS = 24
_MOST_FINDINGS = 12
_GAP = 3
"""So many lines without samples are worth a line that says so; fewer are left out without a word."""


def sampling_words(found: Mapping[str, Any], *, micro: str = "us") -> str:
    """What was sampled and what that cost, in a sentence; or why there is nothing. `micro` as for `seconds`."""
    if found["note"]:
        return found["note"]
    inside, total = found["inside"], found["samples"]
    words = f"{inside:,} of {total:,} samples were taken in kernels"
    if inside:
        words += f", {percent(found['mapped'] / inside)} of those know their line"
    if found["waiting"]:
        words += f"; {percent(found['waiting'] / total)} of all were in threads that wait for others"
    period = seconds(found["period"], micro=micro) if found["period"] else ""
    every = f"One every {period} of a thread's time," if period else "They were taken"
    words += f". {every} over {found['calls']:,} calls of their own"
    if found["slowdown"] is not None:
        change = f"{percent(abs(found['slowdown']), 1)} {'longer' if found['slowdown'] >= 0 else 'shorter'}"
        words += f" that took {change} than calls between them without samples"
    lost = f"; {found['lost']:,} were lost" if found["lost"] else ""
    return f"{words}{lost}."


def finding_words(findings: Sequence[Finding]) -> list[str]:
    """Findings as sentences, the dearest first."""
    return [
        f"{f'{item.kernel} ' if item.kernel else ''}{item.words}{f', at {item.where}' if item.where else ''} "
        f"({seconds(item.cost)} of a call)"
        for item in findings[:_MOST_FINDINGS]
    ]


def hot_lines(found: Mapping[str, Any], stage: str = PLACES, most: int | None = None, kernel: str = "") -> list[dict]:
    """The lines of a stage over all kernels, or one, hottest first, each with its share of the samples in kernels."""
    rows = [
        dict(line) | {"kernel": each["kernel"], "share": line["count"] / found["inside"], "where": _where(line, stage)}
        for each in found["kernels"]
        if kernel in ("", each["kernel"])
        for part in each["stages"]
        if part["stage"] == stage
        for line in part["lines"]
    ]
    rows.sort(key=lambda row: (-row["count"], row["kernel"], row["file"], row["line"]))
    return rows[:most]


def hot_nodes(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Graph nodes and their share of the samples in kernels, hottest first."""
    counts: dict[str, float] = {}
    for kernel in found["kernels"]:
        for node, count in kernel["nodes"]:
            counts[node] = counts.get(node, 0.0) + count
    return [(node, n / found["inside"]) for node, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def annotated(kernel: Mapping[str, Any], stage: str, inside: int) -> list[str]:
    """A listing of a stage's sampled lines in their order, each with its share; what lies between is only counted."""
    part = next((part for part in kernel["stages"] if part["stage"] == stage), None)
    lines: list[str] = []
    before: Mapping[str, Any] | None = None
    for line in part["lines"] if part else ():
        same = before is not None and before["file"] == line["file"]
        if stage == PLACES and not same:
            lines.append(f"{'':10}{_leaf(line['file'])}")
        between = line["line"] - before["line"] - 1 if before is not None and (stage != PLACES or same) else 0
        if between >= _GAP:
            lines.append(f"{'':10}... {between} lines")
        lines.append(f"{line['count'] / inside:8.2%} {line['line']:6}  {line['text']}{_stalls(line)}")
        before = line
    return lines


def heat_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the HTML report shows: a sentence, findings, the hottest lines, listings of the hottest kernels."""
    found = document["sampling"]
    stages = (PLACES, "source", "kgen", "kernel", "llvm", "llvm-opt", "asm", "ptx", "sass")
    listings: Sequence[dict[str, Any]] = [
        {"stage": stage, "kernel": kernel["kernel"], "share": kernel["samples"] / found["inside"], "lines": lines}
        for kernel in found["kernels"]
        for stage in stages
        if (lines := annotated(kernel, stage, found["inside"]))
    ]
    lines = hot_lines(found, most=_MOST_LINES) if found["inside"] else []
    said = finding_words(advice(document))
    counted = {"header": HEADER, "rows": counter_rows(document), "missing": uncounted_words(document)}
    return {
        "words": sampling_words(found), "findings": said, "lines": lines, "listings": listings[:_MOST_LISTINGS],
        "counted": counted,
    }  # fmt: skip


def _where(line: Mapping[str, Any], stage: str) -> str:
    return f"{_leaf(line['file'])}:{line['source_line']}" if stage == PLACES else str(line["line"])


def _leaf(file: str) -> str:
    return file.rsplit("/", 1)[-1]


def _stalls(line: Mapping[str, Any]) -> str:
    total = sum(count for _, count in line["stalls"])
    shown = [f"{name} {percent(count / total)}" for name, count in line["stalls"][:3]]
    return f"  ; {', '.join(shown)}" if shown else ""
