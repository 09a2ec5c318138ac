"""A stored run inside a worker: answers as a compilation does, from the database, with nothing compiled."""

from __future__ import annotations

from typing import Any

from app.controllers.extract import graph_nodes
from app.controllers.measuring import spans_of
from app.viewmodels.compilation import (
    MODEL_STAGES,
    CallRecord,
    Compilation,
    CompileChoices,
    Decision,
    KernelRecord,
    LineText,
    PassRow,
)
from app.viewmodels.requests import RunRequest, RunResult, StageRequest
from app.viewmodels.text_document import line_text
from compiler.errors import CompilerError
from profiler.records import WHOLE
from profiler.store import open_store, queries


class StoredSession:
    """One run of the database and the compilation it belongs to."""

    def __init__(self, run: int) -> None:
        self._run = run
        with open_store(None, create=False) as store:
            self._row = queries.run_row(store, run)
            if self._row["compilation"] is None:
                raise CompilerError(
                    f"run {run} has no compilation to show: {self._row['error'] or self._row['status']}"
                )
            self._number = int(self._row["compilation"])

    def records(self) -> tuple[Compilation, RunResult]:
        """The compilation and the run as the views know them."""
        from compiler.importers.mlir_text import parse_graph

        with open_store(None, create=False) as store:
            row = queries.compilation_row(store, self._number)
            launches = queries.launches(store, self._run)
            samples = queries.run_samples(store, self._run)
            trace = queries.timeline(store, self._run)
            kernels = queries.kernels(store, self._number)
            passes = queries.passes(store, self._number)
            decisions = queries.decisions(store, self._number)
        graph = parse_graph(row["graph_text"], row["source"])
        dims = {str(k): int(v) for k, v in self._row["dims"].items()}
        calls = tuple(
            CallRecord(
                i, launch["kernel"], tuple(_listed(launch["nodes"])), (), (), launch["bytes"] or 0, launch["flops"] or 0
            )
            for i, launch in enumerate(launches)
        )
        place = {node: (call.index, "") for call in calls for node in call.nodes}
        choices = CompileChoices(row["target"], row["flow"], row["opt_level"], bool(row["options"].get("fuse", True)))
        compilation = Compilation(
            source=row["source"],
            path="",
            name=f"run {self._run}: {row['graph_name']}",
            choices=choices,
            dims=tuple(dims.items()),
            nodes=graph_nodes(graph, place, dims),
            calls=calls,
            kernels=tuple(_kernel(kernel, calls) for kernel in kernels),
            passes=tuple(
                PassRow(p.name, p.stage, p.kernel, p.start, p.seconds, p.ops_before, p.ops_after, p.bytes_after)
                for p in passes
            ),
            ledger=tuple(
                Decision(d.producer, d.consumer, d.accepted, d.rule, d.reason, d.bytes_saved) for d in decisions
            ),
            plan_note="a stored run keeps its peak, not its plan",
            seconds=row["seconds"],
        )
        times = tuple(
            (
                launch["kernel"],
                tuple((samples[launch["position"]] * 1e-9).tolist()) if launch["position"] in samples else (),
            )
            for launch in launches
        )
        whole = tuple((samples[WHOLE] * 1e-9).tolist()) if WHOLE in samples else ()
        spans = spans_of(trace) if trace is not None else ()
        threads = trace.shape[0] if trace is not None else int(self._row["threads"] or 1)
        work = tuple((launch["flops"] or 0, launch["bytes"] or 0) for launch in launches)
        return compilation, RunResult(whole, times, spans, threads, tuple(dims.items()), number=self._run, work=work)

    def stage(self, request: StageRequest) -> LineText:
        """The text of a stage, where it was kept."""
        kernel = "" if request.stage in MODEL_STAGES else request.kernel
        with open_store(None, create=False) as store:
            found = queries.stage(store, self._number, kernel, request.stage)
            if found is None and request.stage == "source":
                source = next(k.source for k in queries.kernels(store, self._number) if k.name == kernel)
                return line_text(source, ((),) * len(source.splitlines()))
        if found is None:
            raise CompilerError(f"the {request.stage} of this run was not kept")
        return line_text(found.text, found.line_nodes)

    def llvm_passes(self) -> tuple[PassRow, ...]:
        """They are not kept."""
        return ()

    def run(self, request: RunRequest, report: Any) -> RunResult:
        """A stored run is not run again: its source may have changed."""
        raise CompilerError("this is a stored run; open its source to run it again")


def _kernel(record: Any, calls: tuple[CallRecord, ...]) -> KernelRecord:
    count = sum(call.kernel == record.name for call in calls)
    return KernelRecord(record.name, record.nodes, record.source, ((),) * len(record.source.splitlines()), count)


def _listed(nodes: Any) -> list[str]:
    import json

    return json.loads(nodes) if isinstance(nodes, str) else list(nodes)
