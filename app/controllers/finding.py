"""Finding everywhere: the graph here, then kernel by kernel in the process that holds the compilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from app.controllers.compiling import CompileController
from app.controllers.jobs import in_thread
from app.controllers.state import State
from app.viewmodels.compilation import NodeRecord
from app.viewmodels.frame.finding import expression
from app.viewmodels.frame.patterns import TOO_SLOW, Pattern, TooSlowError, compile_pattern
from app.viewmodels.requests import Failure, FindRequest, Hit
from app.views.frame.find_everywhere import FindEverywhere
from app.views.text.ir_pane import IrPane

_MOST = 5_000  # lines listed
GRAPH = "graph"


class FindController(QObject):
    """One search at a time. A kernel is asked for when the one before has answered, so that texts are not held up."""

    def __init__(
        self, state: State, compiler: CompileController, view: FindEverywhere, pane: Callable[[], IrPane | None],
        parent: QObject,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._state, self._compiler, self._view, self._pane = state, compiler, view, pane
        self._generation = 0
        self._hits: list[Hit] = []
        view.search_wanted.connect(self.search)
        view.hit_chosen.connect(self.go)
        state.compiled.connect(lambda _: view.search() if view.field.text() else None)

    def search(self, text: str, regex: bool, case: bool) -> None:
        """Search all of it; what an older search still finds is dropped."""
        self._generation += 1
        self._hits = []
        compilation = self._state.compilation
        if not text or compilation is None:
            self._view.show_hits([], "")
            return
        try:
            pattern = expression(text, regex, case)
        except ValueError as error:
            self._view.show_hits([], str(error), problem=True)
            return
        generation = self._generation
        nodes = compilation.nodes

        def found(result: list[Hit] | str) -> None:
            if generation != self._generation:
                return
            if isinstance(result, str):
                self._view.show_hits([], result, problem=True)
                return
            self._hits = result
            self._next(generation, pattern, ["", *(kernel.name for kernel in compilation.kernels)], 0)

        in_thread(self, lambda _: _in_graph(nodes, compile_pattern(pattern)), found)

    def go(self, hit: Hit) -> None:
        """Show a found line in a pane, and light what it came from; a node of the graph is selected."""
        if hit.stage == GRAPH:
            self._state.selection.select([hit.kernel], self)
            return
        pane = self._pane()
        if pane is not None:
            pane.show_line(hit.stage, hit.kernel, hit.line)

    def _next(self, generation: int, pattern: str, kernels: list[str], at: int) -> None:
        if generation != self._generation:
            return
        total = len(self._hits)
        texts = len({(hit.stage, hit.kernel) for hit in self._hits if hit.stage != GRAPH})
        more = "+" if total >= _MOST else ""
        words = f"{total:,}{more} in {texts} texts and the graph" if total else "nothing found"
        if at >= len(kernels) or total >= _MOST:
            self._view.show_hits(self._hits, words)
            return
        self._view.show_hits(self._hits, f"{total:,} so far, {at} of {len(kernels)} searched")

        def arrived(value: tuple[Hit, ...] | Failure) -> None:
            if generation != self._generation:
                return
            if isinstance(value, Failure) and value.message.endswith(TOO_SLOW):
                self._view.show_hits(self._hits, TOO_SLOW, problem=True)
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
