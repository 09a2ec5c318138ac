"""Where time and memory go when compiling: the timeline of passes, the funnel of stages, the memory plan."""

from __future__ import annotations

from app.controllers.compile import CompileFeature
from app.controllers.features import Dock, Feature, Shared
from app.controllers.panes import PanesFeature
from app.viewmodels.timeline.timeline import compile_timeline
from app.views.runs.funnel import FunnelView
from app.views.timeline.memory import MemoryView
from app.views.timeline.view import TimelineView


class TimelineFeature(Feature):
    """Views of the compilation as a whole."""

    keys = (
        "Timeline",
        (
            ("W  S", "zoom in, out"),
            ("A  D", "left, right"),
            ("F", "focus"),
            ("M or Shift+drag", "measure"),
            ("N  P", "next, previous event"),
            ("Ctrl+wheel or up, down", "move the lanes"),
            ("Space", "everything"),
        ),
    )

    def __init__(self, shared: Shared, compile_: CompileFeature, panes: PanesFeature) -> None:
        super().__init__(shared)
        look, selection = self._look, self._state.selection
        self.view, self.memory = TimelineView(look, selection), MemoryView(look, selection)
        self.funnel = FunnelView(look)
        self.docks = (
            Dock("timeline", "Timeline", self.view, 10),
            Dock("funnel", "Funnel", self.funnel, 20),
            Dock("memory", "Memory", self.memory, 40),
        )
        self.funnel.stage_clicked.connect(panes.show_stage)
        self.funnel.afresh_wanted.connect(compile_.compile_afresh)
        self.when_compiled(self._show_timeline, self._show_stages)

    def _show_timeline(self) -> None:
        if self._state.compilation is None:
            self.view.clear()
        else:
            self.view.set_timeline(compile_timeline(self._state.compilation))

    def _show_stages(self) -> None:
        self.memory.set_compilation(self._state.on_show)
        self.funnel.set_compilation(self._state.on_show)
