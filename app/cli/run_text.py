"""A run as `kernelglass run` prints it for a person: its times, what else happened, and a table of its launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.text_tables import seconds, size, table
from compiler.printable import printable, printable_document
from profiler.analysis.aggregation import between_launches, uneven_words
from profiler.tuning.records import tuned_words
from profiler.units import figure, percent

if TYPE_CHECKING:
    from app.checking import OutputCheck


_MOST_LINES = 5
_MOST_LAUNCHES = 40
"""More of them are put together by kernel, unless asked for one by one."""


def run_text(document: dict[str, Any], checks: list[OutputCheck] | None, by: str | None = None) -> str:
    """The document of a run, and the checks that passed, as a person reads them; launches put together `by` what."""
    document = printable_document(document)
    took, kernels = document["seconds"], len(document["kernels"])
    sizes = ", ".join(f"{name}={size}" for name, size in document["dims"].items())
    shapes = ", ".join(f"{y['dtype']}[{'x'.join(map(str, y['shape']))}]" for y in document["outputs"])
    kept = "" if document["run"] is None else f"run {document['run']}: "
    lines = [
        f"{kept}{document['source']} on {document['device']}{f' ({sizes})' if sizes else ''}: "
        f"{kernels} kernel{'s' * (kernels != 1)}, {_compiled(document)}",
        f"per call   median {seconds(took['median'])} ({seconds(took['low'])} to {seconds(took['high'])}"
        f"{_coverage(took)}), "
        f"{seconds(took['min'])} to {seconds(took['max'])}, {_made(document)}",
        f"outputs    {shapes}",
    ]
    if document.get("tuned"):
        lines.append(f"tuned      {tuned_words(document['tuned'])}; --no-tuned does without")
    lines += [f"check      {printable(check)}" for check in checks or () if check.ok]
    if document["stages"]:
        lines += [f"stage      {line}" for line in document["stages"]["lines"]]
    lines += [f"{word:<10} {words}" for word, words in _meanwhile(document)]
    lines += [f"note       {note}" for note in document["conditions"].get("notes", ())]
    lines += [f"note       {note}" for note in uneven_words(document["launches"])]
    lines += [*_sampled(document), *counted_lines(document)]
    launches = document["launches"]
    by = by or ("launch" if len(launches) <= _MOST_LAUNCHES else "kernel")
    if by != "launch":
        return "\n".join([*lines, "", *_groups(document, by)])
    rows = [_launch_row(launch) for launch in launches]
    if rows:
        moved = "DRAM GB/s" if any(launch.get("measured") for launch in launches) else "GB/s"
        header = ("kernel", "median", "GFLOP/s", moved, "loaded", "stored", "of roof")
        shown = len(header) - (not document["ceilings"])
        lines += ["", table(header[:shown], [row[:shown] for row in rows], right=(1, 2, 3, 4, 5, 6))]
    return "\n".join(lines)


def _groups(document: dict[str, Any], by: str) -> list[str]:
    """Launches put together, and how to see them one by one."""
    found = document["groups"][by]
    rows = [
        (group["name"], str(len(group["launches"])), seconds(group["seconds"]), percent(group["share"]),
         size(group["bytes"]) if group["bytes"] is not None else "", f"{group['imbalance']:.2f}",
         "uneven" if group["uneven"] else "")
        for group in found
    ]  # fmt: skip
    header = (by, "launches", "time", "of the call", "bytes", "slowest thread / mean", "")
    count = len(document["launches"])
    rest = between_launches(document["seconds"]["median"], [launch["median"] for launch in document["launches"]])
    words = f"{count} launch{'es' * (count != 1)} by {by}; --by launch shows each"
    if rest > 0:
        words += f"; {percent(rest / document['seconds']['median'])} of the call lies between launches"
    return [table(header, rows, right=(1, 2, 3, 4, 5)), words]


def _compiled(document: dict[str, Any]) -> str:
    """What compiling took, or reading or finding all of it; what was imported first is told apart."""
    cached = document["from_cache"] == len(document["kernels"]) > 0
    how = "read from the file" if document["from_file"] else "taken from the cache" if cached else "compiled"
    words = f"{how} in {seconds(document['compile_seconds'])}"
    imports = document["import_seconds"]
    return f"{words} (imports {seconds(imports)} before that)" if imports >= 0.001 else words


def _coverage(took: dict[str, Any]) -> str:
    """What the interval covers, where that is less than the usual 95 %."""
    return f", a {took['coverage']:.0%} interval" if took["coverage"] < 0.945 else ""


def _made(document: dict[str, Any]) -> str:
    """How the times were taken, on one line."""
    took, threads = document["seconds"], document["threads"]
    parts = [
        f"{document['repeat']} call{'s' * (document['repeat'] != 1)}",
        f"{took['outliers']} outliers" if took["outliers"] else "no outliers",
    ]
    if document["processes"] > 1:
        parts.append(f"{document['processes']} processes")
    if threads is not None:  # a GPU has none to speak of
        parts.append(f"{threads} thread{'s' if threads != 1 else ''}")
    return ", ".join(parts)


def _meanwhile(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What else happened: the machine, memory, page faults, context switches, and what the hardware counted."""
    conditions, counters = document["conditions"], {c["name"]: c for c in document["counters"]}
    found: list[tuple[str, str]] = []
    if "load" in conditions:
        clock = f"{conditions['megahertz']} MHz" if conditions.get("megahertz") else "clock not told"
        lost = f", {conditions['lost_share']:.1%} of its time lost" if "lost_share" in conditions else ""
        found.append(("machine", f"load {conditions['load'][0]:g}, {clock}{lost}"))
    card = conditions.get("device") or {}
    if card.get("sm_clock_mhz"):
        found.append(("device", f"{card['sm_clock_mhz']} MHz of {card.get('max_sm_clock_mhz')}, "
                                f"{card.get('temperature_celsius')} C, {card.get('power_watts'):.0f} W"))  # fmt: skip
    named = (("minor page faults", "minor"), ("major page faults", "major page faults"),
             ("voluntary context switches", "voluntary"),
             ("involuntary context switches", "involuntary context switches"))  # fmt: skip
    parts = [f"{counters[name]['value']:,.0f} {words}" for name, words in named if name in counters]
    if parts:
        found.append(("system", ", ".join(parts)))
    resident = counters.get("resident memory, highest")
    if resident and resident["value"]:
        found.append(("memory", f"{size(resident['value'])} resident at most, {_planned(document['memory'])}"))
    elif document["memory"].get("device"):
        held = document["memory"]["device"]
        found.append(("memory", f"{size(held['peak'])} on the device at most, {size(held['free'])} left"))
    return found + _hardware(counters)


def _sampled(document: dict[str, Any]) -> list[str]:
    """What sampling found, in a line, and the hottest lines."""
    found = document.get("sampling")
    if found is None:
        return []
    from profiler.report.heat import hot_lines, sampling_words

    hottest = hot_lines(found, most=_MOST_LINES)
    shown = [f"hot        {percent(x['share'])} {x['kernel']} {x['where']}  {x['text']}" for x in hottest]
    return [f"samples    {sampling_words(found)}", *shown]


def counted_lines(document: dict[str, Any]) -> list[str]:
    """The table of hardware counters under an empty line, or why there are none."""
    from profiler.report.counted import HEADER, counter_rows, uncounted_words

    rows = counter_rows(document)
    if rows:
        return ["", table(HEADER, rows, right=tuple(range(1, len(HEADER))))]
    missing = uncounted_words(document)
    return [f"counters   {missing}"] if missing else []


def _planned(memory: dict[str, Any]) -> str:
    return f"{size(memory['planned_peak'])} planned for temporaries" if "planned_peak" in memory else "no plan"


def _hardware(counters: dict[str, Any]) -> list[tuple[str, str]]:
    """Hardware counters in a line, or in one line why there are none."""
    events = [c for c in counters.values() if c["unit"] == "events"]
    counted = [f"{c['value']:.4g} {c['name']}" for c in events if c["value"] is not None]
    missing: dict[str, list[str]] = {}
    for counter in events:
        if counter["value"] is None:
            missing.setdefault(counter["note"], []).append(counter["name"])
    lines = [("hardware", ", ".join(counted))] if counted else []
    return lines + [("hardware", f"no {', '.join(names)}: {note}") for note, names in missing.items()]


def _launch_row(launch: dict[str, Any]) -> tuple[str, ...]:
    moved = [size(launch[name]) if launch[name] is not None else "" for name in ("loads", "stores")]
    reached = f"{percent(launch['share'])} {launch['bound']}" if launch["share"] is not None else ""
    rates = figure(launch["gflops"]), figure(launch["gbytes"])
    return launch["kernel"], seconds(launch["median"]), *rates, *moved, reached
