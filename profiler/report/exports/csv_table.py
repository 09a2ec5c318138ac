"""Runs and comparisons as CSV: one row a launch, or one row a kernel and side. Columns are in docs/trace-schema.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compiler.printable import printable_lines
from profiler.report.markdown import kernel_words

RUN_COLUMNS = ("run", "position", "kernel", "key", "median_s", "low_s", "high_s", "minimum_s", "count", "flops",
               "bytes", "loads", "stores", "gflops", "gbytes", "intensity", "share_of_roof", "nodes")  # fmt: skip
COMPARISON_COLUMNS = ("kernel", "side", "names", "median_s", "low_s", "high_s", "ratio", "ratio_low", "ratio_high",
                      "verdict", "differs_at", "matched", "bound", "why")  # fmt: skip

_FORMULA = tuple("=+-@") + tuple("\uff1d\uff0b\uff0d\uff20")  # also as wide letters, which some programs take for these
_SKIPPED = tuple("\t\r\n\0")


def run_csv(document: dict[str, Any]) -> str:
    """One row a launch, after a row for the whole model with kernel `*`."""
    run, times = document["run"]["id"], document["times"]
    rows: list[Sequence[Any]] = []
    if times:
        whole = (times["median"], times["low"], times["high"], times["minimum"], times["count"])
        rows.append((run, "", "*", "", *whole, *[""] * 9))
    for x in document["launches"]:
        rows.append((
            run, x["position"], x["kernel"], x["key"], x["median"], x["low"], x["high"], x["minimum"],
            len(x["samples_ns"]), x["flops"], x["bytes"], x["loads"], x["stores"], x["gflops"], x["gbytes"],
            x["intensity"], x["share"], " ".join(x["nodes"]),
        ))  # fmt: skip
    return _written(RUN_COLUMNS, rows)


def comparison_csv(document: dict[str, Any]) -> str:
    """One row a kernel and side, after rows for the whole model with kernel `*`."""
    rows: list[Sequence[Any]] = []
    labels = [side["label"] for side in document["sides"]]
    for label, times, verdict in zip(labels, document["whole"], document["verdicts"]):
        rows.append(("*", label, "", *_figures(times, verdict), document["model_differs_at"], "", *_limits(verdict)))
    for kernel in document["kernels"]:
        parts = zip(labels, kernel["names"], kernel["times"], kernel["verdicts"])
        for label, names, times, verdict in parts:
            ends = (kernel["differs_at"], kernel["matched"], *_limits(verdict))
            rows.append((kernel_words(kernel), label, " + ".join(names), *_figures(times, verdict), *ends))
    return _written(COMPARISON_COLUMNS, rows)


def _figures(times: dict[str, Any] | None, verdict: dict[str, Any] | None) -> list[Any]:
    taken = [times[name] for name in ("median", "low", "high")] if times else [""] * 3
    return taken + ([verdict[name] for name in ("ratio", "low", "high", "verdict")] if verdict else [""] * 4)


def _limits(verdict: dict[str, Any] | None) -> list[Any]:
    """How far the interval reaches from 1, and why there is no verdict, where that is so."""
    return [verdict[name] for name in ("bound", "why")] if verdict else [""] * 2


def _written(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return "".join(_line(row) for row in (columns, *([plain_cell(value) for value in row] for row in rows)))


def _line(row: Sequence[Any]) -> str:
    """One line. The writer quotes a carriage return only where it is part of its own line end."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerow(row)
    return out.getvalue().removesuffix("\r\n") + "\n"


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A line for each row under the names of its columns."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: plain_cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def plain_cell(value: Any) -> Any:
    """A cell that is only shown: no control characters but line ends and tabs, and nothing to be taken for a formula.

    A spreadsheet takes a text that begins with = + - @ for one, also after white space: an apostrophe keeps it a text.
    """
    if not isinstance(value, str):
        return value
    words = "\r".join(map(printable_lines, value.split("\r")))
    return f"'{words}" if value.lstrip()[:1] in _FORMULA or value[:1] in _SKIPPED else words
