"""A model that is only read: fused for a target, with nothing compiled until a kernel's text is asked for.

Whoever looks at one kernel for another target waits for that kernel, not for the other hundred. Texts are those of a
compiled model: kernels are elaborated alone there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from compiler.compilation import Compilation, Compiled
from compiler.language.library import Library, default_library
from compiler.model import Model
from compiler.options import CompileOptions
from compiler.passes.fusion.edits import final_sources
from compiler.targets import get_target
from compiler.trace import Trace, Watch

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.kernel import ElaboratedKernel
    from compiler.passes.fusion.records import FusedKernel


class _Records(Mapping[str, "ElaboratedKernel"]):
    """What elaboration finds out about each kernel, found out when it is asked for."""

    def __init__(self, kernels: tuple[FusedKernel, ...], run: Compilation) -> None:
        self._kernels = {kernel.name: kernel for kernel in kernels}
        self._run = run
        self._known: dict[str, ElaboratedKernel] = {}

    def __getitem__(self, name: str) -> ElaboratedKernel:
        if name not in self._known:
            from compiler.passes.kernel.elaboration import elaborate

            made = elaborate([self._kernels[name]], self._run.library, self._run.target, Trace())
            self._known[name] = made.kernels[0]
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)


def read_graph(
    graph: Graph, options: CompileOptions, library: Library | None = None, watch: Watch | None = None
) -> Model:
    """Fuse a graph for a target, to read its kernels' texts; it cannot be run, and has no host program's text."""
    from compiler.passes.fusion.run import fuse_graph
    from compiler.passes.graph.run import graph_passes
    from compiler.program.host_program import HostProgram, interface_of

    options.check()
    run = Compilation(options, library or default_library(), get_target(options.target), Trace(watch=watch), None)
    optimised = graph_passes(graph, run.trace, options.recognise)
    fusion = fuse_graph(optimised, run.library, options, run.trace)
    kernels = final_sources(fusion.kernels, options, run.target)
    host = HostProgram(fusion, _Records(kernels, run), interface_of(graph, run.library), ())
    return Model(graph, Compiled(lambda: optimised, host, kernels, ()), run, None)
