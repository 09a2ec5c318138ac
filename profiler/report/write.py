"""Run and comparison in any format: one table of formats, so that every command offers the same ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from profiler.analysis.compare import compare_runs
from profiler.analysis.comparison import Comparison
from profiler.analysis.history import history
from profiler.recording import ensure_stages
from profiler.records import StageRecord
from profiler.report.document import comparison_document, run_document
from profiler.store import Store

RUN_FORMATS = ("perfetto", "csv", "json", "md", "html", "script")
COMPARISON_FORMATS = ("text", "md", "html", "csv", "json")


def export_run(store: Store, run: int, kind: str, against: Sequence[int] = ()) -> str:
    """A stored run as text of one of RUN_FORMATS; HTML and Markdown compare it with the runs `against`, where given."""
    document = run_document(store, run)
    comparison = None
    if against:
        comparison = comparison_document(compare_runs(store, [*against, run]))
    if kind == "html":
        return _html(store, document, comparison)
    text = _run_writers()[kind](document)
    if kind == "md" and comparison is not None:
        from profiler.report.markdown import comparison_markdown

        return text + "\n" + comparison_markdown(comparison)
    return text


def _run_writers() -> dict[str, Callable[[dict[str, Any]], str]]:
    from profiler.report.exports.csv_table import run_csv
    from profiler.report.exports.perfetto import perfetto_trace
    from profiler.report.exports.reproducer import reproducer_script
    from profiler.report.markdown import run_markdown

    return {
        "perfetto": perfetto_trace, "csv": run_csv, "md": run_markdown, "script": reproducer_script, "json": _json,
    }  # fmt: skip


def _json(document: dict[str, Any]) -> str:
    # Everything outside ASCII is escaped already, but for one control character that is within.
    return json.dumps(document, indent=2, allow_nan=False, default=str).replace("\x7f", "\\u007f") + "\n"


def _html(store: Store, document: dict[str, Any], comparison: dict[str, Any] | None) -> str:
    from profiler.report.html import run_html

    stages: list[StageRecord] = []
    notes: list[str] = []
    if document["compilation"] is not None:
        stages, note = ensure_stages(store, document["compilation"]["id"])
        notes += [note] if note else []
    past = history(store, document["run"]["source"], document["run"]["id"]) if document["times"] else None
    return run_html(document, stages, notes, comparison, past)


def export_comparison(comparison: Comparison, kind: str) -> str:
    """A comparison as text of one of COMPARISON_FORMATS."""
    from profiler.report.exports.csv_table import comparison_csv
    from profiler.report.html import comparison_html
    from profiler.report.markdown import comparison_markdown
    from profiler.report.text import comparison_text

    writers = {
        "text": comparison_text, "md": comparison_markdown, "html": comparison_html, "csv": comparison_csv,
        "json": _json,
    }  # fmt: skip
    return writers[kind](comparison_document(comparison))
