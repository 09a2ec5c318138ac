"""Where a wrong result comes from: the reference, the unfused graph, the fused graph at -O0 and at -O3, node by node.

The unfused model shows every node. A fused one shows the nodes whose values its kernels store; asking for those changes
nothing in what is fused. A difference that first shows unfused is a kernel's, fused at -O0 fusion's, at -O3 LLVM's.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.graph.binding import bind
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.graph.value import Value
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.reference import reference
from profiler.analysis.accuracy import relative_error
from profiler.measure.measuring import measure
from profiler.measure.outcome import Outcome
from profiler.records import FINISHED, MeasureRequest

if TYPE_CHECKING:
    from compiler.language.library import Library

STAGES = {
    "unfused -O0": CompileOptions(fuse=False, opt_level=0),
    "fused -O0": CompileOptions(opt_level=0),
    "fused -O3": CompileOptions(opt_level=3),
}


@dataclass(frozen=True)
class NodeCheck:
    """One node: its error at each stage that shows it, and the first stage that leaves tolerance (empty: none does)."""

    node: str
    errors: dict[str, float]
    first: str


@dataclass(frozen=True)
class StagewiseCheck:
    """All nodes in graph order, the tolerance, and the first node at the first stage that leaves it."""

    nodes: tuple[NodeCheck, ...]
    bound: float
    crashes: dict[str, str] = field(default_factory=dict)

    @property
    def first(self) -> tuple[str, str] | None:
        """(stage, node) where results first leave tolerance."""
        return next(((stage, check.node) for stage in STAGES for check in self.nodes if check.first == stage), None)

    def document(self) -> dict[str, Any]:
        """Plain data, and lines a person reads."""
        first = self.first
        lines = []
        for stage in STAGES:
            seen = [check for check in self.nodes if stage in check.errors]
            worst = max(seen, key=lambda check: check.errors[stage], default=None)
            words = f"relative error {worst.errors[stage]:.2g} at {worst.node}" if worst else "shows no node"
            left = sum(check.first == stage for check in self.nodes)
            words = self.crashes.get(stage, words)
            lines.append(f"{stage}: {len(seen)} nodes, {words}{f', {left} leave tolerance' if left else ''}")
        found = None
        if first is not None:
            error = next(check.errors[first[0]] for check in self.nodes if check.node == first[1])
            how = self.crashes.get(first[0], f"relative error {error:.2g}")
            words = f"results leave tolerance at stage {first[0]}, first at node {first[1]} ({how})"
            found = {"stage": first[0], "node": first[1], "words": words}
        return {"bound": self.bound, "nodes": [asdict(check) for check in self.nodes], "first": found, "lines": lines}


def check_stages(
    graph: Graph, arrays: Sequence[np.ndarray], bound: float, threads: int | None = None,
    libraries: Sequence[Path] = (), *, progress: Callable[[str, float], None] = lambda words, share: None,
) -> StagewiseCheck:  # fmt: skip
    """Run every stage on copies of `arrays` and compare each node it shows with the reference.

    `progress` is told which stage is next, and what share of all is done.
    """
    from compiler import load_library

    library = load_library(*libraries) if libraries else None
    every = list(_values(graph))
    progress("computing the reference", 0.0)
    copies = [array.copy() for array in arrays]
    wanted = dict(zip(every, reference(_showing(graph, every), *copies)[-len(every) :] if every else ()))
    errors: dict[str, dict[str, float]] = {name: {} for name in every}
    crashes: dict[str, str] = {}
    for at, (stage, options) in enumerate(STAGES.items(), 1):
        progress(f"checking {stage}", at / (len(STAGES) + 1))
        shown = every if not options.fuse else _stored(graph, options, library, every)
        if not shown:
            continue
        outcome = _outcome(_showing(graph, shown), options, arrays, threads, libraries)
        if outcome.error is not None:
            raise outcome.error
        if outcome.result.status != FINISHED:
            crashes[stage] = outcome.result.error
        for number, name in enumerate(shown):
            value = outcome.outputs[number - len(shown)] if outcome.outputs else None
            errors[name][stage] = math.inf if value is None else relative_error(value, wanted[name])
    checks = [NodeCheck(name, seen, _first(seen, wanted[name], bound)) for name, seen in errors.items()]
    return StagewiseCheck(tuple(checks), bound, crashes)


def _outcome(
    graph: Graph, options: CompileOptions, arrays: Sequence[np.ndarray], threads: int | None, libraries: Sequence[Path]
) -> Outcome:
    """One call in a child process: a stage that crashes is a finding, too."""
    sizes = bind(graph.input_types, arrays, graph.input_names)  # pyright: ignore[reportArgumentType]
    request = MeasureRequest(
        graph.name, threads=threads, dims=sizes, repeat=1, rotate=False, options=options,
        libraries=tuple(map(str, libraries)), count=False,
    )  # fmt: skip
    return measure(request, graph, arrays, outputs=True)


def _first(errors: dict[str, float], wanted: np.ndarray, bound: float) -> str:
    limit = 0.0 if wanted.dtype.kind in "iub" else bound
    return next((stage for stage, error in errors.items() if not error <= limit), "")


def _values(graph: Graph) -> dict[str, Value]:
    """Tensor values by node name; constants are left out."""
    return {
        result.name: result
        for op in graph.ops
        if op.name != "mo.constant"
        for result in op.results
        if isinstance(result.type, TensorType)
    }


def _showing(graph: Graph, names: Sequence[str]) -> Graph:
    """The same graph with the values of some nodes as further outputs."""
    shown, values = copy.copy(graph), _values(graph)
    shown.outputs = (*graph.outputs, *(values[name] for name in names))
    return shown


def _stored(graph: Graph, options: CompileOptions, library: Library | None, names: Sequence[str]) -> list[str]:
    """The nodes whose values the fused kernels store."""
    model = compile_graph(graph, options, library)
    known = _values(graph)
    stored: dict[str, None] = {}
    for call in model.fusion.calls:
        for buffer in call.results:
            for node in reversed(buffer.nodes):  # the last one is what the memory holds as it lies there
                if node in known and known[node].type == buffer.type:
                    stored[node] = None
                    break
    return [name for name in names if name in stored]
