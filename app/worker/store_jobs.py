"""Jobs on the database, inside a worker: lists, comparisons, texts, exports, reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.viewmodels import requests
from app.viewmodels.compilation import MODEL_STAGES, READ_STAGES, LineText
from app.viewmodels.report.report_preview import ReportPreview, comparison_preview, run_preview
from app.viewmodels.runs.past import HistoryRequest, Past
from app.viewmodels.text.text_document import line_text
from app.worker.machine_jobs import MACHINE_JOBS
from app.worker.notebook_jobs import NOTEBOOK_JOBS
from app.worker.sweep_jobs import SWEEP_JOBS
from compiler.errors import CompilerError, ExecutionError
from profiler.store import default_path, open_store, queries


def answer(request: Any, report: requests.Report) -> Any:
    """The answer to a request that needs no compilation at hand."""
    return _JOBS[type(request)](request, report)


def _compare(request: requests.CompareRunsRequest, _report: requests.Report) -> dict[str, Any]:
    from profiler.analysis.compare import compare_compilations, compare_runs
    from profiler.report.document import comparison_document

    with open_store(None, create=False) as store:
        if request.compilations:
            return comparison_document(compare_compilations(store, request.compilations))
        return comparison_document(compare_runs(store, request.runs))


def stored_stage(
    compilation: int, stage: str, kernel: str, database: Path | None = None, readonly: bool = False
) -> LineText:
    """The text of a stage of a stored compilation, where it was kept; the window's database is the usual one."""
    if stage in READ_STAGES:
        raise CompilerError(f"the {READ_STAGES[stage].lower()} is not kept with a compilation; open its source")
    kernel = "" if stage in MODEL_STAGES else kernel
    with open_store(database, create=False, readonly=readonly) as store:
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


def _history(request: HistoryRequest, _report: requests.Report) -> Past:
    """The history of a source; why there is none is an answer too."""
    from profiler.analysis.history import history

    if not default_path().exists():
        return Past(request.source, request.by, note="nothing has been run yet")
    with open_store(None, create=False) as store:
        try:
            return Past(request.source, request.by, history(store, request.source, by=request.by))
        except ExecutionError as error:
            return Past(request.source, request.by, note=error.message)


def _export(request: requests.ExportRequest, _report: requests.Report) -> str:
    from app.files import write_whole
    from profiler.analysis.compare import compare_runs
    from profiler.report.write import export_comparison, export_run

    with open_store(None, create=False) as store:
        if len(request.runs) == 1:
            text = export_run(store, request.runs[0], request.kind)
        else:
            text = export_comparison(compare_runs(store, request.runs), request.kind)
    write_whole(request.path, text)
    return request.path


def _preview(request: requests.ReportRequest, _report: requests.Report) -> ReportPreview:
    """What the report of these runs will say."""
    from profiler.analysis.compare import compare_runs
    from profiler.report.document import comparison_document, run_document

    with open_store(None, create=False) as store:
        if len(request.runs) == 1:
            return run_preview(run_document(store, request.runs[0]))
        return comparison_preview(comparison_document(compare_runs(store, request.runs)), request.runs)


def _stage(request: requests.StoredStageRequest, _report: requests.Report) -> LineText:
    return stored_stage(request.compilation, request.stage, request.kernel)


_JOBS: dict[type, Callable[[Any, requests.Report], Any]] = {
    requests.CompareRunsRequest: _compare,
    HistoryRequest: _history,
    requests.StoredStageRequest: _stage,
    requests.ExportRequest: _export,
    requests.ReportRequest: _preview,
    **NOTEBOOK_JOBS,
    **SWEEP_JOBS,
    **MACHINE_JOBS,
}
