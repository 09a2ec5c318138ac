"""Each request to a worker with what it is answered with: the types that messages between the two are read as."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, get_type_hints

from app.viewmodels.compilation import Compilation, LineText
from app.viewmodels.frame.devices import DeviceRow
from app.viewmodels.graph.layout import Layout
from app.viewmodels.report.report_preview import ReportPreview
from app.viewmodels.requests import (
    CeilingsRequest,
    CeilingsTold,
    CompareRunsRequest,
    CompilationRow,
    CompileRequest,
    Database,
    DevicesRequest,
    EditTiming,
    ExportRequest,
    Failure,
    FindRequest,
    FlowProgress,
    FlowsBegun,
    FlowsRequest,
    Hit,
    KeepRequest,
    LayoutRequest,
    ListCompilationsRequest,
    ListRunsRequest,
    OpenRunRequest,
    PassesRequest,
    Progress,
    ReportRequest,
    RunRequest,
    RunRow,
    RunTimes,
    StageRequest,
    StorageRequest,
    StorageTold,
    StoredStageRequest,
    TimeEditRequest,
)
from app.viewmodels.text.passes import PassStep
from compiler.processes.frames import named

ANSWERS: dict[type, Any] = {
    LayoutRequest: Layout,
    CompileRequest: Compilation,
    OpenRunRequest: tuple[Compilation, RunTimes],
    StageRequest: LineText,
    StoredStageRequest: LineText,
    PassesRequest: tuple[PassStep, ...],
    FindRequest: tuple[Hit, ...],
    KeepRequest: int,
    TimeEditRequest: EditTiming,
    RunRequest: RunTimes,
    ListRunsRequest: tuple[RunRow, ...],
    ListCompilationsRequest: tuple[CompilationRow, ...],
    CompareRunsRequest: dict[str, Any],
    ExportRequest: str,
    FlowsRequest: tuple[str, int],
    CeilingsRequest: CeilingsTold,
    DevicesRequest: tuple[DeviceRow, ...],
    StorageRequest: StorageTold,
    ReportRequest: ReportPreview,
}
REQUESTS = named(Database, *ANSWERS)
PIECE = "."
"""Between the name of a request and that of a field of its answer, some entries of which are sent by themselves."""


def replies() -> dict[str, Any]:
    """What a worker may send: progress, failures, answers by the name of their request, and pieces of those."""
    known = named(Progress, FlowsBegun, FlowProgress, Failure)
    for request, answer in ANSWERS.items():
        known[request.__name__] = answer
        for field, kind in get_type_hints(answer).items() if is_dataclass(answer) else ():
            known[f"{request.__name__}{PIECE}{field}"] = kind
    return known
