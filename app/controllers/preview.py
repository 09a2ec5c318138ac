"""What is compiled while it is compiled: its graph as soon as it is built, its kernels as they come."""

from __future__ import annotations

from app.controllers.compilations import Compilations
from app.controllers.features import Feature, Shared
from app.controllers.graph import GraphFeature
from app.viewmodels.compilation import Compilation, KernelRecord
from app.views.frame.explorer import KernelsView
from app.views.parts.later import one_shot

_LATER = 400  # milliseconds: what is compiled by then is shown at once, compiled
_LARGE = 1500  # nodes of a graph that takes longer in any case
_OFTEN = 250  # milliseconds between two looks at the kernels that have come


class PreviewFeature(Feature):
    """Only where another source is opened: what is compiled again stays on show until its successor is there."""

    def __init__(self, shared: Shared, compiler: Compilations, graph: GraphFeature, kernels: KernelsView) -> None:
        super().__init__(shared)
        self._graph, self._kernels = graph, kernels
        self._built: Compilation | None = None
        self._come: list[str] = []
        self.shown = False
        self._wait = one_shot(self, self._show, _LATER)
        self._tick = one_shot(self, self._list, _OFTEN)
        compiler.graph_built.connect(self._take)
        compiler.kernel_came.connect(self._take_kernel)
        compiler.ended.connect(self._ended)

    def _take(self, built: Compilation) -> None:
        self._built, self._come = built, []
        self._wait.start(0 if len(built.nodes) > _LARGE else _LATER)

    def _show(self) -> None:
        """It takes long: show the graph by itself, and say that it is not compiled yet."""
        if self._built is not None:
            self.shown = True
            self._graph.preview(self._built, f"{self._built.name} (compiling)")
            self._list()

    def _take_kernel(self, name: str, _total: int) -> None:
        self._come.append(name)
        if self.shown and not self._tick.isActive():
            self._tick.start()

    def _list(self) -> None:
        if self.shown:
            self._kernels.set_coming([KernelRecord(name, (), "", 0) for name in self._come])

    def _ended(self, good: bool) -> None:
        self._wait.stop()
        self._tick.stop()
        self._built, self._come = None, []
        if self.shown and not good and self._state.compilation is not None:  # cancelled: back to what is compiled
            self._graph.preview(self._state.compilation, self._state.on_show.name)
            self._kernels.set_compilation(self._state.compilation)
        self.shown = False
