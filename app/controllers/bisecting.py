"""Bisecting from a comparison: which fusion or pass makes its last run wrong, or slower than the first."""

from __future__ import annotations

from app.controllers.comparison import ComparisonFeature
from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.records import RecordsController
from app.controllers.texts import TextStore
from app.viewmodels.requests import Progress
from app.viewmodels.runs.bisecting import Bisected, BisectProgress, Known
from app.viewmodels.text.ir_pane import GIVEN, TextKey

_WAITING = "Bisecting"


class BisectFeature(Feature):
    """The bisection that was asked for last; it stays on show until another comparison is made."""

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, docks: DocksFeature,
        comparison: ComparisonFeature, texts: TextStore,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler, self._records, self._docks = compiler, records, docks
        self._comparison, self._texts = comparison, texts
        self._strip = comparison.view.bisection
        self._known: Known | None = None  # while one is under way
        self.result: Bisected | None = None
        self.commands = (
            Command("bisect", "&Bisect: which pass makes the last run wrong or slower", "&Compare", 30, self.bisect),
        )  # fmt: skip
        comparison.view.bisect_wanted.connect(self.bisect)
        self._strip.stop_wanted.connect(self.stop)
        self._strip.texts_wanted.connect(self._show_texts)
        records.ended.connect(self._ended)
        self._state.compared.connect(lambda _: self._forget())

    def bisect(self) -> None:
        """Look for the guilty one in the comparison on show."""
        runs = self._comparison.runs("what makes the second wrong, or slower than the first, is then looked for")
        if runs is None or self._known is not None:
            return
        self._docks.show("compare")
        self._compiler.measuring.ask(_WAITING, lambda: self._begin(runs))

    def stop(self) -> None:
        """End it with what is known by now."""
        if self._known is not None:
            self._records.cancel()

    def _begin(self, runs: tuple[int, int]) -> None:
        self.result = None
        self._known = Known("stopped before anything was known")
        self._messages.clear("compare")
        self._strip.say(f"Bisecting run {runs[1]} against run {runs[0]}: loading it")
        self._records.bisect(runs, self._told, self._found)

    def _told(self, progress: Progress) -> None:
        if isinstance(progress, BisectProgress):
            self._known = progress.known
            self._strip.say(progress.known.words, progress.known.told)
        else:
            self._strip.say(progress.stage.capitalize())

    def _found(self, result: Bisected) -> None:
        self.result = result
        self._strip.say(result.known.words, result.known.told, going=False, texts=result.before is not None)
        if result.nodes:
            self._state.selection.select(result.nodes, self)
        self._show_texts()

    def _ended(self, good: bool) -> None:
        """It was stopped, or failed, which is said elsewhere; a result comes after this."""
        known, self._known = self._known, None
        if known is not None and not good:
            self._strip.say(f"Stopped: {known.words}" if known.trials else "Stopped", known.told, going=False)

    def _show_texts(self) -> None:
        found = self.result
        if found is None or found.before is None or found.after is None:
            return
        keys = [TextKey(found.stage, found.kernel, origin=f"{GIVEN} {side}") for side in ("before", "after")]
        for key, text in zip(keys, (found.before, found.after), strict=True):
            self._texts.give(key, text)
        labels = f"{found.kernel} before {found.name}", f"{found.kernel} after {found.name}"
        self._comparison.pair.open(keys[0], keys[1], labels)

    def _forget(self) -> None:
        if self._known is None:
            self.result = None
            self._strip.hide()
