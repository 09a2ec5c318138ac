"""Jobs on the database and on whole sources, inside a worker: lists, comparisons, exports, flows, ceilings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.viewmodels.requests import (
    CeilingsRequest,
    CompareRunsRequest,
    ExportRequest,
    FlowsRequest,
    ListRunsRequest,
    Progress,
    RunRow,
)


def answer(request: Any, report: Callable[[Progress], None]) -> Any:
    """The answer to a request that needs no compilation at hand."""
    match request:
        case ListRunsRequest():
            return _runs(request.limit)
        case CompareRunsRequest():
            return _compare(request.runs)
        case ExportRequest():
            return _export(request)
        case FlowsRequest():
            return _flows(request, report)
        case CeilingsRequest():
            return _ceilings(report)
    raise TypeError(f"unknown request {request!r}")


def _runs(limit: int) -> tuple[RunRow, ...]:
    from profiler.store import default_path, open_store, queries

    if not default_path().exists():
        return ()
    with open_store(None, create=False) as store:
        rows = queries.list_runs(store, queries.RunFilter(limit=limit))
    return tuple(
        RunRow(
            row["id"],
            str(row["started"])[:19].replace("T", " "),
            row["source"],
            row["device"],
            row["status"],
            row["median"] or -1.0,
            row["low"] or -1.0,
            row["high"] or -1.0,
            f"{row['flow']} -O{row['opt_level']}" if row["flow"] else "",
            " ".join([*row["tags"], row["note"] or row["error"] or ""]).strip(),
        )
        for row in rows
    )


def _compare(runs: tuple[int, ...]) -> dict[str, Any]:
    from profiler.compare import compare_runs
    from profiler.report.document import comparison_document
    from profiler.store import open_store

    with open_store(None, create=False) as store:
        return comparison_document(compare_runs(store, runs))


def _export(request: ExportRequest) -> str:
    from compiler.errors import ExecutionError
    from profiler.compare import compare_runs
    from profiler.report.write import export_comparison, export_run
    from profiler.store import open_store

    with open_store(None, create=False) as store:
        if len(request.runs) == 1:
            text = export_run(store, request.runs[0], request.kind)
        else:
            text = export_comparison(compare_runs(store, request.runs), request.kind)
    try:
        Path(request.path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ExecutionError(f"cannot write {request.path}: {error.strerror or error}") from None
    return request.path


def _flows(request: FlowsRequest, report: Callable[[Progress], None]) -> dict[str, Any]:
    from app import flow_tables
    from app.flow_cells import Request, cells, measure
    from compiler.backend.runtime import default_threads
    from profiler.machine import this_machine

    wanted = cells(list(request.levels), request.debugs, start_up=False)
    done = 0

    def progress(words: str) -> None:
        nonlocal done
        done += 1
        report(Progress(f"flows: {words}", min(done / (len(wanted) * request.repeat + 1), 0.99)))

    measured = measure(Request(request.source, request.target, None, None), wanted, request.repeat, progress)
    return flow_tables.document(measured, this_machine().name, default_threads())


def _ceilings(report: Callable[[Progress], None]) -> tuple[tuple[str, float, str], ...]:
    from profiler.ceilings import measured_ceilings
    from profiler.store import open_store

    with open_store(None) as store:
        found = measured_ceilings(store, progress=lambda words: report(Progress(f"measuring {words}", -1.0)))
    return tuple((c.name, c.value, c.unit) for c in found)
