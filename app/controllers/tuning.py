"""Tuning the open model: queued with other measurements, told as it goes, kept at once; compilations then use it."""

from __future__ import annotations

from typing import Any

from app.controllers.compilations import Compilations
from app.controllers.compile import CompileFeature
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.queued_worker import QueuedWorker
from app.controllers.runs import RunsFeature
from app.viewmodels.requests import Failure
from app.viewmodels.runs.tuning import TuneProgress, TuneRequest, TuneTold, result_words
from app.views.frame.status import Status
from app.views.runs.run_view import read_sizes
from app.views.runs.tuning import TuningView

_WHAT = "Tuning"


class TuningFeature(Feature):
    """One model at a time, on the device that it would run on, with the threads and sizes of the Run view."""

    def __init__(
        self, shared: Shared, compiler: Compilations, compile_: CompileFeature, runs: RunsFeature, status: Status,
        docks: DocksFeature,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compile, self._runs, self._docks = compile_, runs, docks
        self.view = TuningView(self._look)
        self.bars = {"tune": self.view.bar}
        self._queue = compiler.measuring
        self._job = QueuedWorker(self._queue, status, "tune", self)
        self.docks = (Dock("tune", "Tune", self.view, 72),)
        self.commands = (
            Command("tune", "&Tune this model", "&Run", 13, self.tune),
            Command("use_tuned", "Use what was t&uned", "&Compile", 23, self._switch,
                    ticked=lambda: compile_.use_tuned),
        )  # fmt: skip
        self.view.tune_wanted.connect(self.tune)
        self.view.stop_wanted.connect(self.cancel)
        runs.view.tune_wanted.connect(self.tune)

    def tune(self) -> None:
        """Tune what is open, when what goes on has ended."""
        self._messages.clear("tune")
        self._docks.show("tune")
        compilation = self._state.current
        if compilation is None:
            self._messages.say("info", "open a source first: its kernels are what is tuned", "tune")
            return
        device = self._state.device_for(compilation.choices.target)
        if device.missing:
            self._messages.say("error", f"this cannot be tuned here: {device.missing}", "tune")
            return
        run = self._runs.view
        try:
            sizes = read_sizes(run.sizes.text())
        except ValueError as error:
            self._messages.say("error", str(error), "tune")
            return
        request = TuneRequest(
            self._compile.request(), device.name, run.threads.value() or None, sizes, float(self.view.budget.value())
        )
        self.cancel()
        self._queue.ask(_WHAT, lambda: self._begin(request))

    def cancel(self) -> bool:
        """Stop; what was proved by then is kept. False when nothing is under way."""
        if not self._job.cancel():
            return False
        self.view.end("Stopped: what is faster by now is kept")
        return True

    def stop(self) -> None:
        """End the process at once."""
        self._job.stop()

    def _begin(self, request: TuneRequest) -> None:
        self.view.begin()
        self._job.begin(f"Tuning {self._state.title}", request, self._done, self._part)

    def _part(self, part: Any) -> None:
        if isinstance(part, TuneProgress):
            self.view.tell(part.stage.removeprefix("tuning: ").capitalize(), part.rows)

    def _done(self, value: TuneTold | Failure) -> None:
        if isinstance(value, Failure):
            self.view.end("")
            self._messages.failure(value, "tune")
            return
        words = result_words(value.rows)
        self.view.end(words, value.rows)
        self._messages.log(words)
        for note in value.notes:
            self._messages.say("warning", note, "tune")
        if any(row.faster for row in value.rows) and not value.notes and self._compile.use_tuned:
            self._compile.compile()

    def _switch(self) -> None:
        """Compile with what was tuned, or without, from now on."""
        self._compile.use_tuned = not self._compile.use_tuned
        self._compile.compile()
