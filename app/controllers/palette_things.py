"""What the command palette offers besides commands: samples, files, targets, levels, stages, kernels, nodes, views,
runs, layouts. Each is one click elsewhere too; here it is a few letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from app.controllers.compile import CompileFeature
from app.controllers.docks import DocksFeature
from app.controllers.graph import GraphFeature
from app.controllers.opening import OpeningFeature
from app.controllers.panes import PanesFeature
from app.controllers.pictures import PicturesFeature
from app.controllers.runs import RunsFeature
from app.controllers.settings import Settings
from app.controllers.source import SourceFeature
from app.viewmodels.compilation import STAGES, Compilation, NodeRecord, stage_title
from app.viewmodels.frame.devices import TARGETS
from app.viewmodels.frame.formats import seconds
from app.viewmodels.requests import source_name
from app.viewmodels.state import State
from app.views.frame.command_palette import Offer
from compiler.options import FLOWS, OPT_LEVELS
from compiler.printable import printable

_SIZED = re.compile(r"(?:open\s+)?(?:sample[ :]\s*)?([a-z0-9][a-z0-9-]*):(\d{1,6})", re.IGNORECASE)
_NODES = 20_000  # more of them are found in the graph (Ctrl+F)
_STEP = 1000  # nodes of which offers are made at a time


class PaletteThings:
    """Everything there is to open and show, made anew each time the palette opens."""

    def __init__(
        self, state: State, *, settings: Settings, entries: list[tuple[str, str, str]], opening: OpeningFeature,
        compile_: CompileFeature, panes: PanesFeature, docks: DocksFeature, source: SourceFeature, graph: GraphFeature,
        runs: RunsFeature, pictures: PicturesFeature,
    ) -> None:  # fmt: skip
        self._state, self._settings, self._entries = state, settings, entries
        self._opening, self._compile, self._panes, self._docks = opening, compile_, panes, docks
        self._source, self._graph, self._runs, self._pictures = source, graph, runs, pictures
        self._made: tuple[Compilation | None, list[Offer]] = (None, [])  # of the nodes of a compilation

    def all(self) -> list[Offer]:
        """All of it, in the order in which equally good matches are listed."""
        return [
            *self._sources(), *self._choices(), *self._stages(), *self._views(), *self._kernels(), *self._kept_runs(),
            *self._pictures.offers(), *self._nodes(),
        ]  # fmt: skip

    def typed(self, text: str) -> list[Offer]:
        """A sample of the size that is typed: `many-kernels:256`."""
        found = _SIZED.fullmatch(text.strip())
        if found is None or all(title != found[1].lower() for _, title, _ in self._entries):
            return []
        name = f"{found[1].lower()}:{found[2]}"
        return [Offer(f"Open sample {name}", lambda: self._opening.open(f"sample:{name}"))]

    def _sources(self) -> Iterator[Offer]:
        for source, title, _ in self._entries:
            yield Offer(f"Open sample {title}", lambda s=source: self._opening.open(s))
        for place, source in enumerate(self._settings.recent(), 1):
            name = printable(source.removeprefix("sample:"))
            keys = f"Ctrl+{place}" if place < 10 else ""
            yield Offer(f"Open recent {name}", lambda s=source: self._opening.open(s), keys)

    def _choices(self) -> Iterator[Offer]:
        if not self._state.source:
            return
        for name, title in TARGETS:
            yield Offer(
                f"Target: {title}" if name in title else f"Target: {name}, {title}", self._chooser("target", name)
            )
        for level in OPT_LEVELS:
            yield Offer(f"Optimisation level: -O{level}", self._chooser("opt_level", level))
        for flow in FLOWS:
            yield Offer(f"Flow: {flow}", self._chooser("flow", flow))

    def _chooser(self, name: str, value: object):
        return lambda: self._compile.choose(name, value)

    def _stages(self) -> Iterator[Offer]:
        compilation = self._state.compilation
        if compilation is None:
            return
        for stage in STAGES:
            title = stage_title(stage, compilation.choices.target)
            yield Offer(f"Stage: {title}", lambda s=stage: self._show_stage(s))

    def _show_stage(self, stage: str) -> None:
        """In the pane with the keyboard, else in the first that is not locked."""
        pane = self._panes.workbench.step_pane()
        if pane is not None:
            pane.model.show(stage=stage)

    def _views(self) -> Iterator[Offer]:
        for name, dock in self._docks.named.items():
            yield Offer(f"View: {dock.windowTitle()}", lambda n=name: self._show_view(n))
        bench = self._panes.workbench
        for dock, widget in ((bench.graph_dock, self._graph.panel.view), (bench.source_dock, self._source.pane.editor)):
            yield Offer(f"View: {dock.windowTitle()}", lambda d=dock, w=widget: (d.show(), d.raise_(), w.setFocus()))
        for name in self._settings.layout_names():
            words = f"Layout of yours: {printable(name)}"
            yield Offer(words, lambda n=name: self._docks.restore_layout(self._settings.layout(n)))

    def _show_view(self, name: str) -> None:
        self._docks.show_work()
        self._docks.show(name)

    def _kernels(self) -> Iterator[Offer]:
        compilation = self._state.compilation
        for kernel in compilation.kernels if compilation is not None else ():
            yield Offer(f"Kernel: {kernel.name}", lambda k=kernel: self._show_kernel(k.name, k.nodes))
        for kernel in compilation.kernels if compilation is not None else ():
            yield Offer(f"Edit kernel {kernel.name}", lambda k=kernel: self._edit(k.name))

    def _show_kernel(self, name: str, nodes: tuple[str, ...]) -> None:
        self._panes.show_kernel(name)
        self._state.selection.select(nodes, self)

    def _edit(self, kernel: str) -> None:
        bench = self._panes.workbench
        bench.source_dock.show()
        bench.source_dock.raise_()
        self._source.show(kernel)
        self._source.pane.editor.setFocus()

    def _kept_runs(self) -> Iterator[Offer]:
        for row in self._runs.list.runs:
            took = f", {seconds(row.median)}" if row.median > 0 else f", {row.status}"
            words = f"Run {row.number}: {printable(source_name(row.source))}{took}, {row.started}"
            yield Offer(words, lambda r=row: self._runs.list.open_wanted.emit(r.number))

    def gather(self) -> Iterator[Callable[[], object]]:
        """Steps that make what there is to offer of another compilation's nodes, before the palette is opened."""
        compilation, made = self._state.compilation, list[Offer]()
        if compilation is not None:
            for at in range(0, min(len(compilation.nodes), _NODES), _STEP):
                yield lambda at=at: made.extend(map(self._node, compilation.nodes[at : at + _STEP]))

        def keep() -> None:
            self._made = compilation, made

        yield keep

    def _node(self, node: NodeRecord) -> Offer:
        return Offer(f"Node: {printable(node.name)}", lambda: self._select(node.name))

    def _nodes(self) -> Iterable[Offer]:
        compilation = self._state.compilation
        if self._made[0] is not compilation:
            return map(self._node, compilation.nodes[:_NODES] if compilation is not None else ())
        return self._made[1]

    def _select(self, node: str) -> None:
        self._state.selection.select([node], self)
        self._graph.panel.view.focus()
