"""`compile`: a graph in, a model out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from compiler.cache import Cache, default_cache, key_of, producer, target_identity
from compiler.collector_pauses import rare_collection
from compiler.errors import CompilerError
from compiler.language.library import Library, default_library
from compiler.model import Model
from compiler.passes.fusion.records import FusionOptions, FusionResult
from compiler.pipeline import CompileOptions, with_edits
from compiler.targets import get_target
from compiler.targets.cpu import runs_here
from compiler.trace import Trace, Watch, count_operations

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.program.host_program import HostProgram


def compile(
    graph: Graph,
    target: str = "cpu",
    flow: str = "all-kernel",
    opt_level: int = 3,
    debug: str = "none",
    jobs: int | None = None,
    cache: bool = True,
    library: Library | None = None,
) -> Model:
    """Compile a graph for a target.

    >>> from compiler import Graph, TensorType, compile, ops
    >>> import numpy as np
    >>> with Graph("double", inputs=[TensorType("f32", ("M",))]) as g:
    ...     g.output(g.inputs[0] * 2)
    >>> model = compile(g)
    >>> model.execute(np.arange(3, dtype=np.float32))
    [array([0., 2., 4.], dtype=float32)]
    """
    options = CompileOptions(target, flow, opt_level, debug, jobs, cache)
    return compile_graph(graph, options, library)


def compile_graph(
    graph: Graph, options: CompileOptions, library: Library | None = None, watch: Watch | None = None
) -> Model:
    """Compile with every option: also whether and what to fuse, and edited kernel sources.

    `watch` is told (stage, pass, kernel) as each pass begins.
    """
    options.check()
    _check_kind(graph)
    work = _Work(graph, options, library or default_library(), watch)
    with rare_collection():
        host, objects = work.from_cache() or work.compiled()
        program = None
        if runs_here(work.target):
            from compiler.program.execution import Program

            with work.trace.span("link", "link"):
                work.find_runtime()
                program = Program(host, objects)
    return Model(
        graph, host, with_edits(host.fusion.kernels, options), options, work.target, work.library, work.trace, program,
        work.graph_text, () if work.target.is_cpu else objects,
    )  # fmt: skip


def _check_kind(graph: object) -> None:
    from compiler.graph.graph import Graph as GraphClass

    if not isinstance(graph, GraphClass):
        raise CompilerError(f"compile takes a Graph, not {type(graph).__name__}")


def _trace(options: CompileOptions, watch: Watch | None) -> Trace:
    if not options.snapshots:
        return Trace(watch=watch)
    from compiler.snapshots import SnapshotTrace

    return SnapshotTrace(watch=watch)


class _Work:
    """One compilation: its front half is done when first needed, which for a model in the cache may be never."""

    def __init__(self, graph: Graph, options: CompileOptions, library: Library, watch: Watch | None = None) -> None:
        self.graph = graph
        self.options = options
        self.library = library
        self.target = get_target(options.target)
        self.trace = _trace(options, watch)
        self.cache: Cache | None = default_cache() if options.cache else None

    def from_cache(self) -> tuple[HostProgram, list[bytes]] | None:
        """The model as an earlier compilation left it."""
        if self.cache is None or self.options.recompiles:
            return None
        from compiler.artifact.stored_model import model_key, restore_model

        with self.trace.span("find-model", "cache"):
            self._key = model_key(self.graph, self.options, self.target, self.library)
            payload = self.cache.get("model", self._key)
            if payload is None:
                return None
            host, objects = restore_model(payload, self._fused_again)
        for kernel in host.fusion.kernels:
            self.trace.add("model-hit", "cache", kernel.name, self.trace.begun, 0.0)
        return host, objects

    def find_runtime(self) -> None:
        """Have the threads' runtime from the cache, where a first compilation leaves it."""
        if self.cache is None:
            return
        from compiler.backend.runtime import runtime_object, supply_runtime

        key = key_of("runtime", target_identity(self.target), producer())
        image = self.cache.get("object", key)
        if image is not None:
            supply_runtime(self.target, image)
        else:
            self.cache.put("object", key, runtime_object(self.target))

    def compiled(self) -> tuple[HostProgram, list[bytes]]:
        """The model, compiled; kernels that are in the cache are taken from there."""
        from compiler.artifact.stored_model import store_model
        from compiler.flows import Compilation, compile_kernels
        from compiler.program.host_program import host_program, interface_of

        with self.trace.span("verify", "mo"):
            self.graph.verify()
        fusion = self._fused
        kernels = with_edits(fusion.kernels, self.options)
        self.trace.tell("kernels", str(len(kernels)))  # how much is to come
        run = Compilation(self.options, self.library, self.target, self.trace, self.cache)
        records, objects = compile_kernels(kernels, run)
        host = host_program(fusion, records, interface_of(self.graph))
        if self.cache is not None and not self.options.recompiles:
            with self.trace.span("keep-model", "cache"):
                payload = store_model(host, objects)
                if payload is not None:
                    self.cache.put("model", self._key, payload)
        return host, objects

    @cached_property
    def _optimised(self) -> Any:
        """The graph after graph passes."""
        from compiler.passes.graph import GRAPH_PASSES

        with self.trace.span("copy", "mo") as span:
            op = self.graph.copied_op()
            span.ops_after = count_operations(op)
        self.trace.start("", op, "mo")
        for name, run in GRAPH_PASSES:
            with self.trace.span(name, "mo") as span:
                span.ops_before = count_operations(op)
                run(op)
                span.ops_after, span.module = count_operations(op), op
        return op

    @cached_property
    def _fused(self) -> FusionResult:
        import compiler.language.interpreter  # noqa: F401  the library loads it on first use, which is no part of fusion
        from compiler.passes.fusion.fuse import fuse

        op, options = self._optimised, self.options
        with self.trace.span("fuse", "mogg") as span:
            fusion = fuse(op, self.library, FusionOptions(options.fuse, options.force_cut, options.force_fuse))
            span.ops_before, span.ops_after = count_operations(op), len(fusion.calls)
        return fusion

    def _fused_again(self) -> FusionResult:
        """For a model from the cache whose graph ops are asked for; what that takes is not part of the compilation."""
        trace, self.trace = self.trace, Trace()
        try:
            return self._fused
        finally:
            self.trace = trace

    def graph_text(self) -> Any:
        """Text and nodes of the graph after graph passes."""
        from compiler.dialects.mo import print_with_nodes

        trace, self.trace = self.trace, Trace()
        try:
            return print_with_nodes(self._optimised)
        finally:
            self.trace = trace
