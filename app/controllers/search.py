"""Finding everywhere: the graph here, then kernel by kernel in the process that holds the compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtWidgets import QApplication

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.viewmodels.compilation import NodeRecord
from app.viewmodels.frame.formats import many
from app.viewmodels.frame.patterns import TOO_SLOW, Pattern, TooSlowError, compile_pattern
from app.viewmodels.requests import Failure, FindRequest, Hit
from app.viewmodels.text.finding import expression
from app.views.frame.find_everywhere import FindEverywhere
from app.views.frame.workbench import Workbench
from app.views.graph.panel import GraphPanel
from app.views.parts.later import in_thread

_MOST = 5_000  # lines listed
GRAPH = "graph"


class SearchFeature(Feature):
    """One search at a time. A kernel is asked for when the one before has answered, so that texts are not held up."""

    def __init__(
        self, shared: Shared, compiler: Compilations, docks: DocksFeature, workbench: Workbench, graph: GraphPanel
    ) -> None:
        super().__init__(shared)
        self._compiler, self._docks, self._workbench, self._graph = compiler, docks, workbench, graph
        self.view = FindEverywhere(self._look)
        self.docks = (Dock("find", "Find", self.view, 100),)
        self.commands = (
            Command("find", "&Find in this view", "&Edit", 10, self.find, "Ctrl+F"),
            Command("find_everywhere", "Find &everywhere", "&Edit", 11, self.find_everywhere, "Ctrl+Shift+F"),
        )
        self._generation = 0
        self._hits: list[Hit] = []
        self.view.search_wanted.connect(self.search)
        self.view.hit_chosen.connect(self.go)
        self._state.compiled.connect(lambda _: self.view.search() if self.view.field.text() else None)

    def find(self) -> None:
        """Open the find bar of the view with the keyboard."""
        pane, panes = self._workbench.focused_pane(), self._workbench.panes
        if pane is not None:
            pane.find_bar.open()
        elif self._graph.isAncestorOf(QApplication.focusWidget() or self._window) or not panes:
            self._graph.open_find()
        else:
            panes[0].find_bar.open()

    def find_everywhere(self) -> None:
        """Search the graph and every stage of every kernel; what is selected in a pane is the word to look for."""
        pane = self._workbench.focused_pane()
        chosen = pane.text.shown.selected_text() if pane is not None and pane.text.shown.selected is not None else ""
        self._docks.show("find")
        self.view.open(chosen.strip() if "\n" not in chosen else "")

    def ahead(self) -> Iterator[Callable[[], object]]:
        """What expressions are matched with: to load it takes longer than most searches."""
        yield lambda: in_thread(self, lambda _: compile_pattern("any"), lambda _: None)

    def search(self, text: str, regex: bool, case: bool) -> None:
        """Search all of it; what an older search still finds is dropped."""
        self._generation += 1
        self._hits = []
        compilation = self._state.compilation
        if not text or compilation is None:
            self.view.show_hits([], "nothing is compiled" if text else "")
            return
        try:
            pattern = expression(text, regex, case)
        except ValueError as error:
            self.view.show_hits([], str(error), problem=True)
            return
        generation = self._generation
        nodes = compilation.nodes

        def found(result: list[Hit] | str) -> None:
            if generation != self._generation:
                return
            if isinstance(result, str):
                self.view.show_hits([], result, problem=True)
                return
            self._hits = result
            self._next(generation, pattern, ["", *(kernel.name for kernel in compilation.kernels)], 0)

        in_thread(self, lambda _: _in_graph(nodes, compile_pattern(pattern)), found)

    def go(self, hit: Hit) -> None:
        """Show a found line in a pane, and light what it came from; a node of the graph is selected."""
        if hit.stage == GRAPH:
            self._state.selection.select([hit.kernel], self)
            return
        pane = self._workbench.step_pane()
        if pane is not None:
            pane.show_line(hit.stage, hit.kernel, hit.line)

    def _next(self, generation: int, pattern: str, kernels: list[str], at: int) -> None:
        if generation != self._generation:
            return
        total = len(self._hits)
        texts = len({(hit.stage, hit.kernel) for hit in self._hits if hit.stage != GRAPH})
        more = "+" if total >= _MOST else ""
        words = f"{total:,}{more} in {many(texts, 'text')} and the graph" if total else "nothing found"
        if at >= len(kernels) or total >= _MOST:
            self.view.show_hits(self._hits, words)
            return
        self.view.show_hits(self._hits, f"{total:,} so far, {at} of {len(kernels)} searched")

        def arrived(value: tuple[Hit, ...] | Failure) -> None:
            if generation != self._generation:
                return
            if isinstance(value, Failure) and value.message.endswith(TOO_SLOW):
                self.view.show_hits(self._hits, TOO_SLOW, problem=True)
                return
            if not isinstance(value, Failure):
                self._hits = [*self._hits, *value][:_MOST]
            self._next(generation, pattern, kernels, at + 1)

        self._compiler.find(FindRequest(pattern, kernels[at]), arrived)


def _in_graph(nodes: Sequence[NodeRecord], pattern: Pattern) -> list[Hit] | str:
    """The nodes that match by name, op, type or attributes; words where the expression takes too long."""
    hits = []
    try:
        for node in nodes:
            about = f"{node.op} {node.dtype} {node.shape} {node.attributes}".strip()
            if pattern.found(f"{node.name} {about}".encode()):
                hits.append(Hit(GRAPH, node.name, -1, about))
    except TooSlowError as error:
        return str(error)
    return hits
