"""One compilation inside a worker process: compiles, then answers for its stages, passes and runs."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.sources import Source, is_text, load_source, source_path
from app.viewmodels.compilation import KERNEL_STAGES, MODEL_STAGES, Compilation, LineText
from app.viewmodels.frame.patterns import compile_pattern
from app.viewmodels.frame.weights import Weights, WeightsRequest
from app.viewmodels.requests import (
    CompileRequest,
    EditTiming,
    FindRequest,
    Hit,
    KeepRequest,
    PassesRequest,
    Progress,
    Report,
    RunRequest,
    RunTimes,
    StageRequest,
    TimeEditRequest,
)
from app.viewmodels.text.finding import hits
from app.viewmodels.text.passes import PassStep
from app.viewmodels.text.text_document import index_text, line_text
from app.worker.compile_progress import CompileProgress
from app.worker.extract import call_records, decision, kernel_record, memory_blocks, node_records
from app.worker.pass_steps import PassSteps
from compiler.options import CompileOptions
from compiler.temporary import temporary_folder
from profiler.records import StageRecord


class CompileSession:
    """A compiled model and the source it came from."""

    def __init__(self, request: CompileRequest, report: Report) -> None:
        from compiler import load_library
        from compiler.import_time import without_imports

        self._request = request
        self._steps: dict[str, PassSteps] = {}
        self._number, self._kept = 0, False  # where the compilation is in the database
        self._texts: list[StageRecord] | None = None
        report(Progress("loading the source", 0.0))
        self._source = _load(request)
        report(Progress("loading kernels", 0.03))
        self._library = load_library(*self._source.library_paths)
        watch = CompileProgress(report, request.options.flow)
        with without_imports() as took:
            self._models = {request.options.target: self._compile(request.options, watch)}
        self._seconds = took.seconds

    def _compile(self, options: CompileOptions, watch: Any = None) -> Any:
        from compiler.pipeline import compile_graph

        return compile_graph(self._source.graph, options, self._library, watch)

    @property
    def _model(self) -> Any:
        return self._models[self._request.options.target]

    def records(self) -> Compilation:
        """Everything but the stage texts."""
        model = self._model
        dims = {name: self._source.dims[name] for name in model.symbols if name in self._source.dims}
        blocks, peak, note = memory_blocks(model, dims)
        return Compilation(
            source=self._request.source,
            path=str(source_path(self._request.source) or ""),
            name=self._source.name,
            choices=self._request.options,
            dims=tuple(dims.items()),
            nodes=node_records(model, dims, self._source.graph.modules),
            calls=call_records(model, dims),
            kernels=tuple(kernel_record(kernel) for kernel in model.kernels),
            passes=tuple(model.trace.passes),
            ledger=tuple(decision(entry, dims) for entry in model.ledger),
            blocks=blocks,
            peak=peak,
            plan_note=note,
            unsized=tuple(name for name in model.symbols if name not in dims),
            seconds=self._seconds,
        )

    def stage(self, request: StageRequest, report: Report = lambda _: None) -> LineText:
        """The text of a stage, of one kernel or of the model; another target is compiled when first asked for."""
        model = self._for(request.target)
        if request.stage in MODEL_STAGES or not request.kernel:
            stage = model.stage(request.stage)
            return line_text(stage.text, stage.nodes)
        name = self._counterpart(model, request.kernel)
        if request.step >= 0:
            return self._passes(request.target).text(name, request.step)
        if request.stage == "source":
            kernel = kernel_record(model.kernel(name))
            return line_text(kernel.source, kernel.source_nodes)
        stage = model.kernel(name).stage(request.stage)
        return line_text(stage.text, stage.nodes)

    def passes(self, request: PassesRequest, report: Report) -> tuple[PassStep, ...]:
        """Every pass of one kernel."""
        name = self._counterpart(self._for(request.target), request.kernel)
        return self._passes(request.target).steps(name, report)

    def find(self, request: FindRequest, report: Report) -> tuple[Hit, ...]:
        """Matches in every stage of a kernel, or in the model's stages."""
        stages = KERNEL_STAGES if request.kernel else MODEL_STAGES
        pattern = compile_pattern(request.pattern)
        found: list[Hit] = []
        for stage in stages:
            document = index_text(self.stage(StageRequest(stage, request.kernel)))
            found += hits(document, pattern, stage, request.kernel, request.most)
        return tuple(found)

    def keep(self, request: KeepRequest, report: Report) -> int:
        """Put the compilation into the database; its number there."""
        from profiler.recording import record_compilation
        from profiler.store import open_store, writer

        libraries = tuple(str(folder) for folder in self._source.library_paths)
        with open_store(None) as store:
            if not self._number:
                self._number = record_compilation(store, self._model, self._request.source, self._seconds, libraries)
            if request.stages and not self._kept:
                writer.add_stages(store, self._number, self._stages())
                self._kept = True
        return self._number

    def _stages(self) -> list[StageRecord]:
        """The IR of every stage, to be kept; made once, as that takes about as long as compiling."""
        if self._texts is None:
            from profiler.model_records import stage_records

            self._texts = stage_records(self._model)
        return self._texts

    def weights(self, request: WeightsRequest, report: Report) -> Weights:
        """What a constant holds, in figures."""
        from app.worker.weights import weights_of

        return weights_of(self._model.graph, request.node)

    def time_edit(self, request: TimeEditRequest, report: Report) -> EditTiming:
        """Time a kernel as generated and as edited."""
        from app.worker.timing import time_edit

        return time_edit(self._source, self._request, request.kernel, request.pairs, report)

    def _for(self, target: str) -> Any:
        target = target or self._request.options.target
        if target not in self._models:
            self._models[target] = self._compile(replace(self._request.options, target=target))
        return self._models[target]

    def _passes(self, target: str) -> PassSteps:
        model = self._for(target)
        return self._steps.setdefault(model.target.name, PassSteps(model))

    def _counterpart(self, model: Any, name: str) -> str:
        """The kernel of another target's model that computes the same; fusion may have cut it differently there."""
        if model is self._model or any(kernel.name == name for kernel in model.kernels):
            return name
        wanted = set(self._model.kernel(name).nodes)
        return max(model.kernels, key=lambda kernel: len(wanted & set(kernel.nodes))).name

    def run(self, request: RunRequest, report: Report) -> RunTimes:
        """Measure through the profiler, with the same cuts and edits, and keep the run."""
        from app.worker.measuring import measure_source

        name, options = self._request.source, self._request.options
        return measure_source(self._source, name, options, request, report, self._stages)


def _load(request: CompileRequest) -> Source:
    """The source, or the edited text in its place, loaded from a file beside it so that its imports still work."""
    path = source_path(request.source)
    if request.text is None or path is None or not is_text(path):
        return load_source(request.source)
    with temporary_folder("edited") as folder:
        edited = Path(folder) / path.name
        edited.write_text(request.text, encoding="utf-8")
        for sibling in path.parent.iterdir():
            if sibling.is_dir() and not sibling.name.startswith((".", "__")):
                with contextlib.suppress(OSError):
                    (Path(folder) / sibling.name).symlink_to(sibling.resolve(), target_is_directory=True)
        source = load_source(str(edited))
        kept = tuple(folder.resolve() for folder in source.library_paths)
        return replace(source, name=path.stem.replace("_", "-"), library_paths=kept)
