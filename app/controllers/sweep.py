"""Sweeps in the window: which are in the database, one of them on show, and how far it has come while it goes on."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.records import MOVED, RecordsController
from app.viewmodels.requests import Failure
from app.viewmodels.runs.sweep import SweepRequest, SweepsRequest, SweepTold
from app.views.parts.file_dialog import path_to_open
from app.views.runs.sweep import SweepView

_AGAIN = 2000  # milliseconds between two looks at a sweep in sight: other programs make it go on


class SweepFeature(Feature):
    """The view of sweeps; it only reads."""

    def __init__(self, shared: Shared, compiler: Compilations, records: RecordsController, docks: DocksFeature) -> None:
        super().__init__(shared)
        self._records, self._docks = records, docks
        self.view = SweepView(self._look)
        self.bars = {"sweep": self.view.bar}
        self.docks = (Dock("sweep", "Sweeps", self.view, 78),)
        self.commands = (
            Command("sweep", "S&weeps", "&Run", 22, self._show),
            Command("open_sweep", "Open the file of a s&weep...", "&File", 12, self.choose_file),
        )
        self._wanted = SweepRequest()
        self._asked, self._said = False, ""
        self.view.ask_wanted.connect(self.ask)
        self.view.sweep_chosen.connect(lambda name: self.show(SweepRequest(name)))
        self.view.file_wanted.connect(self.choose_file)
        self.view.open_wanted.connect(compiler.open_run)
        self.view.open_compilation_wanted.connect(compiler.open_compilation)
        records.moved.connect(lambda: self.show(SweepRequest()))
        self._timer = QTimer(self)
        self._timer.setInterval(_AGAIN)
        self._timer.timeout.connect(self.ask)
        self._timer.start()

    def _show(self) -> None:
        self._docks.show("sweep")
        self.ask()

    def choose_file(self) -> None:
        """A sweep's file, which knows what is still missing."""
        if path := path_to_open(self._window, "Open a sweep", "Sweeps (*.toml)"):
            self._docks.show("sweep")
            self.show(SweepRequest(file=path))

    def show(self, request: SweepRequest) -> None:
        """Turn to another sweep."""
        self._wanted, self._said = request, ""
        self._messages.clear("sweep")
        self.ask()

    def ask(self) -> None:
        """Ask what there is now, where the view is seen at all and the last question is answered."""
        if not self._asked and self.view.note_whether_seen():
            self._asked = True
            self._records.put(SweepsRequest(), self._listed)

    def _listed(self, names: tuple[str, ...] | Failure) -> None:
        if isinstance(names, Failure):
            self._failed(names)
            return
        self.view.set_sweeps(names)
        if names and self._wanted == SweepRequest():
            self._wanted = SweepRequest(names[0])
        wanted = self._wanted
        self._records.put(wanted, lambda told: self._told(wanted, told))

    def _told(self, wanted: SweepRequest, told: SweepTold | Failure) -> None:
        if isinstance(told, Failure):
            self._failed(told)
            return
        self._asked = False
        if wanted == self._wanted:
            self.view.set_sweep(told)
        else:  # another was chosen meanwhile
            self.ask()

    def _failed(self, failure: Failure) -> None:
        """Said once: what cannot be read is not asked for again by itself."""
        self._asked = False
        if failure.kind == MOVED:
            return  # and what the other database has is asked for
        self._wanted = SweepRequest()
        if failure.message != self._said:
            self._messages.failure(failure, "sweep")
        self._said = failure.message
