"""Each request to a worker with what it is answered with: the types that messages between the two are read as."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, get_type_hints

from app.viewmodels import requests
from app.viewmodels.compilation import Compilation, LineText
from app.viewmodels.frame.devices import DeviceRow
from app.viewmodels.frame.weights import Weights, WeightsRequest
from app.viewmodels.graph.layout import Layout
from app.viewmodels.report.report_preview import ReportPreview
from app.viewmodels.runs import notebook, sweep
from app.viewmodels.runs.bisecting import Bisected, BisectProgress, BisectRequest
from app.viewmodels.runs.past import HistoryRequest, Past
from app.viewmodels.runs.serving import GenerateProgress, GenerateRequest, Served
from app.viewmodels.runs.tuning import TuneProgress, TuneRequest, TuneTold
from app.viewmodels.text.kernel_list import KernelListRequest
from app.viewmodels.text.passes import PassStep
from compiler.language.kernel import KernelEntry
from compiler.processes.frames import named

ANSWERS: dict[type, Any] = {
    requests.LayoutRequest: Layout,
    requests.CompileRequest: Compilation,
    requests.ReadRequest: str,
    requests.OpenRunRequest: tuple[Compilation, requests.RunTimes | None],
    requests.StageRequest: LineText,
    requests.StoredStageRequest: LineText,
    requests.PassesRequest: tuple[PassStep, ...],
    requests.FindRequest: tuple[requests.Hit, ...],
    requests.KeepRequest: int,
    WeightsRequest: Weights,
    KernelListRequest: tuple[KernelEntry, ...],
    requests.TimeEditRequest: requests.EditTiming,
    requests.RunRequest: requests.RunTimes,
    requests.ListRunsRequest: tuple[requests.RunRow, ...],
    requests.ListCompilationsRequest: tuple[requests.CompilationRow, ...],
    HistoryRequest: Past,
    notebook.ListFlowsRequest: tuple[notebook.FlowTableRow, ...],
    notebook.KeepFlowsRequest: int,
    notebook.OpenFlowsRequest: dict[str, Any],
    notebook.EditRunsRequest: str,
    notebook.KernelNotesRequest: dict[str, str],
    notebook.NoteKernelRequest: dict[str, str],
    sweep.SweepsRequest: tuple[str, ...],
    sweep.SweepRequest: sweep.SweepTold,
    requests.CompareRunsRequest: dict[str, Any],
    requests.AgainRequest: tuple[int, int],
    requests.ExportRequest: str,
    requests.FlowsRequest: tuple[str, int],
    GenerateRequest: tuple[Served, ...],
    BisectRequest: Bisected,
    TuneRequest: TuneTold,
    requests.CeilingsRequest: requests.CeilingsTold,
    requests.DevicesRequest: tuple[DeviceRow, ...],
    requests.RemoteDeviceRequest: DeviceRow,
    requests.StorageRequest: requests.StorageTold,
    requests.ReportRequest: ReportPreview,
}
REQUESTS = named(requests.Database, *ANSWERS)
PIECE = "."
"""Between the name of a request and that of a field of its answer, some entries of which are sent by themselves."""


def replies() -> dict[str, Any]:
    """What a worker may send: progress, failures, answers by the name of their request, and pieces of those."""
    known = named(
        requests.Progress, requests.FlowsBegun, requests.FlowProgress, requests.GraphPart, requests.KernelCome,
        GenerateProgress, BisectProgress, TuneProgress, requests.Failure,
    )  # fmt: skip
    for request, answer in ANSWERS.items():
        known[request.__name__] = answer
        for field, kind in get_type_hints(answer).items() if is_dataclass(answer) else ():
            known[f"{request.__name__}{PIECE}{field}"] = kind
    return known
