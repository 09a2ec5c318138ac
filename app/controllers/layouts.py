"""Layouts for the jobs: linked panes, performance, compile time, comparing. One click and one key each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.controllers.docks import DocksFeature, Shares
from app.controllers.features import Command, Feature, Shared
from app.viewmodels.compilation import stage_title
from app.views.frame.arrangement import ALONE, BELOW, BESIDE, READABLE, fitting
from app.views.frame.layout_bar import LayoutBar
from app.views.frame.workbench import Workbench


@dataclass(frozen=True)
class JobLayout:
    """What is in sight: stages in panes, the view at the front of the bottom and its part of the height, side views."""

    name: str
    title: str
    stages: tuple[str, ...]
    bottom: str = ""  # none: the bottom is hidden
    height: float = 0.0
    explorer: str = ""  # the tab at its front; none: it is hidden
    side: float = 0.0  # its part of the width, where that is not the usual one
    inspector: int = 0  # the least width of the window at which it is shown; 0: never


_MACHINE = "machine code"
LINKED = JobLayout("linked", f"Graph \u00b7 MLIR \u00b7 LLVM \u00b7 {_MACHINE}", ("kgen", "llvm", "asm"))
LAYOUTS = (
    LINKED,
    JobLayout("performance", "Performance", ("asm",), "run", 0.45, "Kernels", inspector=1500),
    JobLayout("compile_time", "Compile time", ("llvm-opt",), "timeline", 0.5, "Passes"),
    JobLayout("compare_layout", "Compare", ("llvm", "asm"), "compare", 0.42, "Runs", side=0.34),
)


class LayoutsFeature(Feature):
    """Arranges the docks around the middle, and the graph and panes in it."""

    def __init__(
        self, shared: Shared, docks: DocksFeature, workbench: Workbench, show_tab: Callable[[str], None]
    ) -> None:
        super().__init__(shared)
        self._docks, self._workbench, self._show_tab = docks, workbench, show_tab
        keys = {layout.name: f"Alt+{place}" for place, layout in enumerate(LAYOUTS, 1)}
        self.bar = LayoutBar([(layout.name, layout.title, keys[layout.name]) for layout in LAYOUTS])
        self.bar.chosen.connect(self.choose)
        self._name_machine_code()  # the longest that it has, which gives the button its width
        self.commands = tuple(
            Command(layout.name, f"Layout: {layout.title}", "&View", 40 + place,
                    lambda name=layout.name: self.choose(name), keys[layout.name])
            for place, layout in enumerate(LAYOUTS)
        )  # fmt: skip
        self.current = ""  # the layout that was chosen last, until another arrangement
        docks.arranged.connect(lambda: self._mark(""))
        self.when_compiled(self._name_machine_code)

    def choose(self, name: str) -> None:
        """Arrange everything for a job, in turns of the event loop: all docks at once would be felt."""
        layout = next(known for known in LAYOUTS if known.name == name)
        self._docks.show_work()
        bench = self._workbench
        panes = (lambda stages=layout.stages[: count + 1]: bench.show_stages(stages, layout.stages)
                 for count in range(len(layout.stages)))  # fmt: skip
        self._turns.add((
            lambda: bench.setUpdatesEnabled(False),  # one picture at the end, not one for each that comes and goes
            *bench.prepare(len(layout.stages) - len(bench.panes)), *panes, *self._around(layout),
            lambda: self._place_middle(layout), lambda: self._mark(name),
            # Painted once all have their shares: else there are two pictures of the middle.
            lambda: self._share(layout), lambda: bench.share_later(bench.reveal),
        ))  # fmt: skip

    def _mark(self, name: str) -> None:
        self.current = name
        self.bar.mark(name)

    def _around(self, layout: JobLayout) -> Iterator[Callable[[], object]]:
        """Show or hide the views around the middle, a step each; the one at the front of the bottom first."""
        docks = self._docks
        front = layout.bottom or next(iter(docks.bottom))
        for name in sorted(docks.bottom, key=lambda name: name != front):
            yield lambda dock=docks.bottom[name]: dock.setVisible(bool(layout.bottom))
        yield lambda: docks.bottom[front].raise_()
        yield lambda: docks.named["explorer"].setVisible(bool(layout.explorer))
        yield lambda: docks.named["inspector"].setVisible(0 < layout.inspector <= self._window.width())
        if layout.explorer:
            yield lambda: self._show_tab(layout.explorer)

    def _place_middle(self, layout: JobLayout) -> None:
        bench = self._workbench
        shape = ALONE if layout.name == "compare_layout" else BESIDE
        if layout is LINKED:  # in a row below the graph, unless there is room to have all four side by side
            shape = BESIDE if self._window.width() // 2 >= len(layout.stages) * 1.5 * READABLE else BELOW
        elif shape == BESIDE:
            shape = fitting(bench.width(), len(layout.stages))
        bench.arrange(shape)

    def _share(self, layout: JobLayout) -> None:
        if layout.bottom:
            self._docks.bottom[layout.bottom].raise_()
        self._docks.share(Shares(layout.side, layout.height))

    def _name_machine_code(self) -> None:
        """The last pane of the linked layout has the machine's text, which goes by another name on each target."""
        machine = stage_title("asm", self._state.on_show.choices.target)
        self.bar.rename(LINKED.name, LINKED.title.replace(_MACHINE, machine))
