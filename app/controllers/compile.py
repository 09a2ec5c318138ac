"""Compiling what is open: the choices of the tool bar, the edits that go in, and the commands that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.controllers.compilations import Compilations
from app.controllers.features import Command, Feature, Shared
from app.controllers.preferences import PreferencesFeature
from app.controllers.source import SourceFeature
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import many, seconds
from app.viewmodels.requests import CompileRequest
from app.views.frame.status import Status
from app.views.frame.toolbar import ChoiceBar


class CompileFeature(Feature):
    """A source is compiled when it is opened or a choice changes. `cancel_all` ends whatever job is under way."""

    def __init__(
        self, shared: Shared, compiler: Compilations, preferences: PreferencesFeature, source: SourceFeature,
        choices: ChoiceBar, status: Status, cancel_all: Callable[[], bool],
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler, self._preferences, self._source = compiler, preferences, source
        self._choices, self._status, self._cancel_all = choices, status, cancel_all
        state = self._state
        self._warned = False  # that what is on show is not what is open
        self.use_tuned = True  # what was tuned for this device
        self.commands = (
            Command("escape", "&Clear selection or cancel", "&Edit", 22, self._escape, "Esc"),
            Command("compile", "&Compile", "&Compile", 10, self.compile, "Ctrl+Return"),
            Command("cancel", "Ca&ncel", "&Compile", 11, cancel_all),
            Command("compile_afresh", "Compile without the c&ache", "&Compile", 20, self.compile_afresh,
                    "Ctrl+Shift+Return"),
            Command("compile_unfused", "Compile without &fusion", "&Compile", 21, self.compile_unfused),
        )  # fmt: skip
        choices.choice_made.connect(self.choose)
        choices.compile_pressed.connect(self.compile)
        status.cancel_pressed.connect(cancel_all)
        source.compile_wanted.connect(self.compile)
        compiler.started.connect(self._started)
        compiler.progressed.connect(status.set_progress)
        compiler.ended.connect(self._ended)
        compiler.failed.connect(lambda _: status.finish(f"{state.title} does not compile"))
        state.opened.connect(lambda _: self.compile_file())
        state.chosen.connect(choices.set_choices)
        state.compiled.connect(self._compiled)

    def choose(self, name: str, value: object) -> None:
        """Change a choice of the tool bar, and compile what is open with it."""
        self._state.choose(**{name: value})
        self.compile()

    def compile(self) -> None:
        """Compile what is open, with the edited graph and the edited kernels in place of the originals."""
        self._compile_edited(self._preferences.now.use_cache)

    def compile_afresh(self) -> None:
        """Compile without the cache, so that every stage runs and shows its time."""
        self._compile_edited(cache=False)

    def compile_file(self) -> None:
        """Compile a source as it is on disk; a draft of it waits in the editor until the user compiles it."""
        self._compiler.compile(self.request())

    def compile_unfused(self) -> None:
        """The same graph with every op its own kernel, to compare with."""
        if self._state.source:
            request = self.request()
            self._compiler.compile(replace(request, options=replace(request.options, fuse=False)))

    def request(self, text: str | None = None) -> CompileRequest:
        """What would be compiled now, by the choices and the preferences."""
        now, state = self._preferences.now, self._state
        options = replace(state.choices, jobs=now.jobs or None, cache=now.use_cache)
        folders = (*now.kernel_folders, *self._source.libraries())
        return CompileRequest(state.source, options, text, libraries=folders, tuned=self.use_tuned)

    def cancel(self) -> bool:
        """End the compilation or the run under way."""
        ended, state = self._compiler.cancel(), self._state
        if ended and state.stale:
            words = (
                f"{state.title} is not compiled (Ctrl+Return does it): what is on show is still {state.on_show.name}"
            )
            self._messages.say("warning", words, "window")
            self._warned = True
        return ended

    def stop(self) -> None:
        """End the processes that hold compilations."""
        self._compiler.stop()

    def _compile_edited(self, cache: bool) -> None:
        if self._state.source:
            self._messages.clear("source")
            self._source.choose_edit()
            request = self.request(self._source.graph_text)
            self._compiler.compile(replace(request, options=replace(request.options, cache=cache)))

    def _escape(self) -> None:
        if not self._cancel_all():
            self._state.selection.select(())

    def _started(self, what: str) -> None:
        self._status.start(what)
        self._choices.set_enabled(bool(self._state.source), False)

    def _ended(self, good: bool) -> None:
        self._choices.set_enabled(bool(self._state.source), self._state.current is not None)
        self._status.end(good)

    def _compiled(self, compilation: Compilation) -> None:
        if self._warned:
            self._warned = False
            self._messages.clear("window")
        there = self._state.compilation is not None
        self._choices.set_enabled(True, there)
        self._status.facts.setText(
            f"{many(len(compilation.kernels), 'kernel')}  \u00b7  {compilation.label}" if there else ""
        )
        if there:
            took = seconds(compilation.seconds)
            self._status.finish(f"Compiled {compilation.name} in {took}")
            self._messages.log(f"compiled {compilation.name} ({compilation.label}) in {took}")
