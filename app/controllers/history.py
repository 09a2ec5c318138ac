"""The history of the open source: asked of the database when it is looked at, and again after each run."""

from __future__ import annotations

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.records import RecordsController
from app.viewmodels.runs.past import HistoryRequest, Past
from app.views.runs.history import HistoryView


class HistoryFeature(Feature):
    """The plot of the open source's runs."""

    def __init__(self, shared: Shared, compiler: Compilations, records: RecordsController, docks: DocksFeature) -> None:
        super().__init__(shared)
        self._records, self._docks = records, docks
        self.view = HistoryView(self._look)
        self.bars = {"history": self.view.bar}
        self.docks = (Dock("history", "History", self.view, 75),)
        self.commands = (Command("history", "&History of this source", "&Run", 21, self._show),)
        self.view.ask_wanted.connect(self.ask)
        self.view.open_wanted.connect(compiler.open_run)
        records.runs_listed.connect(lambda _: self.ask())
        self._state.opened.connect(lambda _: self.ask())

    def _show(self) -> None:
        self._docks.show("history")
        self.ask()  # again where it was in sight: others write to the database too

    def ask(self) -> None:
        """Ask for the history that the view is to show, where it is seen at all."""
        source = self._state.source
        if source and self.view.isVisible():
            self._records.ask(HistoryRequest(source, self.view.by.value), self._told, "history")

    def _told(self, past: Past) -> None:
        if (past.source, past.by) == (self._state.source, self.view.by.value):
            self.view.set_past(past)
