"""Generating text with the open language model: queued with other measurements, streamed, kept like any run."""

from __future__ import annotations

from typing import Any

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.preferences import PreferencesFeature
from app.controllers.queued_worker import QueuedWorker
from app.controllers.records import RecordsController
from app.sources import is_language_model
from app.viewmodels.requests import Failure
from app.viewmodels.runs.serving import EMPTY, GenerateProgress, GenerateRequest, Served
from app.views.frame.status import Status
from app.views.runs.generating import GeneratingView

_WHAT = "Generating"


class GeneratingFeature(Feature):
    """One generation at a time."""

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, preferences: PreferencesFeature,
        status: Status, docks: DocksFeature,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._records, self._preferences, self._docks = records, preferences, docks
        self.view = GeneratingView(self._look)
        self.bars = {"generate": self.view.bar}
        self.served: tuple[Served, ...] = ()
        self._first = ""  # the flow whose text is on show
        self._queue = compiler.measuring
        self._job = QueuedWorker(self._queue, status, "generate", self)
        self.docks = (Dock("generate", "Generate", self.view, 85),)
        self.commands = (Command("generate", "&Generate text", "&Run", 14, self._wanted),)
        self.when_compiled(self._say_ready)
        self.view.generate_wanted.connect(self.generate)
        self.view.stop_wanted.connect(self.cancel)

    def _say_ready(self) -> None:
        source = self._state.source
        self.view.set_ready(bool(source) and is_language_model(source))

    def _wanted(self) -> None:
        self._docks.show("generate")
        self.view.prompt.setFocus()
        if self.view.prompt.text():
            self.generate()

    def generate(self) -> None:
        """Generate what the view asks for with the open source, when what goes on has ended."""
        self._messages.clear("generate")
        source = self._state.source
        if not source or not is_language_model(source):
            self._messages.say("info", EMPTY, "generate")
            return
        try:
            request = self.view.request(source, self._state.choices.opt_level, self._preferences.now.threads or None)
        except ValueError as error:
            self._messages.say("error", str(error), "generate")
            return
        self.cancel()
        self._queue.ask(_WHAT, lambda: self._begin(request))

    def cancel(self) -> bool:
        """Stop; the text so far stays. False when nothing is under way."""
        if not self._job.cancel():
            return False
        self.view.end()
        self._messages.log("generating was stopped")
        return True

    def stop(self) -> None:
        """End the process at once."""
        self._job.stop()

    def _begin(self, request: GenerateRequest) -> None:
        self.served, self._first = (), request.flows[0]
        self.view.begin()
        self._job.begin(f"Generating with {self._state.title}", request, self._done, self._part)

    def _part(self, part: Any) -> None:
        if isinstance(part, GenerateProgress) and part.flow == self._first:
            self.view.add_text(part.text)

    def _done(self, value: Any) -> None:
        if isinstance(value, Failure):
            self.view.end()
            self._messages.failure(value, "generate")
            return
        self.served = value
        self.view.end(value)
        if note := next((each.note for each in value if each.note), ""):
            self._messages.say("warning", note, "generate")
        self._records.list_runs()
