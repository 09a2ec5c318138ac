"""Reports inside a worker: the document of a run or of a comparison, as the preview shows it."""

from __future__ import annotations

from app.viewmodels.report.report_preview import ReportPreview, comparison_preview, run_preview
from app.viewmodels.requests import ReportRequest


def preview(request: ReportRequest) -> ReportPreview:
    """What the report of these runs will say."""
    from profiler.analysis.compare import compare_runs
    from profiler.report.document import comparison_document, run_document
    from profiler.store import open_store

    with open_store(None, create=False) as store:
        if len(request.runs) == 1:
            return run_preview(run_document(store, request.runs[0]))
        return comparison_preview(comparison_document(compare_runs(store, request.runs)), request.runs)
