"""A compiled model as records: what the store keeps of it. The only place that reads a Model for the profiler."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.artifact.stored_model import large_constants
from compiler.cache import files_state, producer_versions
from compiler.constants.digests import digest_of
from compiler.errors import CompilerError
from compiler.import_time import Stretch, without_imports
from compiler.options import COMMON_STAGES, MODEL_STAGES, CompileOptions
from profiler.analysis.work import Grid, count_call
from profiler.records import CompilationRecord, CompiledKernel, Decision, Launch, MeasureRequest, StageRecord

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.model import Model
    from compiler.passes.fusion.records import KernelCall


def compiled(
    graph: Graph, options: CompileOptions, libraries: Sequence[str | Path] = (), artifact: str = ""
) -> tuple[Model, Stretch]:
    """A graph compiled with kernels of some folders beside the library's own, and the seconds that took.

    Where a file has the compiled model, it is loaded instead.
    """
    from compiler import load, load_library
    from compiler.pipeline import compile_graph

    library = load_library(*map(Path, libraries)) if libraries else None
    with without_imports() as took:
        model = load(artifact, library) if artifact else compile_graph(graph, options, library)
    return model, took


def compilation_record(
    model: Model, source: str, seconds: float, libraries: Iterable[str] = (), imports: float = 0.0
) -> CompilationRecord:
    """What a compilation was asked and did, without the IR of its stages; `imports` are no part of its seconds."""
    asked, keys = model.options, kernel_keys(model)
    options = {
        "jobs": asked.jobs, "cache": asked.cache, "fuse": asked.fuse, "recognise": asked.recognise,
        "force_cut": sorted(map(list, asked.force_cut)),
        "force_fuse": sorted(map(list, asked.force_fuse)), "sources": [list(pair) for pair in asked.sources],
        "libraries": list(libraries), **({"tuned": _plain(model.tuned)} if asked.tuned else {}),
    }  # fmt: skip
    return CompilationRecord(
        source=source,
        graph_name=model.graph.name,
        graph_text=str(model.graph),
        target=asked.target,
        flow=asked.flow,
        opt_level=asked.opt_level,
        debug=asked.debug,
        options=options,
        versions=producer_versions(),
        seconds=seconds,
        passes=tuple(model.trace.passes),
        kernels=tuple(
            CompiledKernel(kernel.name, keys[kernel.name], kernel.nodes, kernel.fused.slots, kernel.source)
            for kernel in model.kernels
        ),
        decisions=tuple(
            Decision(d.producer, d.consumer, d.accepted, d.rule, d.reason, str(d.bytes_saved)) for d in model.ledger
        ),
        stats=_plain(model.stats) | {"imports": imports},
    )


@cache
def _own_state() -> str:
    return files_state(str(Path(__file__).parent))


def _known(model: Model, about: object, find: Callable[[], Any]) -> Any:
    """What is found out about a model; of one from the cache, what was found out before. Following kernels back to the
    ops of the graph means to load xDSL and to fuse again, which takes longer than most runs."""
    return model.known((about, _own_state()), find)


def find_out(model: Model, request: MeasureRequest) -> None:
    """Have what a run on this processor says of a model in the cache, where whoever has compiled it still has its ops:
    a process that measures would load xDSL and fuse again. What cannot be found out the run itself tells."""
    if model.options.cache and not model.options.recompiles and request.device == "cpu":
        with suppress(CompilerError):
            kernel_keys(model)
            _counts(model, request.dims, request.count, None)


def kernel_keys(model: Model) -> dict[str, str]:
    """A hash of what each kernel computes, by its name: its graph ops, how they are connected, its types. Not its name
    or source."""

    def hashed() -> dict[str, str]:
        described = {kernel.name: _description(kernel.calls[0]) for kernel in model.kernels}
        return {name: hashlib.sha256(words.encode()).hexdigest()[:16] for name, words in described.items()}

    return _known(model, "keys", hashed)


def _description(call: KernelCall) -> str:
    """The ops of a call in order, with values numbered and dims named by first appearance."""
    from compiler.dialects.mo import attrs_of

    if not call.ops:
        return call.kernel.source.replace(call.kernel.name, "kernel")
    numbers: dict[Any, str] = {}
    lines = []
    for op in call.ops:
        operands = [numbers.setdefault(value, f"v{len(numbers)}") for value in op.operands]
        results = [numbers.setdefault(value, f"v{len(numbers)}") for value in op.results]
        attrs = sorted((name, _attribute(value)) for name, value in attrs_of(op).items())
        kinds = [str(kind) for kind in (*op.operand_types, *op.result_types)]
        lines.append(json.dumps([op.name, operands, results, attrs, kinds]))
    lines.append(json.dumps([[numbers.get(value, "?") for value in call.values]]))
    return _renamed("\n".join(lines), call.symbols)


def _attribute(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{digest_of(value)}"
    return repr(value)


def _renamed(text: str, symbols: Iterable[str]) -> str:
    """Dims by first appearance: the same kernel over M or over N is the same kernel."""
    import re

    known: dict[str, str] = {}
    names = sorted(symbols, key=len, reverse=True)
    if not names:
        return text
    pattern = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, names)) + r")(?![\w.])")
    return pattern.sub(lambda match: known.setdefault(match[1], f"d{len(known)}"), text)


def stage_records(model: Model, stages: Iterable[str] = (*MODEL_STAGES, *COMMON_STAGES)) -> list[StageRecord]:
    """The IR of some stages; one that cannot be had is left out.

    Making it costs about as much as compiling, so that of a model in the cache is kept beside it: all of it or nothing,
    as what is left out may be for lack of a tool or of memory.
    """
    kernels = [(kernel.name, kernel) for kernel in model.kernels]
    wanted = [
        (stage, name, owner)
        for stage in stages
        for name, owner in ([("", model)] if stage in MODEL_STAGES else kernels)
    ]
    made: list[StageRecord] = []

    def rows() -> list[Any] | None:
        for stage, name, owner in wanted:
            with suppress(CompilerError, ImportError):  # a target without this stage, or a tool that is not installed
                shown = owner.stage(stage)
                made.append(StageRecord(stage, name, shown.text, shown.nodes))
        whole = len(made) == len(wanted)
        return [(each.stage, each.kernel, each.text, each.line_nodes) for each in made] if whole else None

    if large_constants(model.graph):  # texts name them by their content, which says nothing of the model otherwise
        rows()
        return made
    files = [file.file for file in model.library.files]
    found = _known(model, ("stages", [(stage, name) for stage, name, _ in wanted], files), rows)
    return made or [
        StageRecord(stage, name, text, tuple(map(tuple, nodes))) for stage, name, text, nodes in found or ()
    ]


def launch_records(
    model: Model, request: MeasureRequest, samples: np.ndarray, *, threads: np.ndarray | None = None,
    grids: Sequence[Grid | None] | None = None, brief: bool = False,
) -> tuple[Launch, ...]:  # fmt: skip
    """The launches of a run, from the nanoseconds of each call and launch; a `brief` run leaves out what they do.

    `threads` has the same for each thread, [calls, threads, launches]; `grids` are those of launches on a GPU.
    """
    made: list[Launch] = []
    keys = {} if brief else kernel_keys(model)
    counts = [] if brief else _counts(model, request.dims, request.count, grids)
    for position, call in enumerate(model.fusion.calls):
        key, nodes, known = "", (), {}
        if not brief:
            key, nodes, known = keys[call.kernel.name], call.all_nodes, counts[position]
        shares = np.zeros(0)
        if threads is not None and threads.size:
            shares = np.median(threads[:, :, position], axis=0) * 1e-9
        times = tuple(samples[:, position].tolist())
        made.append(Launch(position, call.kernel.name, key, tuple(nodes), times, tuple(shares.tolist()), **known))
    return tuple(made)


def _counts(
    model: Model, dims: Mapping[str, int], traffic: bool, grids: Sequence[Grid | None] | None
) -> list[dict[str, Any]]:
    """What each launch does, on these sizes."""

    def count() -> list[dict[str, Any]]:
        kernels = {kernel.name: kernel for kernel in model.kernels}
        counted: dict[Any, dict[str, Any]] = {}
        found = []
        for position, call in enumerate(model.fusion.calls):
            grid = grids[position] if grids else None
            same = call.kernel.name, tuple(call.symbols), grid  # launches of one kernel on the same sizes do the same
            if same not in counted:
                counted[same] = count_call(call, kernels[call.kernel.name], dims, traffic=traffic, grid=grid)
            found.append(counted[same])
        return found

    return _known(model, ("counts", sorted(dims.items()), traffic, grids), count)


def _plain(value: Any) -> Any:
    """JSON's own types; symbolic sizes as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
