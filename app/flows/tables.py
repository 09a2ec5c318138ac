"""The tables of `kernelglass flows`: as text, Markdown, CSV or one document."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from typing import Any

from app.flows.cells import Cell, Measured, Row, Sample
from app.text_tables import seconds, size, table
from compiler.printable import printable
from profiler.report.exports.csv_table import csv_of
from profiler.report.markdown import md
from profiler.units import percent

HEADER = (
    "flow", "-O", "debug", "cache", "user", "system", "elapsed", "CPU", "peak memory", "time ratio",
    "memory ratio", "spread",
)  # fmt: skip
_CPU: Callable[[Sample], float] = lambda sample: sample.cpu  # noqa: E731
_PEAK: Callable[[Sample], float] = lambda sample: sample.peak_bytes  # noqa: E731
START_HEADER = ("flow", "cache", "compile", "first result", "ratio", "spread")


def document(measured: Measured, machine: str, cores: int, disturbed: Container[Cell] = frozenset()) -> dict[str, Any]:
    """Everything that was measured, with the ratios per-kernel / all-kernel.

    While cells that were `disturbed` were measured, something else took the machine.
    """
    rows = [row for row in measured.rows if not row.cell.execute]
    starts = [row for row in measured.rows if row.cell.execute]
    request = measured.request
    return {
        "source": request.source,
        "target": request.options.target,
        "kernels": max((row.samples[0].told.kernels for row in measured.rows), default=None),
        "machine": machine,
        "cores": cores,
        "jobs": request.options.jobs or cores,
        "repeat": measured.repeat,
        "interrupted": measured.interrupted,
        "notes": list(measured.notes),
        "base": {
            "cpu_s": measured.base.cpu,
            "elapsed_s": measured.base.elapsed,
            "peak_bytes": measured.base.peak_bytes,
        },
        "cells": [row.document() | _ratios(row, rows) | {"disturbed": row.cell in disturbed} for row in rows],
        "line_tables": _line_tables(rows),
        "start_up": [
            row.document() | {"start_ratio": _start_ratio(row, starts), "disturbed": row.cell in disturbed}
            for row in starts
        ],
    }


def _partner(row: Row, rows: Sequence[Row], **changed: str) -> Row | None:
    for other in rows:
        wanted = {**vars(row.cell), **changed}
        if vars(other.cell) == wanted:
            return other
    return None


def _ratios(row: Row, rows: Sequence[Row]) -> dict[str, float | None]:
    other = _partner(row, rows, flow="per-kernel") if row.cell.flow == "all-kernel" else None
    return {"time_ratio": _over(other, row, _CPU), "memory_ratio": _over(other, row, _PEAK)}


def _over(one: Row | None, other: Row, what: Callable[[Sample], float]) -> float | None:
    return one.median(what) / other.median(what) if one is not None else None


def _line_tables(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What line tables cost: time and memory against none, cold."""
    found = []
    for row in rows:
        without = _partner(row, rows, debug="none") if row.cell.debug == "line-tables" else None
        if without is not None and row.cell.cache == "cold":
            found.append(
                {
                    "flow": row.cell.flow,
                    "opt_level": row.cell.opt_level,
                    "time": _over(row, without, _CPU),
                    "memory": _over(row, without, _PEAK),
                }
            )
    return found


def _start_ratio(row: Row, starts: Sequence[Row]) -> float | None:
    other = _partner(row, starts, flow="per-kernel") if row.cell.flow == "all-kernel" else None
    return _over(other, row, lambda s: s.told.first_result_seconds)


def _cells_text(found: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            _flow(cell), str(cell["opt_level"]), cell["debug"], cell["cache"], seconds(cell["user_s"]),
            seconds(cell["system_s"]), seconds(cell["elapsed_s"]), percent(cell["cpu_percent"] / 100),
            size(cell["peak_bytes"]), _ratio(cell["time_ratio"]), _ratio(cell["memory_ratio"]),
            _spread(cell["spread"]),
        )
        for cell in found["cells"]
    ]  # fmt: skip


def _starts_text(found: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            _flow(cell), cell["cache"], seconds(cell["compile_s"]), seconds(cell["first_result_s"]),
            _ratio(cell["start_ratio"]), _spread(cell["spread"]),
        )
        for cell in found["start_up"]
    ]  # fmt: skip


def _flow(cell: dict[str, Any]) -> str:
    """The flow, with a mark where its figures were disturbed."""
    return f"{cell['flow']} (disturbed)" if cell["disturbed"] else cell["flow"]


def _spread(value: float | None) -> str:
    """A single repeat has no spread, which is not one of 0."""
    return "unknown" if value is None else percent(value)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _title(found: dict[str, Any]) -> str:
    kernels = found["kernels"]
    return (
        f"{printable(found['source'])} for {found['target']}: {kernels} kernel{'s' * (kernels != 1)}, "
        f"{found['machine']}, "
        f"{found['jobs']} job{'s' * (found['jobs'] != 1)}, {found['repeat']} repeat{'s' * (found['repeat'] != 1)}"
    )


def _notes(found: dict[str, Any]) -> list[str]:
    base = found["base"]
    notes = [
        "Ratios are per-kernel / all-kernel, of user + system time and of peak memory: above 1, all-kernel takes less.",
        "Figures are medians; spread is (max - min) / median of user + system, or of the time to the first result.",
        "Peak memory is that of a process and its workers together, pages they share counted once.",
        f"A process that only loads the source takes {seconds(base['cpu_s'])} and {size(base['peak_bytes'])}.",
    ]
    for cost in found["line_tables"]:
        notes.append(
            f"Line tables, {cost['flow']} -O{cost['opt_level']}: {cost['time']:.2f} times the time, "
            f"{cost['memory']:.2f} times the memory."
        )
    notes += [f"Note: {note}." for note in found["notes"]]
    if any(cell["disturbed"] for cell in (*found["cells"], *found["start_up"])):
        notes.append("Disturbed: something else took the machine while these cells were measured; measure them again.")
    if found["interrupted"]:
        notes.append("Interrupted: only what was finished is shown.")
    return notes


def _parts(found: dict[str, Any], title: str, made: Callable[..., str]) -> list[str]:
    """The title and the tables that have rows, as `made` lays them out from their header, rows and columns of words."""
    parts = [title, ""]
    if found["cells"]:
        parts += [made(HEADER, _cells_text(found), 4), ""]
    if found["start_up"]:
        parts += ["From `compile` to the first result:", "", made(START_HEADER, _starts_text(found), 2), ""]
    return parts


def text(found: dict[str, Any]) -> str:
    """For a terminal."""

    def made(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
        return table(header, rows, right=range(words, len(header)))

    return "\n".join([*_parts(found, _title(found), made), *_notes(found)])


def markdown(found: dict[str, Any]) -> str:
    """For a ticket."""
    parts = _parts(found, f"**{md(_title(found))}**", _markdown_table)
    return "\n".join([*parts, *(f"- {note}" for note in _notes(found))])


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *rows))


def comma_separated(found: dict[str, Any]) -> str:
    """For a spreadsheet: one line a cell, start-up cells among them, plain numbers."""
    lines = [*found["cells"], *found["start_up"]]
    names = list(dict.fromkeys(name for line in lines for name in line))
    shared = {name: found[name] for name in ("source", "target", "kernels", "jobs")}
    return csv_of([*shared, *names], (shared | line for line in lines))


WRITERS = {"text": text, "md": markdown, "csv": comma_separated, "json": lambda found: json.dumps(found, indent=2)}
"""The document in each format."""
