"""`compile`: a graph in, a model out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.errors import CompilerError
from compiler.language.library import Library, default_library
from compiler.model import Model
from compiler.passes.fusion import FusedKernel, FusionOptions, fuse
from compiler.pipeline import CompileOptions, KernelModule, elaborate, kernel_passes, with_edits
from compiler.targets import get_target
from compiler.targets.target import Target
from compiler.trace import Trace, count_operations

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.elaborate import ElaboratedKernel


def compile(  # noqa: A001  the public name
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


def compile_graph(graph: Graph, options: CompileOptions, library: Library | None = None) -> Model:
    """Compile with every option: also whether and what to fuse, and edited kernel sources."""
    options.check()
    _check_graph(graph)
    target = get_target(options.target)
    library = library or default_library()
    trace = Trace()
    optimised = _graph_passes(graph, trace)
    with trace.span("fuse", "mogg") as span:
        fusion = fuse(optimised.op, library, FusionOptions(options.fuse, options.force_cut, options.force_fuse))
        span.ops_before = count_operations(optimised.op)
    kernels = with_edits(fusion.kernels, options)
    records, units = _compile_kernels(kernels, options, library, target, trace)
    program = None
    if target.is_cpu:
        from compiler.execution import Program

        with trace.span("link", "link"):
            program = Program(graph, fusion, records, units)
    return Model(graph, fusion, options, target, library, trace, records, program, kernels, optimised.text)


class _Optimised:
    """The graph after graph passes."""

    def __init__(self, op) -> None:  # noqa: ANN001
        self.op = op

    def text(self):  # noqa: ANN201
        """Text and nodes of the graph."""
        from compiler.dialects.mo import print_with_nodes

        return print_with_nodes(self.op)


def _check_graph(graph: Graph) -> None:
    from compiler.graph.graph import Graph as GraphClass

    if not isinstance(graph, GraphClass):
        raise CompilerError(f"compile takes a Graph, not {type(graph).__name__}")
    graph.verify()


def _graph_passes(graph: Graph, trace: Trace) -> _Optimised:
    from compiler.passes import GRAPH_PASSES

    op = graph.op.clone()
    for name, run in GRAPH_PASSES:
        with trace.span(name, "mo") as span:
            span.ops_before = count_operations(op)
            run(op)
            span.ops_after = count_operations(op)
    return _Optimised(op)


def _compile_kernels(
    kernels: tuple[FusedKernel, ...], options: CompileOptions, library: Library, target: Target, trace: Trace
) -> tuple[dict[str, ElaboratedKernel], list[bytes]]:
    """Kernel sources to objects: each alone, or all in one module, as the flow says."""
    groups = [(kernel,) for kernel in kernels] if options.flow == "per-kernel" else [kernels] if kernels else []
    records: dict[str, ElaboratedKernel] = {}
    objects: list[bytes] = []
    for group in groups:
        table = {kernel.name: kernel for kernel in group}
        lowered = kernel_passes(elaborate(group, library, target, trace), table, target, trace)
        for record in lowered.kernels:
            records[record.name] = record
        objects.append(_through_llvm(lowered, options, target, trace))
    return records, objects


def _through_llvm(lowered: KernelModule, options: CompileOptions, target: Target, trace: Trace) -> bytes:
    from compiler.backend.llvm import compile_llvm
    from compiler.lowering.llvm_text import emit_module

    owner = lowered.kernels[0].name if len(lowered.kernels) == 1 else ""
    with trace.span("emit-llvm", "llvm", owner) as span:
        text = emit_module(lowered.module, target, options.debug).text  # pyright: ignore[reportArgumentType]
        span.bytes_after = len(text)
    with trace.span("llvm", "machine", owner) as span:
        unit = compile_llvm(text, target, options.opt_level)
        span.bytes_after = len(unit.object)
    return unit.object


