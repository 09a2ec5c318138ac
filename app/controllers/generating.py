"""Generating text with the open language model: queued with other measurements, streamed, kept like any run."""

from __future__ import annotations

from typing import Any

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.jobs import Worker
from app.controllers.preferences import PreferencesFeature
from app.controllers.records import RecordsController
from app.sources import is_language_model
from app.viewmodels.requests import Failure
from app.viewmodels.runs.serving import EMPTY, GenerateProgress, GenerateRequest, Served
from app.views.frame.status import Status
from app.views.runs.generating import GeneratingView

_WHAT = "Generating"


class GeneratingFeature(Feature):
    """One worker, made when it is needed and ended with the generation."""

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, preferences: PreferencesFeature,
        status: Status, docks: DocksFeature,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._records, self._preferences, self._status, self._docks = records, preferences, status, docks
        self.view = GeneratingView(self._look)
        self.bars = {"generate": self.view.bar}
        self.served: tuple[Served, ...] = ()
        self._worker: Worker | None = None
        self._first = ""  # the flow whose text is on show
        self._queue = compiler.measuring
        self._queue.watch(lambda: self._worker)
        self.docks = (Dock("generate", "Generate", self.view, 85),)
        self.commands = (Command("generate", "&Generate text", "&Run", 13, self._wanted),)
        self.view.generate_wanted.connect(self.generate)
        self.view.stop_wanted.connect(self.cancel)

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
        if self._worker is None:
            return False
        self.stop()
        self.view.end()
        self._messages.log("generating was stopped")
        self._status.end(False, "generate")
        self._queue.go_on()
        return True

    def stop(self) -> None:
        """End the process at once."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _begin(self, request: GenerateRequest) -> None:
        worker = self._worker = Worker("store", self)
        self.served, self._first = (), request.flows[0]
        self.view.begin()
        self._status.start(f"Generating with {self._state.title}", "generate")
        worker.submit(request, lambda value: self._done(worker, value), lambda part: self._part(worker, part))

    def _part(self, worker: Worker, part: Any) -> None:
        if worker is not self._worker:
            return
        if isinstance(part, GenerateProgress) and part.flow == self._first:
            self.view.add_text(part.text)
        self._status.set_progress(part.stage, part.done, "generate")

    def _done(self, worker: Worker, value: Any) -> None:
        if worker is not self._worker:
            return
        self.stop()
        failed = isinstance(value, Failure)
        self._status.end(not failed, "generate")
        self._queue.go_on()
        if failed:
            self.view.end()
            self._messages.failure(value, "generate")
            return
        self.served = value
        self.view.end(value)
        if note := next((each.note for each in value if each.note), ""):
            self._messages.say("warning", note, "generate")
        self._records.list_runs()
