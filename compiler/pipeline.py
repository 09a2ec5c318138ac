"""`compile`, a graph in and a model out: the table of contents of a compilation.

What does the work is imported by `_compiled`: a model that comes from the cache needs none of it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from compiler.cache import default_cache
from compiler.collector_pauses import rare_collection
from compiler.compilation import Compilation, Compiled
from compiler.errors import CompilerError
from compiler.graph.graph import Graph
from compiler.language.library import Library, default_library
from compiler.model import Model
from compiler.model_cache import ModelEntry, find_runtime
from compiler.options import CompileOptions
from compiler.passes.fusion.edits import final_sources
from compiler.processes import own_program
from compiler.targets import get_target
from compiler.targets.cpu import runs_here
from compiler.trace import Trace, Watch

if TYPE_CHECKING:
    from compiler.program.execution import Program


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
    graph: Graph, options: CompileOptions, library: Library | None = None, watch: Watch | None = None,
    without: Collection[str] = (),
) -> Model:  # fmt: skip
    """Compile with every option: also whether and what to fuse, and edited kernel sources.

    `watch` is told (stage, pass, kernel) as each pass begins. Passes that are named in `without` (see
    `optional_passes`) are left out, and nothing of that is cached.
    """
    options.check()
    if not isinstance(graph, Graph):
        raise CompilerError(f"compile takes a Graph, not {type(graph).__name__}")
    cache = default_cache() if options.cache and not without else None
    target, trace = get_target(options.target), _trace(options, watch)
    run = Compilation(options, library or default_library(), target, trace, cache, frozenset(without))
    with rare_collection():
        entry = ModelEntry(graph, run)
        made = entry.find()
        if made is None:
            made = _compiled(graph, run)
            entry.keep(made)
        program = linked(made, run)
    model = Model(graph, made, run, program)
    model.known = entry.known
    return model


def optional_passes(options: CompileOptions) -> tuple[str, ...]:
    """The names of the passes that a compilation with these options can do without, in the order they run."""
    from compiler.backend.llvm import optional_llvm_passes
    from compiler.passes.kernel.run import optional_kernel_passes

    return (
        *optional_kernel_passes(options.opt_level),
        *optional_llvm_passes(get_target(options.target), options.opt_level),
    )


def _trace(options: CompileOptions, watch: Watch | None) -> Trace:
    if not options.snapshots:
        return Trace(watch=watch)
    from compiler.snapshots import Snapshots

    return Trace(watch=watch, sink=Snapshots())


def _compiled(graph: Graph, run: Compilation) -> Compiled:
    """The steps, in order; kernels that are in the cache are taken from there."""
    if own_program.operations_later:
        from compiler.dialects.later import define_operations_later

        define_operations_later()
    from compiler.backend.emission import UnitWork, emit_kernels, units_of
    from compiler.backend.guarded import raw_errors_at_their_lines
    from compiler.backend.runtime import default_threads
    from compiler.flows import flow_of
    from compiler.kernel_cache import KnownObjects, find_ir, keep_ir, keep_objects
    from compiler.passes.fusion.run import fuse_graph
    from compiler.passes.graph.run import graph_passes
    from compiler.passes.kernel.elaboration import elaborate
    from compiler.passes.kernel.run import kernel_passes
    from compiler.program.host_program import host_program, interface_of

    options, library, target, trace = run.options, run.library, run.target, run.trace
    flow = flow_of(options)

    optimised = graph_passes(graph, trace, options.recognise)
    fusion = fuse_graph(optimised, library, options, trace)
    kernels = final_sources(fusion.kernels, options, target)
    trace.tell("kernels", str(len(kernels)))  # how much is to come

    lowered, fresh, known = find_ir(kernels, run), [], KnownObjects(run)
    rest = [kernel for kernel in kernels if kernel.name not in lowered]
    left = len(rest)
    bundled = partial(flow.objects, target)
    with UnitWork(bundled, target, options.opt_level, options.jobs, trace, run.without) as llvm:
        for group in flow.modules(rest, 1 if options.snapshots else options.jobs or default_threads()):
            elaborated = elaborate(group, library, target, trace)
            module = kernel_passes(elaborated, target, trace, options.opt_level, run.without)
            made = emit_kernels(module, target, options.debug, trace, split=flow.together)
            lowered |= made
            fresh.append((module, made))
            left -= len(group)
            if left:  # LLVM begins with these while the others are made
                llvm.add(known.missing(units_of(made.values())), left / (len(rest) - left))
        llvm.add(known.missing(units_of(lowered[kernel.name] for kernel in kernels)))
        with raw_errors_at_their_lines(library, options.sources):
            objects = llvm.finish()
    for module, made in fresh:  # not before LLVM took it
        keep_ir(module, made, run)
    keep_objects(llvm.groups, objects, run)
    compiled = [(unit.name, unit.text) for group in llvm.groups for unit in group]
    trace.llvm_compiled(compiled, target, options.opt_level)

    records = {kernel.name: lowered[kernel.name].record for kernel in kernels}
    host = host_program(fusion, records, interface_of(graph, library))
    return Compiled(lambda: optimised, host, kernels, (*known.objects(), *objects))


def linked(made: Compiled, run: Compilation) -> Program | None:
    """The host program with its kernels, loaded, where this machine can run it."""
    if not runs_here(run.target):
        return None
    from compiler.program.execution import Program

    with run.trace.span("link", "link"):
        find_runtime(run.cache, run.target)
        return Program(made.host, made.objects)
