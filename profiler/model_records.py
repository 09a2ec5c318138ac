"""A compiled model as records: what the store keeps of it. The only place that reads a Model for the profiler."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from compiler.errors import CompilerError
from compiler.options import COMMON_STAGES, MODEL_STAGES
from profiler.measure.machine import versions
from profiler.records import CompilationRecord, CompiledKernel, Decision, StageRecord

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.model import Kernel, Model
    from compiler.passes.fusion.records import KernelCall


def graph_text(graph: Graph) -> str:
    """A graph as text that reads back to the same graph, bit for bit."""
    return str(graph)


def compilation_record(model: Model, source: str, seconds: float, libraries: Iterable[str] = ()) -> CompilationRecord:
    """What a compilation was asked and did, without the IR of its stages."""
    asked = model.options
    options = {
        "jobs": asked.jobs, "cache": asked.cache, "fuse": asked.fuse, "force_cut": sorted(map(list, asked.force_cut)),
        "force_fuse": sorted(map(list, asked.force_fuse)), "sources": [list(pair) for pair in asked.sources],
        "libraries": list(libraries),
    }  # fmt: skip
    return CompilationRecord(
        source=source,
        graph_name=model.graph.name,
        graph_text=graph_text(model.graph),
        target=asked.target,
        flow=asked.flow,
        opt_level=asked.opt_level,
        debug=asked.debug,
        options=options,
        versions=versions(),
        seconds=seconds,
        passes=tuple(model.trace.passes),
        kernels=tuple(
            CompiledKernel(kernel.name, kernel_key(kernel), kernel.nodes, kernel.fused.slots, kernel.source)
            for kernel in model.kernels
        ),
        decisions=tuple(
            Decision(d.producer, d.consumer, d.accepted, d.rule, d.reason, str(d.bytes_saved)) for d in model.ledger
        ),
        stats=_plain(model.stats),
    )


def kernel_key(kernel: Kernel) -> str:
    """A hash of what a kernel computes: its graph ops, how they are connected, its types. Not its name or source."""
    call = kernel.calls[0]
    return hashlib.sha256(_description(call).encode()).hexdigest()[:16]


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
    if hasattr(value, "tobytes"):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
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
    """The IR of some stages, made now, which costs about as much as compiling. One that cannot be had is left out."""
    found: list[StageRecord] = []
    for stage in stages:
        if stage in MODEL_STAGES:
            shown = _stage(model, stage)
            if shown is not None:
                found.append(StageRecord(stage, "", shown.text, shown.nodes))
            continue
        for kernel in model.kernels:
            shown = _stage(kernel, stage)
            if shown is not None:
                found.append(StageRecord(stage, kernel.name, shown.text, shown.nodes))
    return found


def _stage(owner: Any, stage: str) -> Any:
    try:
        return owner.stage(stage)
    except CompilerError:  # a target without this stage, or a tool that is not installed
        return None
    except ImportError:
        return None


def _plain(value: Any) -> Any:
    """JSON's own types; symbolic sizes as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
