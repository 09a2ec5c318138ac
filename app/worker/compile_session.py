"""One compilation inside a worker process: compiles, then answers for its stages, passes and runs."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from app.sources import Source, is_text, load_source, source_path
from app.viewmodels import requests
from app.viewmodels.compilation import (
    KERNEL_STAGES,
    MODEL_SOURCE,
    MODEL_STAGES,
    READ_STAGES,
    STAGE_TITLES,
    Compilation,
    LineText,
)
from app.viewmodels.frame.patterns import compile_pattern
from app.viewmodels.frame.weights import Weights, WeightsRequest
from app.viewmodels.text.finding import hits
from app.viewmodels.text.kernel_list import KernelListRequest
from app.viewmodels.text.passes import PassStep
from app.viewmodels.text.text_document import index_text, line_text
from app.worker import extract
from app.worker.compile_progress import CompileProgress
from app.worker.pass_steps import PassSteps
from compiler.errors import CompilerError, UnavailableError
from compiler.language.kernel import KernelEntry
from compiler.options import CompileOptions
from compiler.temporary import temporary_folder
from profiler.records import StageRecord


class CompileSession:
    """A compiled model and the source it came from; or, for `reading`, a source whose texts are made one by one."""

    def __init__(self, request: requests.CompileRequest, report: requests.Report, reading: bool = False) -> None:
        from compiler import load_library
        from compiler.import_time import without_imports

        self._request = request
        self._steps: dict[str, PassSteps] = {}
        self._number, self._kept = 0, False  # where the compilation is in the database
        self._texts: list[StageRecord] | None = None
        report(requests.Progress("loading the source", 0.0))
        source = _load(request)
        self._source = replace(source, library_paths=(*source.library_paths, *map(Path, request.libraries)))
        if request.preview and not reading:
            self._show_graph(report)
        report(requests.Progress("loading kernels", 0.02))
        self._library = load_library(*self._source.library_paths)
        self._models: dict[str, Any] = {}  # compiled, by target
        self._read: dict[str, Any] = {}  # only fused, by target: enough for a kernel's text
        self._reading, self._seconds = reading, 0.0
        if reading:
            return
        if request.tuned:
            from profiler.tuning.kept import with_kept

            request = replace(request, options=with_kept(request.options, lambda: self._library))
            self._request = request
        watch = CompileProgress(report)
        with without_imports() as took:
            self._models[request.options.target] = self._compile(request.options, watch)
        self._seconds, self._took = took.seconds, took

    def _show_graph(self, report: requests.Report) -> None:
        """The graph as it is before anything is compiled, in parts that are quick to read."""
        nodes = extract.graph_nodes(self._source.graph, {}, self._source.dims, self._source.graph.modules)
        name, most = self._source.name, 500
        for at in range(0, max(len(nodes), 1), most):
            part = nodes[at : at + most]
            report(requests.GraphPart("graph built", 0.02, name, part, at + most >= len(nodes)))

    def _compile(self, options: CompileOptions, watch: Any = None) -> Any:
        from compiler.pipeline import compile_graph

        return compile_graph(self._source.graph, options, self._library, watch)

    @property
    def _model(self) -> Any:
        return self._for("")

    def records(self) -> Compilation:
        """Everything but the stage texts."""
        model = self._model
        begun = model.trace.begun  # the compiler itself may be loaded before: that is no part of the trace
        imports = tuple((start - begun, taken) for start, taken in self._took.spans if start >= begun)
        dims = {name: self._source.dims[name] for name in model.symbols if name in self._source.dims}
        blocks, peak, note = extract.memory_blocks(model, dims)
        return Compilation(
            source=self._request.source,
            path=str(source_path(self._request.source) or ""),
            name=self._source.name,
            choices=replace(self._request.options, tuned=()),
            dims=tuple(dims.items()),
            nodes=extract.node_records(model, dims, self._source.graph.modules),
            calls=extract.call_records(model, dims),
            kernels=tuple(extract.kernel_record(kernel) for kernel in model.kernels),
            passes=tuple(model.trace.passes),
            ledger=tuple(extract.decision(entry, dims) for entry in model.ledger),
            blocks=blocks,
            peak=peak,
            plan_note=note,
            unsized=tuple(name for name in model.symbols if name not in dims),
            seconds=self._seconds,
            library=tuple(file.file for file in self._library.files),
            elapsed=self._seconds + sum(taken for _, taken in imports),
            imports=imports,
            tuned=self._tuned,
        )

    @property
    def _tuned(self) -> tuple[tuple[str, str], ...]:
        """Kernels that are as they were tuned, and how."""
        if not self._request.options.tuned:
            return ()
        from profiler.tuning.records import choice_words

        return tuple((name, choice_words(tuple(chosen.items()))) for name, chosen in self._model.tuned.items())

    def stage(self, request: requests.StageRequest, report: requests.Report = lambda _: None) -> LineText:
        """The text of a stage, of one kernel or of the model; for another target just that kernel is compiled."""
        if request.stage in READ_STAGES:
            return self._written(request)
        model = self._for(request.target, request.stage, report)
        if request.stage in MODEL_STAGES or not request.kernel:
            stage = model.stage(request.stage)
            return line_text(stage.text, stage.nodes)
        name = self._counterpart(model, request.kernel)
        report(requests.Progress(f"{STAGE_TITLES[request.stage]} of {name}", 0.7))
        found = self._text_of(model, name, request)
        return found if name == request.kernel else replace(found, kernel=name)

    def _text_of(self, model: Any, name: str, request: requests.StageRequest) -> LineText:
        if request.step >= 0:
            return self._passes(request.target).text(name, request.step)
        if request.stage == "source":
            kernel = model.kernel(name)
            lines = range(1, len(kernel.source.splitlines()) + 1)
            return line_text(kernel.source, extract.source_nodes(kernel), [(f"{name}.py", line) for line in lines])
        stage = extract.kernel_text(model, name, request.stage)
        return line_text(stage.text, stage.nodes, stage.places, stage.library)

    def _written(self, request: requests.StageRequest) -> LineText:
        """A text that somebody wrote: the model's source with the nodes each line made, or a file of the library."""
        if request.stage == MODEL_SOURCE:
            path = source_path(self._request.source)
            if path is None or not is_text(path):
                raise UnavailableError(f"{self._source.name} is no text")
            text = self._request.text
            text = path.read_text(encoding="utf-8", errors="replace") if text is None else text
            made: dict[int, list[str]] = {}
            for node, (file, line) in self._source.graph.places.items():
                if Path(file).name == path.name:
                    made.setdefault(line, []).append(node)
            lines = range(1, len(text.splitlines()) + 1)
            nodes = tuple(tuple(made.get(line, ())) for line in lines)
            return line_text(text, nodes, [(str(path), line) for line in lines])
        for file in self._library.files:
            if file.file == request.kernel:
                lines = range(1, len(file.text.splitlines()) + 1)
                return line_text(file.text, ((),) * len(lines), [(file.file, line) for line in lines])
        raise CompilerError(f"the kernel library has no file {request.kernel}")

    def passes(self, request: requests.PassesRequest, report: requests.Report) -> tuple[PassStep, ...]:
        """Every pass of one kernel."""
        name = self._counterpart(self._for(request.target), request.kernel)
        return self._passes(request.target).steps(name, report)

    def find(self, request: requests.FindRequest, report: requests.Report) -> tuple[requests.Hit, ...]:
        """Matches in every stage of a kernel, or in the model's stages."""
        stages = KERNEL_STAGES if request.kernel else MODEL_STAGES
        pattern = compile_pattern(request.pattern)
        found: list[requests.Hit] = []
        for stage in stages:
            document = index_text(self.stage(requests.StageRequest(stage, request.kernel)))
            found += hits(document, pattern, stage, request.kernel, request.most)
        return tuple(found)

    def library_kernels(self, request: KernelListRequest, report: requests.Report) -> tuple[KernelEntry, ...]:
        """What the kernel library has, those of the user's folders first."""
        from compiler.language.catalogue import entries_of
        from compiler.language.library import default_library

        shipped = {file.file for file in default_library().files}
        own = {file.file for file in self._library.files} - shipped
        return tuple(entries_of(self._library, own))

    def keep(self, request: requests.KeepRequest, report: requests.Report) -> int:
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

    def weights(self, request: WeightsRequest, report: requests.Report) -> Weights:
        """What a constant holds, in figures."""
        from app.worker.weights import weights_of

        return weights_of(self._model.graph, request.node)

    def time_edit(self, request: requests.TimeEditRequest, report: requests.Report) -> requests.EditTiming:
        """Time a kernel as generated and as edited."""
        from app.worker.timing import time_edit

        return time_edit(self._source, self._request, request, report)

    def _for(self, target: str, stage: str = "", report: requests.Report = lambda _: None) -> Any:
        """The model for a target: compiled where it is this session's own or its host program is asked for."""
        own = self._request.options
        target = target or own.target
        if target in self._models:
            return self._models[target]
        options = replace(own, target=target)
        if stage == "mgp":
            self._models[target] = self._compile(options, CompileProgress(report))
            return self._models[target]
        if target not in self._read:
            from compiler.reading import read_graph

            def watch(_stage: str, name: str, _kernel: str) -> None:
                report(requests.Progress(f"fusing for {target}: {name}", 0.1))

            self._read[target] = read_graph(self._source.graph, options, self._library, watch)
        return self._read[target]

    def _passes(self, target: str) -> PassSteps:
        model = self._for(target)
        return self._steps.setdefault(model.target.name, PassSteps(model))

    def _counterpart(self, model: Any, name: str) -> str:
        """The kernel of another target's model that computes most of the same; fusion may have cut it differently
        there, and a name of ours may be another kernel's."""
        if model is self._model:
            return name
        wanted = set(self._model.kernel(name).nodes)
        return max(model.kernels, key=lambda kernel: (len(wanted & set(kernel.nodes)), kernel.name == name)).name

    def run(self, request: requests.RunRequest, report: requests.Report) -> requests.RunTimes:
        """Measure through the profiler, with the same cuts and edits, and keep the run."""
        from app.worker.measuring import measure_source
        from profiler.model_records import find_out

        name, options = self._request.source, self._request.options
        known = partial(find_out, self._model)
        return measure_source(self._source, name, options, request, report, self._stages, known)


def _load(request: requests.CompileRequest) -> Source:
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
