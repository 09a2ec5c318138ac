"""The notebook of runs, inside a worker: what is kept of runs, compilations and flows, and what is written on it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from app.viewmodels.requests import CompilationRow, ListCompilationsRequest, ListRunsRequest, Report, RunRow
from app.viewmodels.runs import notebook
from profiler.store import Store, ask, open_store, queries, writer
from profiler.store.flow_tables import delete_flow_tables, flow_table, keep_flow_table, list_flow_tables
from profiler.store.kernel_notes import kernel_notes, note_kernel
from profiler.units import moment

_NEWEST = 300  # of a list, at most


def changes(row: dict[str, Any]) -> str:
    """What a user changed about a compilation, in words."""
    counted = ((row["cuts"], "cut"), (row["fusions"], "fused"), (row["edits"], "edited"))
    return ", ".join(f"{count} {what}" for count, what in counted if isinstance(count, int) and count > 0)


def list_runs(_request: ListRunsRequest, _report: Report) -> tuple[RunRow, ...]:
    """The newest runs."""
    return tuple(
        RunRow(
            row["id"],
            moment(row["started"]),
            row["source"],
            row["device"],
            "check failed" if row["check_ok"] is False else row["status"],
            row["median"] or -1.0,
            f"{row['flow']} -O{row['opt_level']}" if row["flow"] else "",
            row["note"] or row["error"] or "",
            str(row["compiled_for"] or ""),
            changes(row),
            tuple(row["tags"]),
            row["pinned"],
        )
        for row in ask(lambda store: queries.list_runs(store, queries.RunFilter(limit=_NEWEST)), [])
    )


def list_compilations(_request: ListCompilationsRequest, _report: Report) -> tuple[CompilationRow, ...]:
    """The newest compilations."""
    return tuple(
        CompilationRow(
            row["id"], moment(row["created"]), row["source"], row["target"],
            f"{row['target']} {row['flow']} -O{row['opt_level']}", row["seconds"], row["kernels"], changes(row),
        )
        for row in ask(lambda store: queries.list_compilations(store, limit=_NEWEST), [])
    )  # fmt: skip


def list_flows(_request: notebook.ListFlowsRequest, _report: Report) -> tuple[notebook.FlowTableRow, ...]:
    """The newest tables of flows."""
    return tuple(
        notebook.FlowTableRow(
            row["id"], moment(row["created"]), row["source"], row["target"],
            int(row["cells"] or 0) + int(row["starts"] or 0), int(row["repeats"] or 0),
        )
        for row in ask(lambda store: list_flow_tables(store, _NEWEST), [])
    )  # fmt: skip


def keep_flows(request: notebook.KeepFlowsRequest, _report: Report) -> int:
    """Keep a table of flows."""
    with open_store(None) as store:
        return keep_flow_table(store, request.document)


def open_flows(request: notebook.OpenFlowsRequest, _report: Report) -> dict[str, Any]:
    """A table of flows again."""
    with open_store(None, create=False) as store:
        return flow_table(store, request.number)


class _OnlyTried(Exception):
    """Ends a transaction that nothing is to come of."""


def edit_runs(request: notebook.EditRunsRequest, _report: Report) -> str:
    """Write on runs, or forget them; what was done, in words. Of a trial the database that it would be done in."""
    with open_store(request.database or None, create=False) as store:
        with contextlib.suppress(_OnlyTried), store.transaction():
            words = _edit(store, request)
            if not request.trial:
                return words
            raise _OnlyTried
        return str(store.path)


def _edit(store: Store, request: notebook.EditRunsRequest) -> str:
    numbers, text = list(request.numbers), request.text
    named = ", ".join(map(str, numbers))
    match request.what:
        case "note":
            for number in numbers:
                writer.note_run(store, number, text)
            return f"noted on run {named}"
        case "tag" | "untag":
            writer.tag_runs(store, numbers, text, remove=request.what == "untag")
            return f"put {text} on {named}" if request.what == "tag" else f"took {text} off {named}"
        case "pin" | "unpin":
            writer.pin_run(store, numbers[0], request.what == "pin")
            return f"run {numbers[0]} is {'the' if request.what == 'pin' else 'no longer the'} baseline of its source"
        case "delete":
            writer.delete_runs(store, numbers)
            return f"deleted run {named}"
        case "delete-compilations":
            writer.delete_compilations(store, numbers)
            return f"deleted compilation {named}"
        case _:
            delete_flow_tables(store, tuple(numbers))
            return f"deleted table of flows {named}"


def read_kernel_notes(request: notebook.KernelNotesRequest, _report: Report) -> dict[str, str]:
    """The notes on a source's kernels; none where nothing was kept yet."""
    return ask(lambda store: kernel_notes(store, request.source), {})


def write_kernel_note(request: notebook.NoteKernelRequest, _report: Report) -> dict[str, str]:
    """Write a note on a kernel; all the notes there are then."""
    with open_store(None) as store:
        note_kernel(store, request.source, request.kernel, request.text)
        return kernel_notes(store, request.source)


NOTEBOOK_JOBS: dict[type, Callable[[Any, Report], Any]] = {
    ListRunsRequest: list_runs,
    ListCompilationsRequest: list_compilations,
    notebook.ListFlowsRequest: list_flows,
    notebook.KeepFlowsRequest: keep_flows,
    notebook.OpenFlowsRequest: open_flows,
    notebook.EditRunsRequest: edit_runs,
    notebook.KernelNotesRequest: read_kernel_notes,
    notebook.NoteKernelRequest: write_kernel_note,
}
