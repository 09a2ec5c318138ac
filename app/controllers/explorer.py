"""The explorer's tabs and the inspector: kernels, passes, samples and runs at the left, the selection at the right."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.opening import OpeningFeature
from app.controllers.panes import PanesFeature
from app.controllers.preferences import PreferencesFeature
from app.viewmodels.frame.weights import Weights, WeightsRequest
from app.viewmodels.requests import Failure
from app.viewmodels.runs.run_figures import kernel_times
from app.views.frame.explorer import Explorer, KernelsView, SamplesView
from app.views.frame.inspector import Inspector
from app.views.runs.runs import RunsView
from app.views.text.passes import PassesView


class ExplorerFeature(Feature):
    """What there is, and what is selected of it."""

    keys = (
        "Tables",
        (
            ("Ctrl+F or /", "filter: words, or time > 5"),
            ("Ctrl+C", "copy rows as TSV"),
            ("click a heading", "sort"),
        ),
    )

    def __init__(
        self, shared: Shared, entries: list[tuple[str, str, str]], passes: PassesView, runs: RunsView,
        opening: OpeningFeature, panes: PanesFeature, preferences: PreferencesFeature, docks: DocksFeature,
        compiler: Compilations,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler = compiler
        self._runs, self._docks = runs, docks
        selection = self._state.selection
        self.kernels, self.inspector = KernelsView(selection), Inspector(self._look, selection)
        self.samples = SamplesView(self._look, entries, "sample", "Samples")
        self.tabs = Explorer(self.kernels, passes, self.samples, runs)
        self.docks = (
            Dock("explorer", "Explorer", self.tabs, 0, "left"),
            Dock("inspector", "Inspector", self.inspector, 0, "right"),
        )
        self.commands = (
            Command("copy_kernels", "Copy kernel table as TSV", "&File", 24, self._copy_kernels),
            Command("weights", "Read the selected &weights", "&Edit", 23, self.inspector.ask_weights),
            Command("back", "Selection &back", "&Edit", 20, lambda: selection.walk(-1), "Alt+Left"),
            Command("forward", "Selection f&orward", "&Edit", 21, lambda: selection.walk(1), "Alt+Right"),
        )
        self.samples.open_wanted.connect(opening.open)
        self.kernels.kernel_chosen.connect(panes.show_kernel)
        self.inspector.weights_wanted.connect(self._ask_weights)
        preferences.visited.connect(self._show_runs)
        self.when_compiled(self._show)
        self.when_run(self._show_run)

    def show_tab(self, title: str) -> None:
        """Bring a tab of the explorer to the front."""
        self.tabs.setCurrentIndex([self.tabs.tabText(at) for at in range(self.tabs.count())].index(title))

    def _copy_kernels(self) -> None:
        QGuiApplication.clipboard().setText(self.kernels.view.model.tsv())

    def _show_runs(self) -> None:
        """Bring the list of runs to the front."""
        self._docks.show_work()
        self._docks.named["explorer"].show()
        self.tabs.setCurrentWidget(self._runs)

    def _show(self) -> None:
        self.kernels.set_compilation(self._state.on_show)
        self.inspector.set_compilation(self._state.on_show)

    def show_notes(self, notes: dict[str, str]) -> None:
        """Notes on kernels, where kernels are listed and inspected."""
        self.kernels.set_notes(notes)
        self.inspector.set_notes(notes)

    def _ask_weights(self, node: str) -> None:
        number = self._state.number

        def told(value: Weights | Failure) -> None:
            if number != self._state.number:
                return  # another compilation is on show
            if isinstance(value, Failure):
                self.inspector.set_no_weights(node, value.message)
            else:
                self.inspector.set_weights(value)

        self._compiler.ask(WeightsRequest(node), told)

    def _show_run(self) -> None:
        if (run := self._state.run) is not None:
            self.kernels.set_times(kernel_times(run))
            self.inspector.set_run(run)
