"""What if an edge were fused or cut: forcing it, the decisions that fusion made, and what came of it, compared."""

from __future__ import annotations

from PySide6.QtCore import QPoint

from app.controllers.comparison import ComparisonFeature
from app.controllers.compilations import Compilations
from app.controllers.compile import CompileFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.graph import GraphFeature
from app.controllers.source import SourceFeature
from app.viewmodels.compilation import Compilation
from app.viewmodels.graph.what_if import WhatIf
from app.viewmodels.text.library_edits import file_name
from app.views.frame.workbench import Workbench
from app.views.graph.ledger import LedgerView
from app.views.graph.menu import graph_menu
from app.views.graph.view import GraphSpot
from app.views.parts.later import next_turn


class WhatIfFeature(Feature):
    """One trial at a time: `trying` until it is compiled, or cannot be; `comparing` once it is to be compared."""

    def __init__(
        self, shared: Shared, compiler: Compilations, compile_: CompileFeature, source: SourceFeature,
        graph: GraphFeature, comparison: ComparisonFeature, workbench: Workbench,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compile, self._source, self._graph = compile_, source, graph
        self._comparison, self._workbench = comparison, workbench
        self.ledger = LedgerView(self._look, self._state.selection)
        self.trying: WhatIf | None = None
        self.comparing = False
        self.docks = (Dock("ledger", "Fusion", self.ledger, 30),)
        self.commands = (
            Command("edges_here", "Fu&se or cut here...", "&Graph", 30, self.edges_here, "Ctrl+Shift+X"),
            Command("drop_edits", "Drop what-if &edits", "&Compile", 22, self.drop_edits),
        )
        self.ledger.what_if.connect(lambda producer, consumer, fuse: self.force(((producer, consumer),), fuse))
        graph.panel.view.menu_wanted.connect(self._menu)
        compiler.ended.connect(self._ended)
        self._state.compiled.connect(self._compiled)
        self.when_compiled(self._show)

    def force(self, pairs: tuple[tuple[str, str], ...], fuse: bool) -> None:
        """Force edges (those of every copy of a layer) to be fused or cut, compile, and open the comparison."""
        state, kept = self._state, self._state.choices
        cuts, fuses = kept.force_cut.difference(pairs), kept.force_fuse.difference(pairs)
        state.choose(force_cut=cuts if fuse else cuts.union(pairs), force_fuse=fuses.union(pairs) if fuse else fuses)
        self.comparing = True
        self._compile.compile_file()
        self.trying = WhatIf(kept, pairs, fuse)

    def edges_here(self) -> None:
        """The menu of the current node of the graph, with what can be fused or cut there."""
        self._workbench.graph_dock.raise_()
        self._graph.panel.view.setFocus()
        self._graph.panel.view.menu_here()

    def drop_edits(self) -> None:
        """Back to what the compiler would do by itself; what becomes of edited kernels is asked."""
        source = self._source
        edited = [key for key in source.edits.edited() if key]
        library = source.library.edited()
        titles = [f"kernel {key}" for key in edited] + [f"kernel library {file_name(key)}" for key in library]
        answer = source.ask_edits(titles) if titles else "keep"
        if answer in ("stay", "save"):
            if answer == "save":
                source.save()
            return
        for key in (*edited, *library) if answer == "discard" else ():
            source.revert(key)
        source.library.applied.clear()
        self._state.choose(force_cut=frozenset(), force_fuse=frozenset(), sources=())
        self._compile.compile()

    def _menu(self, spot: GraphSpot, place: QPoint) -> None:
        menu = graph_menu(self._window, self._graph.panel.view, spot, self.force, self._graph.export)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)

    def _show(self) -> None:
        self.ledger.set_compilation(self._state.on_show)

    def _ended(self, good: bool) -> None:
        if not good:  # what cannot be compiled must not stay chosen
            self._forget()

    def _compiled(self, compilation: Compilation) -> None:
        if self.trying is not None and (why := self.trying.refused(compilation)):
            self._messages.say("warning", why, "graph")
            self._forget()
        self.trying = None
        if self.comparing:
            self.comparing = False
            next_turn(self, self._comparison.compare_with_previous)

    def _forget(self) -> None:
        trial, self.trying = self.trying, None
        if trial is not None:
            self.comparing = False
            self._state.choose(force_cut=trial.before.force_cut, force_fuse=trial.before.force_fuse)
