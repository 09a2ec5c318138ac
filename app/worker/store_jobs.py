"""Jobs on the database and on whole sources, inside a worker: lists, comparisons, exports, flows, ceilings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.viewmodels.compilation import MODEL_STAGES, LineText
from app.viewmodels.requests import (
    CeilingsRequest,
    CompareRunsRequest,
    CompilationRow,
    DevicesRequest,
    ExportRequest,
    FlowsRequest,
    ListCompilationsRequest,
    ListRunsRequest,
    Progress,
    ReportRequest,
    RunRow,
    StorageRequest,
    StoredStageRequest,
)
from app.viewmodels.text.text_document import line_text


def answer(request: Any, report: Callable[[Progress], None]) -> Any:
    """The answer to a request that needs no compilation at hand."""
    match request:
        case ListRunsRequest():
            return _runs(request.limit)
        case CompareRunsRequest():
            return _compare(request)
        case ListCompilationsRequest():
            return _compilations(request.limit)
        case StoredStageRequest():
            return stored_stage(request.compilation, request.stage, request.kernel)
        case ExportRequest():
            return _export(request)
        case FlowsRequest():
            from app.worker.flow_jobs import measure_flows

            return measure_flows(request, report)
        case CeilingsRequest() | DevicesRequest() | StorageRequest():
            from app.worker import machine_jobs

            return machine_jobs.answer(request, report)
        case ReportRequest():
            from app.worker.report_jobs import preview

            return preview(request)
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


def _compilations(limit: int) -> tuple[CompilationRow, ...]:
    from profiler.store import default_path, open_store, queries

    if not default_path().exists():
        return ()
    with open_store(None, create=False) as store:
        rows = queries.list_compilations(store, limit=limit)
    return tuple(
        CompilationRow(
            row["id"], str(row["created"])[:19].replace("T", " "), row["source"], row["target"],
            f"{row['target']} {row['flow']} -O{row['opt_level']}", row["seconds"], row["kernels"],
        )
        for row in rows
    )  # fmt: skip


def _compare(request: CompareRunsRequest) -> dict[str, Any]:
    from profiler.analysis.compare import compare_compilations, compare_runs
    from profiler.report.document import comparison_document
    from profiler.store import open_store

    with open_store(None, create=False) as store:
        if request.compilations:
            return comparison_document(compare_compilations(store, request.compilations))
        return comparison_document(compare_runs(store, request.runs))


def stored_stage(compilation: int, stage: str, kernel: str, database: Path | None = None) -> LineText:
    """The text of a stage of a stored compilation, where it was kept; the window's database is the usual one."""
    from compiler.errors import CompilerError
    from profiler.store import open_store, queries

    kernel = "" if stage in MODEL_STAGES else kernel
    with open_store(database, create=False) as store:
        if stage == "source":
            known = {record.name: record for record in queries.kernels(store, compilation)}
            if kernel not in known:
                raise CompilerError(f"compilation {compilation} has no kernel {kernel}")
            source = known[kernel].source  # which line came from which node is not kept with it
            return line_text(source, ((),) * len(source.splitlines()))
        found = queries.stage(store, compilation, kernel, stage)
    if found is None:
        raise CompilerError(f"the {stage} of {kernel or 'the model'} was not kept with compilation {compilation}")
    return line_text(found.text, found.line_nodes)


def _export(request: ExportRequest) -> str:
    from app.files import write_whole
    from profiler.analysis.compare import compare_runs
    from profiler.report.write import export_comparison, export_run
    from profiler.store import open_store

    with open_store(None, create=False) as store:
        if len(request.runs) == 1:
            text = export_run(store, request.runs[0], request.kind)
        else:
            text = export_comparison(compare_runs(store, request.runs), request.kind)
    write_whole(request.path, text)
    return request.path
