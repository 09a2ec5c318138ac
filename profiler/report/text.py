"""A comparison for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.printable import printable_document
from profiler.report.markdown import KERNEL_COLUMNS, WHOLE_COLUMNS, kernel_rows, line_rows, whole_rows
from profiler.units import seconds


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under a header, two spaces apart."""
    lines = [[str(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def comparison_text(document: dict[str, Any]) -> str:
    """What differs, then times with verdicts, then kernels."""
    document = printable_document(document)
    labels = [side["label"] for side in document["sides"]]
    parts = [" against ".join(f"{side['label']} ({side['source']})" for side in document["sides"])]
    parts += [f"warning: {note}" for note in document["warnings"]]
    if document["differences"]:
        parts.append("\n" + aligned(("differs", *labels), [(d["what"], *d["values"]) for d in document["differences"]]))
    else:
        parts.append("\nnothing differs in options, machine, versions and sizes")
    if document["model_differs_at"]:
        parts.append(f"the model first differs at stage {document['model_differs_at']}")
    if document["whole"][0]:
        parts.append("\n" + aligned(("whole model", *WHOLE_COLUMNS), whole_rows(document)))
        parts += document["break_even"]
    rows = [(*row, kernel["matched"]) for row, kernel in zip(kernel_rows(document), document["kernels"])]
    parts.append("\n" + aligned(("kernel", *labels, *KERNEL_COLUMNS, "matched by"), rows))
    if document.get("lines"):
        parts.append("\n" + aligned(("line, share of samples", *labels, "it says"), line_rows(document)))
    names = document["stage_names"]
    if names:
        rows = [(name, *(seconds(table.get(name)) for table in document["stage_seconds"])) for name in names]
        total = ("total", *(seconds(side["compile_seconds"]) for side in document["sides"]))
        parts.append("\n" + aligned(("compile stage", *labels), [*rows, total]))
    if document["test"]:
        parts.append(f"\ntest: {document['test']}")
    return "\n".join(parts)
