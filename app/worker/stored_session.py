"""A stored run inside a worker: answers as a compilation does, from the database, with nothing compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from app.viewmodels import requests
from app.viewmodels.compilation import (
    KERNEL_STAGES,
    MODEL_STAGES,
    CallRecord,
    Compilation,
    KernelRecord,
    LineText,
    MemoryBlock,
)
from app.viewmodels.frame.patterns import compile_pattern
from app.viewmodels.text.finding import hits
from app.viewmodels.text.passes import PassStep, trace_steps
from app.viewmodels.text.text_document import index_text
from app.worker.extract import graph_nodes, placed
from app.worker.measuring import roofs, run_times
from app.worker.store_jobs import stored_stage
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from profiler.records import FINISHED, WHOLE
from profiler.store import Store, default_path, is_visited, open_store, queries
from profiler.store.finished import finished_samples
from profiler.store.sampled import sampling
from profiler.tuning.records import choice_words


def _refused(what: str) -> Callable[[Any, Any, Any], NoReturn]:
    def refuse(_session: Any, _request: Any, _report: Any) -> NoReturn:
        raise CompilerError(f"this is a stored run; open its source to {what}")

    return refuse


class StoredSession:
    """One run of the database and the compilation it belongs to; or a compilation by itself."""

    def __init__(self, run: int, compilation: int = 0) -> None:
        self._run = run
        self._database = default_path()  # it stays this run's, wherever the window looks later
        self._readonly = is_visited(self._database)
        self._number = compilation
        if compilation:
            return
        with open_store(self._database, create=False, readonly=self._readonly) as store:
            self._row = queries.run_row(store, run)
            if self._row["compilation"] is None:
                raise CompilerError(
                    f"run {run} has no compilation to show: {self._row['error'] or self._row['status']}"
                )
            self._number = int(self._row["compilation"])

    def records(self) -> tuple[Compilation, requests.RunTimes | None]:
        """The compilation and the run as the views know them."""
        if not self._run:
            return self._compilation_alone(), None
        with open_store(self._database, create=False, readonly=self._readonly) as store:
            launches = queries.launches(store, self._run)
            samples = finished_samples(store, self._row, launches) if self._row["status"] == FINISHED else {}
            trace = queries.timeline(store, self._run)
            counters = queries.counters(store, self._run)
            taken = sampling(store, self._run)
            elsewhere, ceilings = roofs(store, self._row)
            dims = {str(k): int(v) for k, v in self._row["dims"].items()}
            calls = tuple(
                CallRecord(i, x["kernel"], tuple(x["nodes"]), x["bytes"] or 0, x["flops"] or 0)
                for i, x in enumerate(launches)
            )
            compilation = _compilation(store, self._number, f"run {self._run}", dims, calls)
        memory = self._row["memory"] or {}
        compilation = replace(
            compilation,
            blocks=_blocks(memory, frozenset(node for call in calls for node in call.nodes)),
            peak=int(memory.get("planned_peak", 0)),
            plan_note="" if "blocks" in memory else "not kept with this run",
        )
        conditions = self._row["conditions"]
        check = conditions.get("check", {})
        return compilation, run_times(
            samples.get(WHOLE, ()),
            [(x["kernel"], samples.get(x["position"], ()), x["flops"], x["bytes"]) for x in launches],
            (conditions.get("blocks", ()), conditions.get("processes", ())),
            trace,
            threads=trace.shape[0] if trace is not None else int(self._row["threads"] or 1),
            dims=tuple(dims.items()),
            checks=tuple(check.get("lines", ())),
            ok=check.get("ok"),
            number=self._run,
            notes=tuple(conditions.get("notes", ())),
            device=self._row["device"],
            counters=tuple((c["name"], c["value"], c["unit"], c["note"] or "") for c in counters),
            elsewhere=elsewhere,
            ceilings=ceilings,
            sampling=taken,
            keys=tuple(x["key"] for x in launches),
            thread_seconds=tuple(tuple(x["thread_seconds"]) for x in launches),
        )

    def _compilation_alone(self) -> Compilation:
        """A compilation that was never run, or is looked at apart from its runs: one call a kernel."""
        with open_store(self._database, create=False, readonly=self._readonly) as store:
            kernels = queries.kernels(store, self._number)
            calls = tuple(CallRecord(i, kernel.name, tuple(kernel.nodes)) for i, kernel in enumerate(kernels))
            made = _compilation(store, self._number, f"compilation {self._number}", {}, calls)
        return replace(made, plan_note="not kept with a compilation; run it to have one")

    def stage(self, request: requests.StageRequest, report: Any = None) -> LineText:
        """The text of a stage, where it was kept."""
        if request.target:
            raise CompilerError("this is a stored run; open its source to see it for another target")
        return stored_stage(self._number, request.stage, request.kernel, self._database, self._readonly)

    def passes(self, request: requests.PassesRequest, report: Any) -> tuple[PassStep, ...]:
        """The passes as they were recorded; the IR between them was not kept."""
        with open_store(self._database, create=False, readonly=self._readonly) as store:
            rows = queries.passes(store, self._number)
        return trace_steps(rows, request.kernel)

    def find(self, request: requests.FindRequest, report: Any) -> tuple[requests.Hit, ...]:
        """Matches in the stages that were kept."""
        pattern = compile_pattern(request.pattern)
        found: list[requests.Hit] = []
        for stage in KERNEL_STAGES if request.kernel else MODEL_STAGES:
            with contextlib.suppress(CompilerError):
                document = index_text(self.stage(requests.StageRequest(stage, request.kernel)))
                found += hits(document, pattern, stage, request.kernel, request.most)
        return tuple(found)

    def keep(self, request: requests.KeepRequest, report: Any) -> int:
        """It is in the database already."""
        return self._number

    # Not of a stored run: its source and the kernel library may be others by now, and its constants were not kept.
    library_kernels = _refused("see the kernels its ops can use")
    weights = _refused("see its weights")
    time_edit = _refused("edit and time it")
    run = _refused("run it again")


def _compilation(
    store: Store, number: int, name: str, dims: dict[str, int], calls: tuple[CallRecord, ...]
) -> Compilation:
    """What was kept of a compilation as the views know it."""
    from compiler.importers.mlir_text import parse_graph

    row = queries.compilation_row(store, number)
    graph = parse_graph(row["graph_text"], row["source"])
    place = placed(graph, ((node, call.index, "") for call in calls for node in call.nodes))
    asked = row["options"]
    choices = CompileOptions(
        row["target"], row["flow"], row["opt_level"], row["debug"],
        fuse=bool(asked.get("fuse", True)), recognise=bool(asked.get("recognise", True)),
    )  # fmt: skip
    return Compilation(
        source=row["source"],
        path="",
        name=f"{name}: {row['graph_name']}",
        choices=choices,
        dims=tuple(dims.items()),
        nodes=graph_nodes(graph, place, dims),
        calls=calls,
        kernels=tuple(_kernel(kernel, calls) for kernel in queries.kernels(store, number)),
        passes=tuple(queries.passes(store, number)),
        ledger=tuple(queries.decisions(store, number)),
        seconds=row["seconds"],
        elapsed=row["seconds"] + float((row["stats"] or {}).get("imports") or 0.0),
        tuned=tuple((name, choice_words(tuple(chosen.items()))) for name, chosen in asked.get("tuned", {}).items()),
    )


def _blocks(memory: Any, names: frozenset[str]) -> tuple[MemoryBlock, ...]:
    """The plan as it was kept with the run; a block named for a node holds that node's value."""
    return tuple(
        MemoryBlock(
            str(block["name"]), int(block["offset"]), int(block["size"]), int(block["first"]), int(block["last"]),
            (block["name"],) if block["name"] in names else (),
        )
        for block in (memory or {}).get("blocks", ())
    )  # fmt: skip


def _kernel(record: Any, calls: tuple[CallRecord, ...]) -> KernelRecord:
    count = sum(call.kernel == record.name for call in calls)
    return KernelRecord(record.name, record.nodes, record.source, count)
