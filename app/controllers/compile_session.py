"""One compilation inside a worker process: compiles, then answers for its stages, passes and runs."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.controllers.extract import call_records, decision, kernel_record, memory_blocks, node_records, pass_row
from app.sources import Source, load_source
from app.viewmodels.compilation import MODEL_STAGES, Compilation, CompileChoices, LineText, PassRow
from app.viewmodels.requests import CompileRequest, Progress, RunRequest, RunResult, StageRequest
from app.viewmodels.text_document import line_text
from compiler.pipeline import CompileOptions

Report = Callable[[Progress], None]
_STAGE_WORDS = {
    "mo": "graph passes",
    "mogg": "fusion",
    "kgen": "elaboration",
    "kernel": "kernel passes",
    "llvm": "LLVM IR",
    "machine": "LLVM optimising and emitting",
    "link": "linking",
}
# Where each stage usually lies in the whole, so that the bar moves honestly rather than evenly.
_STAGE_SHARE = {"mo": 0.05, "mogg": 0.08, "kgen": 0.15, "kernel": 0.4, "llvm": 0.45, "machine": 0.5, "link": 0.97}


class CompileSession:
    """A compiled model and the source it came from."""

    def __init__(self, request: CompileRequest, report: Report) -> None:
        from compiler import load_library

        self._request = request
        report(Progress("loading the source", 0.0))
        self._source = _load(request)
        report(Progress("loading kernels", 0.03))
        self._library = load_library(*self._source.library_paths)
        start = time.perf_counter()
        with _progress_by_pass(report):
            self._models = {request.choices.target: self._compile(request.choices)}
        self._seconds = time.perf_counter() - start

    def _compile(self, choices: CompileChoices) -> Any:
        from compiler.session import compile_graph

        options = CompileOptions(
            target=choices.target,
            flow=choices.flow,
            opt_level=choices.opt_level,
            debug="line-tables",
            fuse=choices.fuse,
            force_cut=frozenset(choices.force_cut),
            force_fuse=frozenset(choices.force_fuse),
            sources=choices.sources,
        )
        return compile_graph(self._source.graph, options, self._library)

    @property
    def _model(self) -> Any:
        return self._models[self._request.choices.target]

    def records(self) -> Compilation:
        """Everything but the stage texts."""
        model = self._model
        dims = {name: self._source.dims[name] for name in model.symbols if name in self._source.dims}
        blocks, peak, note = memory_blocks(model, dims)
        nodes = node_records(model, dims)
        return Compilation(
            source=self._request.source,
            path=str(_path_of(self._request.source) or ""),
            name=self._source.name,
            choices=self._request.choices,
            dims=tuple(dims.items()),
            nodes=nodes,
            calls=call_records(model, dims, nodes),
            kernels=tuple(kernel_record(kernel) for kernel in model.kernels),
            passes=tuple(pass_row(record) for record in model.trace.passes),
            ledger=tuple(decision(entry, dims) for entry in model.ledger),
            blocks=blocks,
            peak=peak,
            plan_note=note,
            seconds=self._seconds,
        )

    def stage(self, request: StageRequest) -> LineText:
        """The text of a stage, of one kernel or of the model; another target is compiled when first asked for."""
        target = request.target or self._request.choices.target
        if target not in self._models:
            self._models[target] = self._compile(replace(self._request.choices, target=target))
        model = self._models[target]
        if request.stage == "source":
            kernel = kernel_record(model.kernel(request.kernel))
            return line_text(kernel.source, kernel.source_nodes)
        owner = model if request.stage in MODEL_STAGES or not request.kernel else model.kernel(request.kernel)
        stage = owner.stage(request.stage)
        return line_text(stage.text, stage.nodes)

    def llvm_passes(self) -> tuple[PassRow, ...]:
        """LLVM's own passes, by kernel; they have a length but no place on the clock, so they are laid end to end."""
        rows = []
        for kernel in self._model.kernels:
            at = 0.0
            for entry in kernel.unit.pass_times:
                rows.append(PassRow(entry.name, "llvm-pass", kernel.name, at, entry.seconds))
                at += entry.seconds
        return tuple(rows)

    def run(self, request: RunRequest, report: Report) -> RunResult:
        """Measure through the profiler and keep the run; a what-if of single edges is timed here and not kept."""
        choices = self._request.choices
        if choices.force_cut or choices.force_fuse:
            from app.controllers.timing import run_model

            return run_model(self._model, {**self._source.dims, **dict(request.dims)}, request, report)
        from app.controllers.measuring import measure_source

        return measure_source(self._source, self._request.source, choices, request, report)


def _load(request: CompileRequest) -> Source:
    """The source, or the edited text in its place, loaded from a file beside it so that its imports still work."""
    path = _path_of(request.source)
    if request.text is None or path is None:
        return load_source(request.source)
    with tempfile.TemporaryDirectory() as folder:
        edited = Path(folder) / path.name
        edited.write_text(request.text, encoding="utf-8")
        for sibling in path.parent.iterdir():
            if sibling.is_dir() and not sibling.name.startswith((".", "__")):
                with contextlib.suppress(OSError):
                    (Path(folder) / sibling.name).symlink_to(sibling.resolve(), target_is_directory=True)
        source = load_source(str(edited))
        kept = tuple(folder.resolve() for folder in source.library_paths)
        return replace(source, name=path.stem.replace("_", "-"), library_paths=kept)


def _path_of(source: str) -> Path | None:
    from app.sources import samples

    if source.startswith("sample:"):
        name = source.split(":")[1]
        return next((sample.path for sample in samples() if sample.name == name), None)
    return Path(source)


@contextlib.contextmanager
def _progress_by_pass(report: Report) -> Iterator[None]:
    """Report each pass as it begins. This process compiles one thing at a time, so watching the trace class is safe."""
    from compiler.trace import Trace

    original = Trace.span

    def span(self: Trace, name: str, stage: str, kernel: str = "") -> Any:
        words = _STAGE_WORDS.get(stage, stage)
        report(Progress(f"{words}: {kernel or name}", _STAGE_SHARE.get(stage, -1.0)))
        return original(self, name, stage, kernel)

    Trace.span = span  # type: ignore[method-assign]
    try:
        yield
    finally:
        Trace.span = original  # type: ignore[method-assign]
